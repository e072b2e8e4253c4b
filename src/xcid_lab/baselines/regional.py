"""Regional sensitivity analysis: how far the distributions of a feature in C+ and in C- are apart."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from xcid._check import require_callable
from xcid._kernels.arrays import ratio
from xcid.densities import Mixed
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.generators import Balanced
from xcid.records import Array, Density, Perturbations, Scores

Statistic: TypeAlias = Callable[[Array, Array], Array]
"""``statistic(gap (n, s), mass (n, s)) -> (n,)``: from F+ - F- at samples, and the share of each among all samples."""


def kolmogorov_smirnov(gap: Array, mass: Array) -> Array:
    """The largest difference of the two distribution functions, from 0 to 1."""
    return np.abs(gap).max(axis=1)


def cramer_von_mises(gap: Array, mass: Array) -> Array:
    """The mean squared difference of the two distribution functions over all samples, from 0 to 1/3.

    For samples of sizes m and n without ties the usual test statistic is this times m n / (m + n).
    """
    return np.sum(mass * gap**2, axis=1)


class RegionalSensitivity:
    """Two-sample statistics of each feature between C+ and C- (Hornberger and Spear, 1981); unsigned.

    The perturbations and their weights are those of the recommended setting, so that only the score differs from it.

    Parameters
    ----------
    model, background
        As for :class:`xcid.Explainer`.
    statistic : callable
        :func:`kolmogorov_smirnov` or :func:`cramer_von_mises`.
    n : int, optional
        Evaluations for each row, as for :class:`xcid.generators.Balanced`.
    weights : (N,) array, list or series, optional
        Of the background rows, as for :class:`xcid.Explainer`.
    """

    def __init__(
        self,
        model: Any,
        background: Any,
        *,
        statistic: Statistic = kolmogorov_smirnov,
        n: int | None = None,
        weights: Any = None,
    ) -> None:
        require_callable(statistic, "statistic", "xcid_lab.baselines.kolmogorov_smirnov")
        self.explainer = Explainer(model, background, weights=weights, generator=Balanced(n), score=Apart(statistic))

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        return self.explainer(X, seed=seed)


@dataclass(frozen=True, slots=True)
class Apart:
    """A two-sample statistic for each column of a cloud; 0 where one of the two sets is empty.

    A missing cell counts as larger than any number. Levels have no order of their own, and are put in that in which
    they tell most, from those that are commoner in C- to those that are commoner in C+: then the largest difference of
    the distribution functions is that over all sets of levels.
    """

    statistic: Statistic = kolmogorov_smirnov
    density: Density = field(default_factory=Mixed)

    def __call__(self, cloud: Perturbations) -> Scores:
        both = (cloud.positive.sum(axis=1) > 0) & (cloud.negative.sum(axis=1) > 0)
        found, samples = np.zeros_like(cloud.origin), cloud.samples
        for column in range(len(cloud.discrete)):
            values = np.where(np.isnan(samples[:, :, column]), np.inf, samples[:, :, column])
            if cloud.discrete[column]:
                values = _by_odds(values, cloud.positive, cloud.negative)
            found[:, column] = self.statistic(*_gaps(values, cloud.positive, cloud.negative))
        found = np.where(both[:, None], found, 0.0)
        return Scores(found, found)


def _gaps(values: Array, positive: Array, negative: Array) -> tuple[Array, Array]:
    """(n, s) differences of the distribution functions of (n, s) samples, in their order, and shares of the samples."""
    order = np.argsort(values, axis=1)
    values, p, q = (np.take_along_axis(part, order, axis=1) for part in (values, positive, negative))
    gap = np.cumsum(_shares(p) - _shares(q), axis=1)
    last = np.ones(values.shape, dtype=bool)
    last[:, :-1] = values[:, 1:] != values[:, :-1]  # of samples that are equal
    place = np.where(last, np.arange(values.shape[1]), values.shape[1])
    place = np.minimum.accumulate(place[:, ::-1], axis=1)[:, ::-1]
    return np.take_along_axis(gap, place, axis=1), _shares(p + q)


def _by_odds(values: Array, positive: Array, negative: Array) -> Array:
    """Replace levels by a number that grows with how much commoner they are in C+ than in C-."""
    p, q, odds = _shares(positive), _shares(negative), np.zeros(values.shape)
    for level in np.unique(values):
        there = values == level
        more, less = (np.sum(weights * there, axis=1, keepdims=True) for weights in (p, q))
        odds = np.where(there, ratio(more, more + less), odds)
    return odds


def _shares(weights: Array) -> Array:
    return ratio(weights, np.broadcast_to(weights.sum(axis=1, keepdims=True), weights.shape))
