"""Bandwidth rules: from weighted samples to one bandwidth for C+ and one for C-."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

import numpy as np

from xcid._check import require_callable
from xcid.errors import InvalidParameter
from xcid.records import Array

Rule: TypeAlias = Callable[[Array, Array], Array]
"""``rule(values, weights) -> bandwidth``: (b, s) and (b, s) to (b,), in the unit of the values; 0 for a constant."""


class Bandwidth(Protocol):
    """Both bandwidths of each item; ``unit`` (b,) is the length of 1 in the user's scale."""

    def __call__(self, values: Array, positive: Array, negative: Array, unit: Array) -> tuple[Array, Array]: ...


def silverman(values: Array, weights: Array) -> Array:
    """Silverman's rule as in ``scipy.stats.gaussian_kde``: sd * (3/4 * n) ** (-1/5), n the effective sample size."""
    return _spread(values, weights) * (0.75 * _effective_size(weights)) ** -0.2


def scott(values: Array, weights: Array) -> Array:
    """Scott's rule as in ``scipy.stats.gaussian_kde``: sd * n ** (-1/5), n the effective sample size."""
    return _spread(values, weights) * _effective_size(weights) ** -0.2


@dataclass(frozen=True, slots=True)
class Each:
    """A rule for each set by itself, as in the paper."""

    rule: Rule

    def __call__(self, values: Array, positive: Array, negative: Array, unit: Array) -> tuple[Array, Array]:
        return self.rule(values, positive), self.rule(values, negative)


@dataclass(frozen=True, slots=True)
class Pooled:
    """A rule for all samples together: one bandwidth, whatever the labels."""

    rule: Rule

    def __call__(self, values: Array, positive: Array, negative: Array, unit: Array) -> tuple[Array, Array]:
        bandwidth = self.rule(values, positive + negative)
        return bandwidth, bandwidth


@dataclass(frozen=True, slots=True)
class Fixed:
    """One number in the unit of the feature."""

    width: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.width) and self.width > 0):
            raise InvalidParameter(f"the bandwidth must be a finite number above 0, not {self.width}")

    def __call__(self, values: Array, positive: Array, negative: Array, unit: Array) -> tuple[Array, Array]:
        bandwidth = self.width / unit
        return bandwidth, bandwidth


NAMED: dict[str, Bandwidth] = {
    "silverman": Each(silverman),
    "scott": Each(scott),
    "pooled-silverman": Pooled(silverman),
    "pooled-scott": Pooled(scott),
}


def named(bandwidth: str | float | Bandwidth) -> Bandwidth:
    """Turn a name or a number into a bandwidth; the edge where strings end."""
    if isinstance(bandwidth, str):
        if bandwidth not in NAMED:
            raise InvalidParameter(f"unknown bandwidth {bandwidth!r}: use one of {list(NAMED)}, a number or a rule")
        return NAMED[bandwidth]
    if isinstance(bandwidth, int | float | np.number):
        return Fixed(float(bandwidth))
    require_callable(bandwidth, "bandwidth", "'silverman', 0.5 or xcid.densities.Each(rule)")
    return bandwidth


def _effective_size(weights: Array) -> Array:
    total, squares = weights.sum(axis=-1), np.einsum("...s,...s->...", weights, weights)
    return np.divide(total**2, squares, out=np.ones(total.shape), where=squares > 0)


def _spread(values: Array, weights: Array) -> Array:
    """Weighted standard deviation, unbiased in the variance; exactly 0 where all weighted values are equal."""
    total = weights.sum(axis=-1)
    share = np.divide(weights, total[..., None], out=np.zeros(weights.shape), where=total[..., None] > 0)
    centred = values - np.einsum("...s,...s->...", share, values)[..., None]
    variance = np.einsum("...s,...s,...s->...", share, centred, centred)
    low = np.min(np.where(weights > 0, values, np.inf), axis=-1)
    high = np.max(np.where(weights > 0, values, -np.inf), axis=-1)
    freedom = 1 - np.einsum("...s,...s->...", share, share)
    varied = high > low
    return np.sqrt(np.divide(variance, freedom, out=np.zeros(variance.shape), where=varied))
