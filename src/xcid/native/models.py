"""Models that were read: one that computes with what it sees, and those that are made of others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from xcid.native.seen import Chain, Part, Seen
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


class Core(Protocol):
    """What a model computes with the numbers that it sees."""

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""

    def planned(self, part: Part) -> Outputs | None:
        """From (n, m) cells to the (n, s, k) outputs of all samples."""

    def outputs(self, cells: Array) -> Array:
        """(n, k) outputs of (n, m) cells by themselves."""


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """A model by itself."""

    seen: Seen
    core: Any  # a Core; Linear and the like can be given another link

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
class Changed:
    """A model whose outputs become others."""

    model: Native
    change: Callable[[Array], Array]

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""
        return self.model.fewest_rows

    @property
    def is_quick(self) -> bool:
        """As the model itself."""
        return self.model.is_quick

    def planned(self, plan: Plan) -> Outputs | None:
        """From rows to the outputs of all samples of a plan."""
        run = self.model.planned(plan)
        return None if run is None else Chain((run, self.change))

    def outputs(self, rows: Array) -> Array:
        """(n, k) outputs of (n, d) rows by themselves."""
        return self.change(self.model.outputs(rows))


@dataclass(frozen=True, slots=True, eq=False)
class Mean:
    """Models whose outputs are averaged, with weights."""

    models: tuple[Native, ...]
    weights: tuple[float, ...]

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
        return Weighted(tuple(runs), self.weights) if len(runs) == len(self.models) else None

    def outputs(self, rows: Array) -> Array:
        """(n, k) outputs of (n, d) rows by themselves."""
        return Weighted(tuple(model.outputs for model in self.models), self.weights)(rows)


@dataclass(frozen=True, slots=True, eq=False)
class Weighted:
    """Means of what functions give, divided at the end as libraries do: log odds show the last digit of a share."""

    functions: tuple[Outputs, ...]
    weights: tuple[float, ...]

    def __call__(self, rows: Array) -> Array:
        parts = zip(self.functions, self.weights, strict=True)
        function, weight = next(parts)
        total = weight * function(rows)
        for function, weight in parts:
            total += weight * function(rows)
        return np.asarray(total / sum(self.weights))
