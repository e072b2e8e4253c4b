"""Models that were read: one that computes with what it sees, such as a sum of columns, and those made of others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeAlias

import numpy as np
from scipy.special import expit, softmax

from xcid.native.seen import Chain, Kind, Look, Room, Seen, SeenPlan, attributes
from xcid.records import Array, Plan

Outputs: TypeAlias = Callable[[Array], Array]
"""From (n, d) rows to outputs: (n, s, k) of all samples of a plan, or (n, k) of the rows themselves."""
Link: TypeAlias = Callable[[Array], Array]
"""From (..., k) sums to the (..., outputs) of the model."""


class Native(Protocol):
    """A model that was read."""

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than calling the model."""

    @property
    def is_quick(self) -> bool:
        """Whether many more samples are read in the time in which the model predicts some."""

    def planned(self, plan: Plan) -> Outputs | None:
        """From (n, d) rows to the (n, s, k) outputs of all samples; None where a plan is too large."""

    def outputs(self, rows: Array) -> Array:
        """(n, k) outputs of (n, d) rows by themselves."""

    def with_room(self, room: Room) -> Native:
        """The same for rows of more levels."""


@dataclass(frozen=True, slots=True, eq=False)
class Alone:
    """A model by itself."""

    seen: Seen
    core: Any  # what it computes with cells: Trees or Linear

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than calling the model."""
        return int(self.core.fewest_rows)

    @property
    def is_quick(self) -> bool:
        """Whether many more samples are read in the time in which the model predicts some."""
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

    def with_room(self, room: Room) -> Alone:
        """The same for rows of more levels."""
        return replace(self, seen=self.seen.with_room(room))


@dataclass(frozen=True, slots=True, eq=False)
class Combined:
    """Models whose outputs, one after the other, become others."""

    models: tuple[Native, ...]
    combine: Callable[[Iterator[Array]], Array]

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than calling the model."""
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

    def with_room(self, room: Room) -> Combined:
        """The same for rows of more levels."""
        return replace(self, models=tuple(model.with_room(room) for model in self.models))


def changed(change: Callable[[Array], Array], outputs: Iterator[Array]) -> Array:
    """What a function makes of the outputs of one model."""
    return change(next(outputs))


def averaged(weights: tuple[float, ...], outputs: Iterator[Array]) -> Array:
    """Means with weights, divided at the end as libraries do: log odds show the last digit of a share."""
    total = weights[0] * next(outputs)
    for weight, more in zip(weights[1:], outputs, strict=True):
        total += weight * more
    return np.asarray(total / sum(weights))


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
        """Rows for which this is faster than calling the model."""
        return 1

    def planned(self, part: SeenPlan) -> Callable[[Array], Array]:
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


def first(sums: Array) -> Array:
    """The sum itself, as the output of a regression."""
    return sums


def exponential(sums: Array) -> Array:
    """The output of a regression of logarithms."""
    return np.exp(sums)


def logistic(sums: Array) -> Array:
    """Probabilities of two classes, from log odds of the second."""
    second = expit(sums)
    return np.concatenate([1 - second, second], axis=-1)


def doubled(sums: Array) -> Array:
    """Probabilities of two classes, from half the log odds of the second."""
    return logistic(2 * sums)


def several(sums: Array) -> Array:
    """Probabilities of several classes, from their logarithms up to a constant."""
    shares: Array = softmax(sums, axis=-1)
    return shares


def shared(sums: Array) -> Array:
    """Probabilities of several classes, from log odds of each against all others."""
    odds = expit(sums)
    shares: Array = odds / odds.sum(axis=-1, keepdims=True)
    return shares


def by_odds(sums: Array) -> Array:
    """Probabilities of two classes as interpret rounds them: log odds tell the difference where they are close to 1."""
    odds = np.exp(np.minimum(sums, 700.0))
    second = odds / (odds + 1)
    return np.concatenate([1 - second, second], axis=-1)


LINKS: dict[str, Link] = {"identity": first, "log": exponential, "logit": by_odds, "mlogit": several}


def _added(n_terms: int, start: Array, link: Link) -> Linear:
    """Terms of each of k sums, term by term."""
    return Linear(np.tile(np.eye(len(start)), (n_terms, 1)), start, link)


def boosting_machine(model: Any) -> Linear | None:
    """Interpret's explainable boosting machine; functions of two columns are not read."""
    if any(len(term) > 1 for term in model.term_features_) or model.link_ not in LINKS:
        return None
    return _added(len(model.term_features_), np.atleast_1d(model.intercept_), LINKS[model.link_])


def boosting_cells(model: Any, seen: Seen) -> Seen:
    """What each column adds to each sum."""
    columns = np.repeat([term[0] for term in model.term_features_], np.size(model.intercept_))
    return Seen(seen.source[columns], seen.table, Chain((seen.table, Terms(model))))


@dataclass(frozen=True, slots=True, eq=False)
class Terms:
    """What the columns of a table add, by the model's own account."""

    model: Any

    def __call__(self, table: Any) -> Array:
        found = np.asarray(self.model.eval_terms(table), dtype=np.float64)
        return found.reshape(len(found), -1)


def naive_bayes(model: Any) -> Linear:
    """Normal densities of columns that do not depend on each other."""
    start = np.log(model.class_prior_) - 0.5 * np.log(2 * np.pi * model.var_).sum(axis=1)
    return _added(model.n_features_in_, start, several)


def naive_cells(model: Any, seen: Seen) -> Seen:
    """What each column adds to the logarithm of each class."""
    return seen.then(Densities(model.theta_, model.var_), np.repeat(np.arange(model.n_features_in_), len(model.theta_)))


@dataclass(frozen=True, slots=True, eq=False)
class Densities:
    """Logarithms of normal densities with (k, m) means and variances, but for constants."""

    mean: Array
    variance: Array

    def __call__(self, cells: Array) -> Array:
        found = -0.5 * (cells[:, None] - self.mean) ** 2 / self.variance
        return np.swapaxes(found, 1, 2).reshape(len(cells), -1)


MACHINES = [("interpret", f"ExplainableBoosting{name}") for name in ("Classifier", "Regressor")]
PARTS = ("bins_", "term_features_", "term_scores_", "intercept_", "link_", "feature_types_in_", "classes_")
READINGS: dict[Kind, Callable[[Any], Linear | None]] = {
    ("sklearn", "GaussianNB"): naive_bayes,
    **dict.fromkeys(MACHINES, boosting_machine),
}
CELLS: dict[Kind, Callable[[Any, Seen], Seen]] = {
    ("sklearn", "GaussianNB"): naive_cells,
    **dict.fromkeys(MACHINES, boosting_cells),
}
LOOKS: dict[Kind, Look] = dict.fromkeys(MACHINES, attributes(*PARTS))
