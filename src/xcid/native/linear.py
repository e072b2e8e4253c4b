"""Linear models: the outputs of all samples of a plan by two products."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xcid.native.ensemble import Link
from xcid.records import Array, Integers, Plan


@dataclass(frozen=True, slots=True, eq=False)
class Linear:
    """Columns of the table in the model's ``order``, shifted, scaled and added up with (d, k) weights.

    A sample's sum is what it keeps of its row and what it takes from elsewhere: the second part is the plan's.
    """

    order: Integers
    shift: Array
    scale: Array
    weights: Array
    start: Array  # (k,)
    link: Link

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""
        return 1

    def planned(self, plan: Plan) -> Callable[[Array], Array]:
        """From rows to the outputs of all samples of a plan."""
        return plan.once(self, self._planned)

    def _planned(self, plan: Plan) -> Callable[[Array], Array]:
        taken = plan.taken[:, self.order]
        lent = np.where(taken, self._scaled(plan.new), 0.0) @ self.weights + self.start  # (s, k)
        kept = (~taken).T.astype(np.float64)  # (d, s)

        def outputs(rows: Array) -> Array:
            parts = self._scaled(rows)
            own = [(parts * weights) @ kept for weights in self.weights.T]  # k of (n, s)
            return self.link(np.stack(own, axis=-1) + lent)

        return outputs

    def _scaled(self, rows: Array) -> Array:
        return (rows[:, self.order] - self.shift) / self.scale
