"""What a row's output is when some features keep their values and the others take those of background rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from xcid.records import Array, Integers
from xcid.subject import Subject

Draw: TypeAlias = Callable[[int], Integers]
"""``draw(c) -> (c, r)`` or ``(1, r)`` positions of the r background rows that each of c coalitions is averaged over."""


class Game:
    """The mean output of coalitions of the features of one row; evaluations of the model are counted.

    All features keep their values: the output of the row itself. None does: the mean over the whole background. Both
    are known, and cost nothing.
    """

    def __init__(self, subject: Subject, row: Array, output: Array, draw: Draw) -> None:
        self.subject, self.row, self.draw, self.n_rows = subject, row, draw, 0
        self.own = int(output.argmax())
        self.full, self.empty = float(output[self.own]), float(subject.outputs[:, self.own].mean())

    def __call__(self, coalitions: Any) -> Array:
        kept = np.atleast_2d(np.asarray(coalitions, dtype=bool))
        values = np.where(kept.all(axis=1), self.full, self.empty)
        asked = np.flatnonzero(kept.any(axis=1) & ~kept.all(axis=1))
        if asked.size:
            donors = self.subject.space.background[self.draw(len(asked))]
            filled = np.where(kept[asked, None, :], self.row, donors)  # (c, r, d)
            outputs = self.subject.predict(filled.reshape(-1, len(self.row)))[:, self.own]
            values[asked] = outputs.reshape(len(asked), -1).mean(axis=1)
            self.n_rows += len(outputs)
        return values
