"""Models that were read: one that computes with what it sees, and those that are made of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from xcid.native.seen import Chain, Seen
from xcid.records import Array, Plan

Outputs: TypeAlias = Callable[[Array], Array]
"""From (n, d) rows to outputs: (n, s, k) of all samples of a plan, or (n, k) of the rows themselves."""


class Native(Protocol):
    """A model that was read."""

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""

    @property
    def is_quick(self) -> bool:
        """Whether many more samples are read in the time that the model would take to answer for some."""

    def planned(self, plan: Plan) -> Outputs | None:
        """From (n, d) rows to the (n, s, k) outputs of all samples; None where a plan is too large."""

    def outputs(self, rows: Array) -> Array:
        """(n, k) outputs of (n, d) rows by themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """A model by itself."""

    seen: Seen
    core: Any  # what it computes with cells: Trees or Linear

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""
        return int(self.core.fewest_rows)

    @property
    def is_quick(self) -> bool:
        """Whether many more samples are read in the time that the model would take to answer for some."""
        return bool(getattr(self.core, "is_quick", False))

    def planned(self, plan: Plan) -> Outputs | None:
        """From rows to the outputs of all samples of a plan."""
        return plan.once(self, self._planned)

    def _planned(self, plan: Plan) -> Outputs | None:
        run = self.core.planned(self.seen.part(plan))
        return None if run is None else Chain((self.seen.cells, run))

    def outputs(self, rows: Array) -> Array:
        """(n, k) outputs of (n, d) rows by themselves."""
        found: Array = self.core.outputs(self.seen.cells(rows))
        return found


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """Models whose outputs, one after the other, become others."""

    models: tuple[Native, ...]
    combine: Callable[[Iterator[Array]], Array]

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""
        return max(model.fewest_rows for model in self.models)

    @property
    def is_quick(self) -> bool:
        """Whether all of them are."""
        return all(model.is_quick for model in self.models)

    def planned(self, plan: Plan) -> Outputs | None:
        """From rows to the outputs of all samples of a plan."""
        runs = [run for model in self.models if (run := model.planned(plan)) is not None]
        if len(runs) < len(self.models):
            return None
        return lambda rows: self.combine(run(rows) for run in runs)

    def outputs(self, rows: Array) -> Array:
        """(n, k) outputs of (n, d) rows by themselves."""
        return self.combine(model.outputs(rows) for model in self.models)


def changed(change: Callable[[Array], Array], outputs: Iterator[Array]) -> Array:
    """What a function makes of the outputs of one model."""
    return change(next(outputs))


def averaged(weights: tuple[float, ...], outputs: Iterator[Array]) -> Array:
    """Means with weights, divided at the end as libraries do: log odds show the last digit of a share."""
    total = weights[0] * next(outputs)
    for weight, more in zip(weights[1:], outputs, strict=True):
        total += weight * more
    return np.asarray(total / sum(weights))
