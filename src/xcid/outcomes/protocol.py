"""What the library may want to know of an outcome, each with a default; a plain function has all the defaults."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, Self, TypeAlias, TypeVar

import numpy as np

from xcid.errors import InvalidParameter
from xcid.records import Array, Flags, Integers, Outcome

FAINTEST = 1e-12  # the gain of a side that is just reached, or just missed
Number: TypeAlias = Callable[[float], str]  # how numbers are written
Q = TypeVar("Q", bound="Question")


class Question:
    """An outcome that says more of itself than its call: inherit from it, and replace what is not so.

    The call, ``outcome(outputs (N, k), reference (N, k)) -> (N,)``, gives the membership of the far side.
    """

    __slots__ = ()

    target: Any = None  # the class that it is about, where it is about one
    about_prediction: ClassVar[bool] = False  # it asks whether the present prediction changes or moves, whatever it is
    takes_tensors: ClassVar[bool] = False  # the call takes tensors of torch as well, on any device
    has_ties: ClassVar[bool] = False  # a membership of 1/2 is no half of either side, but both of them

    def __call__(self, outputs: Array, reference: Array) -> Array:
        raise NotImplementedError

    @property
    def least(self) -> float | None:
        """What a probability of 0 stands for, where memberships are probabilities; None where they are none."""
        return None

    def bind(self, names: Sequence[str], outputs: Array) -> Self:
        """Get to know a model: the names of its outputs, and its outputs for the reference data."""
        return self

    def gain(self, outputs: Array, own: Array) -> Array:
        """(N,) above 0 exactly where (N, k) outputs lie on the far side for rows with (N, k) own outputs.

        The larger, the farther: a search for counterfactuals climbs it.
        """
        there = side(self, outputs, own)
        return signed(there > 0.5, there - 0.5)

    def columns(self, outputs: Array, own: Array) -> Integers:
        """(N,) which of the outputs to show; the strongest class but the present one."""
        others = outputs.copy()
        others[np.arange(len(own)), own.argmax(axis=1)] = -np.inf
        return others.argmax(axis=1)

    def speaks_for(self, column: int, outputs: Array, names: Sequence[str]) -> Flags:
        """(n,) rows whose present answer speaks for a class; that is the one which is predicted."""
        return np.asarray(outputs.argmax(axis=1) == column)

    def describe(self, names: Sequence[str], number: Number) -> str:
        """Put the question in words."""
        return f"Does the output change sides? (a question of your own: {self!r})"

    def describe_side(self, output: Array, names: Sequence[str], number: Number) -> str:
        """On which side the (k,) output of a row lies: "it above 0.5"; "" stands for the predicted class itself."""
        return "it on its side of the question"

    def describe_goal(self, names: Sequence[str], number: Number) -> str:
        """What is wanted of a search for the far side."""
        return "the other side of the question"


@dataclass(frozen=True, slots=True)
class FunctionQuestion(Question):
    """A plain function as a question."""

    function: Outcome

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return self.function(outputs, reference)

    def __repr__(self) -> str:
        return str(getattr(self.function, "__name__", repr(self.function)))


def as_question(outcome: Outcome) -> Question:
    """The outcome itself where it says more than its call, else one with the defaults."""
    return outcome if isinstance(outcome, Question) else FunctionQuestion(outcome)


def side(outcome: Outcome, outputs: Array, reference: Array) -> Array:
    """(N,) how far (N, k) outputs lie on the far side of the question, for rows with (N, k) outputs; checked."""
    found = np.asarray(outcome(outputs, reference))
    if (
        found.shape != (len(outputs),)
        or found.dtype.kind not in "fiub"
        or (found.size and not (found.min() >= 0 and found.max() <= 1))  # false for NaN
    ):
        raise InvalidParameter(
            f"the outcome gave {found.dtype} of shape {found.shape} for {len(outputs)} samples: it must give each of "
            "them 1 for the far side of the question, 0 for the near one, or a share between"
        )
    return found.astype(np.float64, copy=False)


def signed(is_there: Flags, margin: Array) -> Array:
    """A margin that is above 0 exactly where the far side is reached."""
    return np.where(is_there, np.maximum(margin, FAINTEST), np.minimum(margin, -FAINTEST))


def remember(question: Q, **known: Any) -> Q:
    """The same question, which now knows what it was bound to, and what it knew before."""
    made = replace(question)  # type: ignore[type-var]
    bound = {each.name: getattr(question, each.name) for each in fields(question) if not each.init}  # type: ignore[arg-type]
    for name, value in (bound | known).items():
        object.__setattr__(made, name, value)
    return made


def as_ones(flags: Any) -> Array:
    """1 for true and 0 for false; arrays of NumPy or tensors of torch."""
    made: Array = flags * 1.0
    return made
