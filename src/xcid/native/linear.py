"""Linear models: the outputs of all samples of a plan by two products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xcid.native.ensemble import Link
from xcid.native.seen import Part
from xcid.records import Array


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Columns that are added up with (m, k) weights.

    A sample's sum is what it keeps of its row and what it takes from elsewhere: the second part is the plan's.
    """

    weights: Array
    start: Array  # (k,)
    link: Link

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""
        return 1

    def planned(self, part: Part) -> Callable[[Array], Array]:
        """From (n, m) cells to the outputs of all samples of a plan."""
        lent = np.where(part.taken, part.new, 0.0) @ self.weights + self.start  # (s, k)
        kept = (~part.taken).T.astype(np.float64)  # (m, s)

        def outputs(cells: Array) -> Array:
            own = [(cells * weights) @ kept for weights in self.weights.T]  # k of (n, s)
            return self.link(np.stack(own, axis=-1) + lent)

        return outputs

    def outputs(self, cells: Array) -> Array:
        """(n, k) outputs of (n, m) cells by themselves."""
        return self.link(cells @ self.weights + self.start)
