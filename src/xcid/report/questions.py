"""The question behind an explanation, in words: what it is that features hold in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xcid.records import Explanation
from xcid.report._text import clean

Number = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Question:
    """How a sentence goes on after the names of features.

    Attributes
    ----------
    hold, holds : str
        For several that hold the output in place, and for one.
    pull, pulls : str
        For those that do not.
    """

    hold: str = "hold it there"
    holds: str = "holds it there"
    pull: str = "pull away from it"
    pulls: str = "pulls away from it"

    @staticmethod
    def held(where: str) -> Question:
        """A question about a side that is not just the predicted class."""
        return Question(f"hold {where}", f"holds {where}", "pull the other way", "pulls the other way")


MOST_LETTERS = 80
OTHER_METHOD = Question("speak for it", "speaks for it", "speak against it", "speaks against it")
UNKNOWN = Question.held("it on its side of the question")


def question(one: Explanation, number: Number) -> Question:
    """Put the outcome of an explanation of one row into words."""
    where = getattr(one.outcome, "where", None)
    if where is not None:
        said = clean(where(one.outputs[0], one.output_names, number), MOST_LETTERS)
        return Question.held(said) if said else Question()
    is_asked = one.outcome is not None or "outcome" in (one.settings or {})
    return UNKNOWN if is_asked else OTHER_METHOD if not float(one.n_positive[0] + one.n_negative[0]) else Question()
