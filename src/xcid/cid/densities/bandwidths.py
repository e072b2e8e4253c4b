"""What kernel estimates are made of: bandwidths, shapes, and two ways from weighted samples to masses of cells.

One is exact, good to 1e-5 and slow. The overlap of two densities over a cell is the smaller of their two masses unless
p - q changes sign inside it. So the line is cut where either density could bend (a fraction of a bandwidth, and the
kinks of the kernel) and where p - q changes sign; the masses are differences of distribution functions, not quadrature.

The other does Gaussian estimates for many features of many rows at once by linear binning and FFT, good to 1e-3. Each
item (a feature of a row) has its own uniform grid over all that its kernels reach. Samples are split between the two
neighbouring cells, which widens them by a sixth of a squared cell on average; the kernel is narrowed by as much. It
acts on the Fourier transform, averaged over a cell, so that what comes back are masses of cells.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np
from scipy import fft

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


def cut_cells(
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


SIZES = (96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048)  # cells of a grid
CELLS_PER_BANDWIDTH = 8  # at least: fewer lose more than 1e-3 of mass where steep densities cross
REACH = 4.0  # bandwidths beyond the outermost sample: 3e-5 of a kernel's mass lies farther out


def bin_masses(values: Array, weights: Array, bandwidths: Array, low: Array, width: Array, n_cells: int) -> Array:
    """(2, b, n_cells) masses of the cells of each item's grid.

    The (b, s) samples have (2, b, s) weights in either set, the kernels (2, b) bandwidths, and the grids (b,) left ends
    and widths of a cell.
    """
    spectrum = fft.rfft(_linear_counts(values, weights, low, width, n_cells))
    frequency = np.fft.rfftfreq(n_cells)
    squared = np.maximum((bandwidths / width) ** 2 - 1 / 6, 0) * (-2 * np.pi**2)
    response = np.maximum(squared[:, :, None] * frequency**2, -700)
    np.exp(response, out=response)
    response *= np.sinc(frequency)
    spectrum *= response
    smooth: Array = fft.irfft(spectrum, n_cells, overwrite_x=True)
    return np.maximum(smooth, 0, out=smooth)


def _linear_counts(values: Array, weights: Array, low: Array, width: Array, n_cells: int) -> Array:
    place = (values - (low + width / 2)[:, None]) / width[:, None]
    np.clip(place, 0, n_cells - 2, out=place)  # only samples without weight lie outside
    cell = place.astype(np.int64)
    place -= cell
    cell += (np.arange(len(values)) * n_cells)[:, None]
    flat, size = cell.ravel(), len(values) * n_cells
    counts = np.empty((2, size))
    for count, weight in zip(counts, weights, strict=True):
        right = place * weight
        count[:] = np.bincount(flat, (weight - right).ravel(), size)
        count[1:] += np.bincount(flat, right.ravel(), size)[:-1]
    return counts.reshape(2, len(values), n_cells)
