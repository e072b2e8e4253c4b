"""Shapes of kernels, and two estimates by them cut into cells with exact masses: slow, good to 1e-5, any bandwidths.

The overlap of two densities over a cell is the smaller of their two masses unless p - q changes sign inside it. So
the line is cut where either density could bend (a fraction of a bandwidth, and the kinks of the kernel) and where
p - q changes sign; the masses are differences of distribution functions, not quadrature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from xcid.records import Array

NARROWEST = 1e-12  # of the range: below it float64 cannot place a kernel
BLOCK = 256  # places summed at a time: the window of kernels that reach them stays narrow


class Shape(NamedTuple):
    """A kernel K(u) of unit mass."""

    pdf: Callable[[Array], Array]
    cdf: Callable[[Array], Array]
    reach: float  # beyond it there is no mass that matters
    kinks: tuple[float, ...]  # where it is not smooth


def _gaussian_cdf(u: Array) -> Array:
    from scipy.special import ndtr  # imported late: it costs half the start-up time and the default path does without

    return ndtr(u)


def _exponential_cdf(u: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(u))
    return np.where(u < 0, tail, 1 - tail)


def _within(cdf: Callable[[Array], Array]) -> Callable[[Array], Array]:
    """A distribution function whose mass lies between -1 and 1."""
    return lambda u: cdf(np.clip(u, -1, 1))


SHAPES = {
    "gaussian": Shape(lambda u: np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi), _gaussian_cdf, 6.0, ()),
    "epanechnikov": Shape(
        lambda u: np.maximum(0.75 * (1 - u * u), 0), _within(lambda u: 0.25 * (2 + 3 * u - u**3)), 1.0, (-1.0, 1.0)
    ),
    "exponential": Shape(lambda u: 0.5 * np.exp(-np.abs(u)), _exponential_cdf, 16.0, (0.0,)),
    "tophat": Shape(lambda u: np.where(np.abs(u) < 1, 0.5, 0.0), _within(lambda u: 0.5 * (u + 1)), 1.0, (-1.0, 1.0)),
    "triangular": Shape(
        lambda u: np.maximum(1 - np.abs(u), 0), _within(lambda u: 0.5 + u - 0.5 * u * np.abs(u)), 1.0, (-1.0, 0.0, 1.0)
    ),
    "cosine": Shape(
        lambda u: np.where(np.abs(u) < 1, np.pi / 4 * np.cos(np.pi / 2 * u), 0.0),
        _within(lambda u: 0.5 * (1 + np.sin(np.pi / 2 * u))),
        1.0,
        (-1.0, 1.0),
    ),
}


class _Set(NamedTuple):
    """Distinct samples in ascending order, their masses, and the bandwidth."""

    centres: Array
    mass: Array
    bandwidth: float


def cells(
    shape: Shape,
    values: Array,
    weights: tuple[Array, Array],
    bandwidths: tuple[float, float],
    per_bandwidth: int,
) -> tuple[Array, Array, Array]:
    """Cut the line for one feature of one row: (g + 1,) edges, and (g,) masses of either set.

    The (s,) samples are of order one and have (s,) normalised weights in either set, which may be empty (all 0); if it
    is not, its bandwidth is above 0. Four cells per bandwidth are good to 1e-4, 16 to 1e-5.
    """
    centres, inverse = np.unique(values, return_inverse=True)
    sets = []
    for weight, bandwidth in zip(weights, bandwidths, strict=True):
        mass: Array = np.bincount(inverse, weight, len(centres))  # type: ignore[assignment]  # weighted counts are floats
        sets.append(_Set(centres[mass > 0], mass[mass > 0], max(bandwidth, NARROWEST)))
    edges = np.unique(np.concatenate([_knots(shape, each, per_bandwidth) for each in sets if each.mass.size]))
    first, second = (_total(shape.pdf, edges, each, shape.reach) / each.bandwidth for each in sets)
    edges = np.union1d(edges, _sign_changes(edges, first - second))
    return edges, _masses(shape, edges, sets[0]), _masses(shape, edges, sets[1])


def _knots(shape: Shape, kernels: _Set, per_bandwidth: int) -> Array:
    """A fine lattice over the stretches of the line that the kernels reach, and the kinks."""
    centres, _, bandwidth = kernels
    margin = shape.reach * bandwidth
    breaks = np.flatnonzero(np.diff(centres) > 2 * margin)
    starts = centres[np.concatenate([[0], breaks + 1])] - margin
    ends = centres[np.concatenate([breaks, [-1]])] + margin
    step = bandwidth / per_bandwidth
    counts = np.ceil((ends - starts) / step).astype(np.int64) + 1
    first = np.repeat(np.cumsum(counts) - counts, counts)
    lattice = np.repeat(starts, counts) + step * (np.arange(counts.sum()) - first)
    kinks = [centres + kink * bandwidth for kink in shape.kinks]
    return np.concatenate([lattice, ends, *kinks])


def _total(function: Callable[[Array], Array], at: Array, kernels: _Set, reach: float, passed: float = 0.0) -> Array:
    """Sum the kernels at sorted places; those out of reach count ``passed`` (on the left) or 0 (on the right)."""
    centres, mass, bandwidth = kernels
    result = np.empty(len(at))
    before = np.concatenate([[0.0], np.cumsum(mass)])
    for start in range(0, len(at), BLOCK):
        block = at[start : start + BLOCK]
        low = np.searchsorted(centres, block[0] - reach * bandwidth)
        high = np.searchsorted(centres, block[-1] + reach * bandwidth, side="right")
        near = function((block[:, None] - centres[low:high]) / bandwidth) @ mass[low:high]
        result[start : start + BLOCK] = passed * before[low] + near
    return result


def _masses(shape: Shape, edges: Array, kernels: _Set) -> Array:
    """Mass of each cell; the outermost ones take the tails, so that the sum is the set's mass."""
    distribution = _total(shape.cdf, edges, kernels, shape.reach, passed=1.0)
    distribution[0], distribution[-1] = 0.0, kernels.mass.sum()
    return np.maximum(np.diff(distribution), 0.0)


def _sign_changes(edges: Array, difference: Array) -> Array:
    """Where the straight line between two knots crosses 0: a miss by e costs only about slope * e**2."""
    left, right = difference[:-1], difference[1:]
    crossing = np.flatnonzero(left * right < 0)
    share = left[crossing] / (left[crossing] - right[crossing])
    return edges[crossing] + share * (edges[crossing + 1] - edges[crossing])
