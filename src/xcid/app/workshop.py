"""What a page works with: a model, its rows, and an explainer for each set of frozen features."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xcid.app.answers import answer, search
from xcid.app.controls import describe
from xcid.app.requests import read
from xcid.explainer import Explainer
from xcid.report._text import clean
from xcid.space import Constraints

TITLE = "What decides this prediction"
PATIENCE = 30.0  # seconds that a row may take: nobody waits longer for a page
MOST_EXPLAINERS = 16  # sets of frozen features that are remembered


@dataclass(frozen=True, slots=True, eq=False)
class Workshop:
    """All that a page needs; one thread at a time.

    Attributes
    ----------
    model : object
    background : table
    rows : table
        Those that can be picked.
    names : sequence, optional
        What the rows are called.
    title : str
    notes : sequence of str
        What else there is to know, such as what the model is.
    words : mapping of str to str
        What features mean.
    seed : int
    """

    model: Any
    background: Any
    rows: Any
    names: Sequence[Any] | None = None
    title: str = TITLE
    notes: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    made: OrderedDict[tuple[int, ...], Explainer] = field(default_factory=OrderedDict, repr=False)

    def describe(self) -> dict[str, Any]:
        """What there is to pick, to edit and to ask."""
        return {
            "title": clean(self.title),
            "notes": [clean(note, 600) for note in self.notes],
            **describe(self.explainer(), self.rows, self.names, self.words),
        }

    def answer(self, body: bytes) -> dict[str, Any]:
        """Explain the row of a request."""
        asked = read(self.explainer(), body)
        return answer(self.explainer(asked.frozen), asked, self.seed)

    def search(self, body: bytes) -> dict[str, Any]:
        """Search for counterfactuals of the row of a request."""
        asked = read(self.explainer(), body)
        return search(self.explainer(asked.frozen), asked, self.seed)

    def explainer(self, frozen: tuple[int, ...] = ()) -> Explainer:
        """The explainer that keeps some columns as they are; the last ones are remembered."""
        if frozen not in self.made:
            names = self.made[()].space.names if frozen else ()
            limits = Constraints(frozen=[names[at] for at in frozen])
            self.made[frozen] = Explainer(self.model, self.background, constraints=limits, time_limit=PATIENCE)
        self.made.move_to_end(frozen)
        self.made.move_to_end((), last=True)  # needed to read every request
        while len(self.made) > MOST_EXPLAINERS:
            self.made.popitem(last=False)
        return self.made[frozen]
