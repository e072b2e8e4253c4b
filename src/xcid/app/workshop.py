"""What a page works with: a model, its rows, and an explainer for each set of frozen features."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

from xcid.app.answers import answer, search
from xcid.app.controls import describe
from xcid.app.requests import read
from xcid.explainer import Explainer
from xcid.space import Constraints
from xcid.wording.names import clean

TITLE = "What decides this prediction"
PATIENCE = 30.0  # seconds that a row may take: nobody waits longer for a page
MOST_EXPLAINERS = 16  # sets of frozen features that are remembered


@dataclass(eq=False)
class Workshop:
    """A model with a background and rows that can be picked; for one thread at a time.

    Rows may have ``names``, and features ``words`` that explain them; ``notes`` are what else to know.
    ``explainer(frozen)`` is the explainer that keeps some columns as they are; the last ones are remembered.
    """

    model: Any
    background: Any
    rows: Any
    names: Sequence[Any] | None = None
    title: str = TITLE
    notes: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0

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
        return Explainer(self.model, self.background, constraints=limits, time_limit=PATIENCE)
