"""Tree ensembles: the outputs of all samples of a plan by sets of samples."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xcid.native.ensemble import Ensemble
from xcid.native.library import loaded, runner
from xcid.native.planned import sets, sums
from xcid.native.program import Program
from xcid.records import Array, Plan

FEWEST_ROWS = 8  # at a time, for which NumPy's form is faster than asking
STEPS = 8  # of a tree and a row that take NumPy as long as the tree's own answers


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An ensemble and its program, which the compiled library runs where it was built, and else NumPy."""

    ensemble: Ensemble
    program: Program

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""
        by_steps = len(self.program.steps) // (STEPS * len(self.ensemble.trees))
        return 1 if loaded() is not None else max(FEWEST_ROWS, by_steps)

    def planned(self, plan: Plan) -> Callable[[Array], Array] | None:
        """From rows to the outputs of all samples of a plan; None where its sets take too much memory."""
        return plan.once((self, loaded() is None), self._planned)

    def _planned(self, plan: Plan) -> Callable[[Array], Array] | None:
        known = sets(self.program, plan, self.ensemble.rounded)
        if known is None:
            return None
        library, n_columns = loaded(), plan.values.shape[1]
        add: Callable[[Array], Array] = functools.partial(sums, self.program, known)
        if library is not None:
            add = runner(library, self.program, known, n_columns)

        def outputs(rows: Array) -> Array:
            found = add(self.ensemble.rounded(rows))
            return self.ensemble.link(np.moveaxis(found, 0, -1))

        return outputs
