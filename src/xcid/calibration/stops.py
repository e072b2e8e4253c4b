"""How many runs a row gets: a stop is ``stop(first, more) -> Explanation``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import numpy as np

from xcid._check import as_float, as_int
from xcid.calibration.averages import average
from xcid.calibration.tops import top_agreement
from xcid.errors import InvalidParameter
from xcid.records import Explanation, Integers

More: TypeAlias = Callable[[Integers, int], Explanation]
"""``more(rows, replicate)``: another independent run of some rows of a block."""


class Stop(Protocol):
    """Decides how many runs the rows of a block get, and joins them; a plain function qualifies."""

    def __call__(self, first: Explanation, more: More) -> Explanation: ...


@dataclass(frozen=True, slots=True)
class Repeats:
    """A fixed number of independent runs, averaged."""

    count: int = 1

    def __post_init__(self) -> None:
        as_int(self.count, "repeats", at_least=1)

    def __call__(self, first: Explanation, more: More) -> Explanation:
        """Run all rows again."""
        rows = np.arange(len(first))
        return average([first, *(more(rows, replicate) for replicate in range(1, self.count))])


@dataclass(frozen=True, slots=True)
class Decided:
    """Go on with the rows whose top k is not decided yet.

    Parameters
    ----------
    k : int
    confidence : float
        A top set is decided when this share of it is expected to be truly there.
    max_evaluations : int
        Most rows that the model is asked to predict for each row.
    """

    k: int = 4
    confidence: float = 0.95
    max_evaluations: int = 10_000

    def __post_init__(self) -> None:
        as_int(self.k, "k", at_least=1)
        as_int(self.max_evaluations, "max_evaluations", at_least=1)
        if not 0 < as_float(self.confidence, "confidence") < 1:
            raise InvalidParameter(f"confidence must lie in (0, 1), not {self.confidence}")

    def __call__(self, first: Explanation, more: More) -> Explanation:
        """Run the undecided rows again, until they are decided or their budget is spent."""
        if first.lower is None:
            raise InvalidParameter("only a score with limits, such as xcid.scores.Adjusted(), can tell what is decided")
        k = min(self.k, first.values.shape[1])
        runs = [(np.arange(len(first)), first)]
        done: dict[int, Explanation] = {}
        while len(rows := runs[-1][0]):
            here = [_of(rows, *run) for run in runs]
            joined = average(here)
            if joined.spread is None:
                joined = replace(joined, spread=np.full(joined.values.shape, np.nan))  # of one run there is none
            open_ = top_agreement(joined, k) < self.confidence
            open_ &= joined.n_evaluations + runs[-1][1].n_evaluations <= self.max_evaluations
            done |= {int(row): joined[at] for at, row in enumerate(rows) if not open_[at]}
            rows = rows[open_]
            runs.append((rows, more(rows, len(runs)) if len(rows) else first[[]]))
        return Explanation.concatenate([done[row] for row in range(len(first))])


def _of(rows: Integers, at: Integers, run: Explanation) -> Explanation:
    """Some rows of a run of the rows ``at``."""
    return run[np.searchsorted(at, rows)]
