"""Tree ensembles: the outputs of all samples of a plan by sets of samples."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from xcid.native.ensemble import Ensemble
from xcid.native.levels import Indicators, indicated
from xcid.native.library import loaded, runner
from xcid.native.planned import sets, sums
from xcid.native.program import Program, compiled
from xcid.native.seen import Part
from xcid.native.walk import Walk
from xcid.records import Array, Flags

FEWEST_ROWS = 8  # at a time, for which NumPy's form is faster than asking
STEPS = 8  # of a tree and a row that take NumPy as long as the tree's own answers


@dataclass(frozen=True, slots=True, eq=False)
class Trees:
    """An ensemble and its program, which the compiled library runs where it was built, and else NumPy."""

    ensemble: Ensemble
    indicators: Indicators
    program: Program
    walk: Walk

    @staticmethod
    def of(ensemble: Ensemble, n_columns: int) -> Trees | None:
        """Write the program of an ensemble; None where it is damaged, or so large that asking is faster."""
        if not all(tree.is_sound(n_columns, len(ensemble.base)) for tree in ensemble.trees):
            return None
        found = indicated(ensemble.trees, n_columns)
        if found is None:
            return None
        ensemble = replace(ensemble, trees=found[0])
        program = compiled(ensemble)
        return None if program is None else Trees(ensemble, found[1], program, Walk.of(ensemble))

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""
        if loaded() is not None:
            return 1
        by_steps = len(self.program.steps) // (STEPS * max(1, len(self.ensemble.trees)))
        return sys.maxsize if self.ensemble.quickly else max(FEWEST_ROWS, by_steps)

    @property
    def is_quick(self) -> bool:
        """Whether many more samples are read in the time that the model would take to answer for some."""
        return not self.ensemble.quickly

    def planned(self, part: Part) -> Callable[[Array], Array] | None:
        """From (n, m) cells to the outputs of all samples of a plan; None where its sets take too much memory."""
        new, width = self.ensemble.rounded(part.new), part.new.shape[1]

        def column(at: int) -> tuple[Array, Flags]:
            if at < width:
                return new[:, at], part.taken[:, at]
            return self.indicators.column(new, at - width), part.taken[:, self.indicators.source[at - width]]

        known = sets(self.program, len(new), column)
        if known is None:
            return None
        library = loaded()
        add: Callable[[Array], Array] = functools.partial(sums, self.program, known)
        if library is not None:
            add = runner(library, self.program, known, width + len(self.indicators.source))

        def outputs(cells: Array) -> Array:
            found = add(self._compared(cells))
            return self.ensemble.link(np.moveaxis(found, 0, -1))

        return outputs

    def outputs(self, cells: Array) -> Array:
        """(n, k) outputs of (n, m) cells by themselves."""
        return self.ensemble.link(self.walk.sums(self._compared(cells), self.ensemble))

    def _compared(self, cells: Array) -> Array:
        """What splits compare."""
        return self.indicators(self.ensemble.rounded(cells))
