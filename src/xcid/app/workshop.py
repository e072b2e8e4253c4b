"""What a page works with (a model, its rows, an explainer for each set of frozen features), and the answers it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from xcid import directions, wording
from xcid._faults import overheard
from xcid.app.controls import describe
from xcid.app.requests import Asked, read
from xcid.counterfactuals import Flips, flips
from xcid.errors import ModelError, NotEnoughFlips
from xcid.explainer import Explainer
from xcid.pipeline import search_parts
from xcid.records import Explanation
from xcid.report.contents import spoken
from xcid.report.evidence import picture
from xcid.report.rows import NEAREST, changes_of, outputs_of, row_of, unit_of, written
from xcid.report.values import SHOWN
from xcid.space import Constraints
from xcid.wording.names import clean

MOST_PICTURES = 40  # that come with an answer; that of the feature that is looked at always does
MOST_LETTERS = 600  # of an error
MOST_FLIPS = 200  # that a search looks through
ONE_SIDE = (
    "Nothing that was tried gets to the other side of this question, from this row or from the reference data: ask "
    "another one, or free some features."
)
TITLE = "What decides this prediction"
PATIENCE = 30.0  # seconds that a row may take: nobody waits longer for a page
MOST_EXPLAINERS = 16  # sets of frozen features that are remembered


def answer(explainer: Explainer, asked: Asked, seed: int = 0) -> dict[str, Any]:
    """Explain a row.

    The record has ``answer``, ``outputs`` ([class, value], the largest first), and ``row``, ``unit``, ``question``,
    ``signed``, ``about``, ``phrases``, ``evidence`` and ``nearest`` as a report has them; or the ``problem`` in words,
    where there is one.
    """
    try:
        outputs = explainer.subject.predict(explainer.space.encode(asked.table))[0]
    except ModelError as error:
        return {"problem": clean(error, MOST_LETTERS)}
    said = wording.answer(outputs, explainer.subject.output_names)
    record: dict[str, Any] = {"answer": said, "outputs": outputs_of(outputs)}
    try:
        explanation = _quietly(explainer.asking(asked.outcome), asked, seed)
    except NotEnoughFlips:
        return record | {"problem": ONE_SIDE}
    except ModelError as error:
        return record | {"problem": clean(error, MOST_LETTERS)}
    explanation = directions.of_row(explanation)
    unit = unit_of(explanation)
    return record | {
        **spoken(explanation, SHOWN),
        "row": row_of(explanation, 0, 0, unit, SHOWN),
        "unit": unit,
        "evidence": _pictures(explanation, asked.feature),
        "nearest": changes_of(explanation, 0, SHOWN),
    }


def search(explainer: Explainer, asked: Asked, seed: int = 0) -> dict[str, Any]:
    """Search for flips that are near and change little: nearer than those among the samples behind the scores.

    No two of them change the same features.
    """
    seeker = explainer.asking(asked.outcome).but(**search_parts(None))
    try:
        explanation = _quietly(seeker, asked, seed)
        return {"nearest": written(explanation, 0, _unlike(explanation), SHOWN)}
    except NotEnoughFlips:
        return {"nearest": []}
    except ModelError as error:
        return {"problem": clean(error, MOST_LETTERS)}


def _unlike(explanation: Explanation) -> Flips:
    """The nearest flips of which no two change the same features: three steps of one slider are one answer."""
    found = flips(explanation, 0, MOST_FLIPS, 0)
    first: dict[bytes, int] = {}
    for at, moved in enumerate(found.moved):
        first.setdefault(moved.tobytes(), at)
    kept = list(first.values())[:NEAREST]
    return Flips(found.rows[kept], ("nearest",) * len(kept), found.moved[kept], found.distance[kept])


def _quietly(explainer: Explainer, asked: Asked, seed: int) -> Explanation:
    """Explain without warnings of few flips: the sentences about the row say it; a row that fails is an error."""
    with overheard() as said:
        explanation = explainer(asked.table, seed=seed)
    if said:
        raise ModelError(said[0])
    return explanation


def _pictures(explanation: Explanation, feature: int) -> list[Any]:
    """The evidence of the strongest features and of the one that is looked at; None for others."""
    drawn = {*wording.largest(explanation.values[0], MOST_PICTURES).tolist(), feature}
    n_features = len(explanation.feature_names)
    return [picture(explanation, 0, at, SHOWN) if at in drawn else None for at in range(n_features)]


@dataclass(eq=False)
class Workshop:
    """A model with a background and rows that can be picked; for one thread at a time.

    Rows may have ``names``, and features ``words`` that explain them; ``notes`` are what else to know, and ``weights``
    those of the background's rows. ``explainer(frozen)`` is the explainer that keeps some columns as they are; the last
    ones are remembered.
    """

    model: Any
    background: Any
    rows: Any
    names: Sequence[Any] | None = None
    title: str = TITLE
    notes: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    weights: Any = None
    class_names: Sequence[str] | None = None

    def __post_init__(self) -> None:
        self.explainer = lru_cache(MOST_EXPLAINERS)(self._explainer)

    def describe(self) -> dict[str, Any]:
        """What there is to pick, to edit and to ask."""
        described = describe(self.explainer(), self.rows, self.names, self.words)
        return {"title": clean(self.title), "notes": [clean(note, 600) for note in self.notes], **described}

    def answer(self, body: bytes) -> dict[str, Any]:
        """Explain the row of a request."""
        asked = read(self.explainer(), body)
        return answer(self.explainer(asked.frozen), asked, self.seed)

    def search(self, body: bytes) -> dict[str, Any]:
        """Search for counterfactuals of the row of a request."""
        asked = read(self.explainer(), body)
        return search(self.explainer(asked.frozen), asked, self.seed)

    def _explainer(self, frozen: tuple[int, ...] = ()) -> Explainer:
        names = self.explainer().space.names if frozen else ()
        limits = Constraints(frozen=[names[at] for at in frozen])
        known: dict[str, Any] = {"weights": self.weights, "class_names": self.class_names}
        return Explainer(self.model, self.background, **known, constraints=limits, time_limit=PATIENCE)
