"""Kernel density estimates, as cells with masses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from xcid._check import as_float
from xcid.cid.densities.bandwidths import (
    CELLS_PER_BANDWIDTH,
    REACH,
    SHAPES,
    SIZES,
    Bandwidth,
    Shape,
    bin_masses,
    cut_cells,
    named,
)
from xcid.errors import InvalidParameter
from xcid.records import Array, DensityPair, Flags, Integers

SMALLEST_UNIT, LARGEST_UNIT = 1e-303, 1e303  # so that neither a density nor the width of a cell overflows


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Samples of b features, flattened over the leading axes, shifted and scaled to [0, 1]."""

    batch: tuple[int, ...]  # the leading axes
    values: Array  # (b, s) samples in units of the item's range; places without weight hold 0
    positive: Array  # (b, s) weights that sum to 1, or to 0 for an empty set
    negative: Array
    totals: tuple[Array, Array]  # (b, 1) what they summed to before
    shift: Array  # (b,) smallest sample and
    unit: Array  # length of one unit, both divided by 2**exponent
    exponent: np.ndarray[tuple[int, ...], np.dtype[np.int32]]

    @property
    def used(self) -> Flags:
        """Samples with weight in either set."""
        used: Flags = (self.positive > 0) | (self.negative > 0)
        return used

    @property
    def given_weights(self) -> tuple[Array, Array]:
        """Weights as they came: what a label-free bandwidth pools."""
        return self.positive * self.totals[0], self.negative * self.totals[1]

    @property
    def length(self) -> Array:
        """Length of one unit in the user's scale."""
        with np.errstate(over="ignore"):  # values from one end of the numbers to the other
            return np.clip(np.ldexp(self.unit, self.exponent), SMALLEST_UNIT, LARGEST_UNIT)

    def raw(self, points: Array, items: Integers) -> Array:
        """Bring (b, g) points of the given items back to the user's scale."""
        finite = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            raw = points * self.length[items, None]
            raw += np.ldexp(self.shift, self.exponent)[items, None]
        return np.clip(raw, -finite, finite, out=raw)


def flatten(values: Array, positive: Array, negative: Array) -> Items:
    """Make items; the power of two taken out first keeps scales of 1e-300 and 1e300 exact."""
    values, positive, negative = np.broadcast_arrays(values, positive, negative)
    batch, n_samples = values.shape[:-1], values.shape[-1]
    values, positive, negative = (part.reshape(-1, n_samples) for part in (values, positive, negative))
    totals = positive.sum(axis=1, keepdims=True), negative.sum(axis=1, keepdims=True)
    positive, negative = (_divided(part, total) for part, total in zip((positive, negative), totals, strict=True))
    used = (positive > 0) | (negative > 0)
    _, exponent = np.frexp(np.max(np.where(used, np.abs(values), 0), axis=1))
    values = np.ldexp(values, -exponent[:, None])
    low = np.min(np.where(used, values, np.inf), axis=1)
    high = np.max(np.where(used, values, -np.inf), axis=1)
    low = np.where(np.isfinite(low), low, 0.0)
    unit = np.where(high > low, high - low, 1.0)
    scaled = np.where(used, (values - low[:, None]) / unit[:, None], 0.0)
    return Items(batch, scaled, positive, negative, totals, low, unit, exponent)


def _divided(weights: Array, total: Array) -> Array:
    return np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)


FINEST = 1e-5
BINNED_TOLERANCE = 1e-3
NARROWEST = 2.0**-1020  # cells: narrower ones would have densities without end


@dataclass(frozen=True, slots=True)
class Kernel:
    """Kernel density estimates of both sets.

    A set whose values are all equal has no bandwidth under the rules; it becomes an atom.

    Parameters
    ----------
    kernel : str
        "gaussian", "epanechnikov", "exponential", "tophat", "triangular" or "cosine".
    bandwidth : str, float or Bandwidth
        "silverman" and "scott" (each set by itself, as scipy computes them), "pooled-silverman" and "pooled-scott"
        (one for both sets), a number in the unit of the feature, or an object of :mod:`xcid.cid.densities.bandwidths`.
    tolerance : float
        Largest error of d1: 1e-3 is fast, 1e-5 the finest.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.0])
    >>> pair = Kernel("gaussian", bandwidth=0.5)(values, values < 3, values > 3)
    >>> float(np.round(pair.weights @ pair.p, 6))
    1.0
    """

    kernel: str = "gaussian"
    bandwidth: str | float | Bandwidth = "silverman"
    tolerance: float = BINNED_TOLERANCE

    def __post_init__(self) -> None:
        if self.kernel not in list(SHAPES):
            raise InvalidParameter(f"unknown kernel {self.kernel!r}: use one of {list(SHAPES)}")
        if not FINEST <= as_float(self.tolerance, "tolerance") < 1:
            raise InvalidParameter(f"the tolerance must lie between {FINEST} and 1, not {self.tolerance}")
        named(self.bandwidth)
        object.__setattr__(self, "tolerance", float(self.tolerance))
        if isinstance(self.bandwidth, np.number):
            object.__setattr__(self, "bandwidth", float(self.bandwidth))

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair:
        """Estimate the densities of (..., s) samples with (..., s) weights."""
        items = flatten(values, positive, negative)
        bandwidths = named(self.bandwidth)(items.values, *items.given_weights, items.length)
        sets = WeightedSets.of(items, bandwidths)
        groups = []
        waiting = sets.n_cells > 0
        if self.kernel == "gaussian" and self.tolerance >= BINNED_TOLERANCE:
            for size in SIZES:
                fits = np.flatnonzero(waiting & (sets.n_cells <= size))
                if fits.size:
                    groups.append(binned_cells(items, sets, fits, size))
                waiting[fits] = False
        per_bandwidth = 4 if self.tolerance >= BINNED_TOLERANCE else 16
        for item in np.flatnonzero(waiting):
            groups.append(exact_cells(items, sets, item, SHAPES[self.kernel], per_bandwidth))
        return assemble(items, constant_atoms(items, sets), groups)


class WeightedCells(NamedTuple):
    """Cells (or atoms) of some items: places and widths in units, and the masses of both sets.

    ``items`` is (b,), ``widths`` (b, g) or (b, 1), the others (b, g).
    """

    items: Integers
    points: Array
    widths: Array
    p: Array
    q: Array


@dataclass(frozen=True, slots=True, eq=False)
class WeightedSets:
    """C+ and C- of every item: weights, bandwidths, extremes, and how many cells a uniform grid needs.

    A set is empty (no weight), constant (no bandwidth) or smooth.
    """

    weights: tuple[Array, Array]
    bandwidths: tuple[Array, Array]
    smooth: tuple[Flags, Flags]
    constant: tuple[Flags, Flags]
    low: Array
    high: Array
    n_cells: Array

    @staticmethod
    def of(items: Items, bandwidths: tuple[Array, Array]) -> WeightedSets:
        """Classify the sets and measure how far their kernels reach."""
        weights = (items.positive, items.negative)
        low, high = np.full(len(items.values), np.inf), np.full(len(items.values), -np.inf)
        narrowest = low.copy()
        smooth, constant = [], []
        for weight, bandwidth in zip(weights, bandwidths, strict=True):
            there = weight.any(axis=1)
            is_smooth = there & (bandwidth > 0)
            margin = REACH * bandwidth
            first = np.min(np.where(weight > 0, items.values, np.inf), axis=1) - margin
            last = np.max(np.where(weight > 0, items.values, -np.inf), axis=1) + margin
            low = np.where(is_smooth, np.minimum(low, first), low)
            high = np.where(is_smooth, np.maximum(high, last), high)
            narrowest = np.where(is_smooth, np.minimum(narrowest, bandwidth), narrowest)
            smooth.append(is_smooth)
            constant.append(there & ~is_smooth)
        any_smooth = smooth[0] | smooth[1]
        n_cells = np.zeros(len(low))
        np.divide((high - low) * CELLS_PER_BANDWIDTH, narrowest, out=n_cells, where=any_smooth)
        return WeightedSets(weights, bandwidths, (smooth[0], smooth[1]), (constant[0], constant[1]), low, high, n_cells)


def constant_atoms(items: Items, sets: WeightedSets) -> WeightedCells:
    """Sets of one value: an atom each; one for both where the value is the same."""
    place = np.stack([np.max(np.where(weight > 0, items.values, 0), axis=1) for weight in sets.weights], axis=1)
    p, q = np.zeros_like(place), np.zeros_like(place)
    p[:, 0], q[:, 1] = sets.constant
    same = sets.constant[0] & sets.constant[1] & (place[:, 0] == place[:, 1])
    q[same, 0], q[same, 1] = 1.0, 0.0
    return WeightedCells(np.arange(len(place)), place, np.ones_like(place), p, q)


def binned_cells(items: Items, sets: WeightedSets, chosen: Integers, n_cells: int) -> WeightedCells:
    """Uniform grids of one size for the chosen items."""
    low = sets.low[chosen]
    width = (sets.high[chosen] - low) / n_cells
    values, bandwidths = items.values[chosen], np.stack([bandwidth[chosen] for bandwidth in sets.bandwidths])
    weights = np.stack(
        [weight[chosen] * smooth[chosen, None] for weight, smooth in zip(sets.weights, sets.smooth, strict=True)]
    )
    p, q = bin_masses(values, weights, bandwidths, low, width, n_cells)
    points = low[:, None] + width[:, None] * (np.arange(n_cells) + 0.5)
    return WeightedCells(chosen, points, width[:, None], p, q)


def exact_cells(items: Items, sets: WeightedSets, item: np.int64, shape: Shape, per_bandwidth: int) -> WeightedCells:
    """Cells of any width for one item."""
    weights = [weight[item] * smooth[item] for weight, smooth in zip(sets.weights, sets.smooth, strict=True)]
    bandwidths = (float(sets.bandwidths[0][item]), float(sets.bandwidths[1][item]))
    edges, p, q = cut_cells(shape, items.values[item], (weights[0], weights[1]), bandwidths, per_bandwidth)
    points, widths = (edges[1:] + edges[:-1]) / 2, np.diff(edges)
    return WeightedCells(np.array([item]), points[None], widths[None], p[None], q[None])


def assemble(items: Items, atoms: WeightedCells, groups: list[WeightedCells]) -> DensityPair:
    """Join atoms and cells of all items in one rectangle, in the user's scale."""
    n_items, n_atoms = atoms.points.shape
    n_points = n_atoms + max((group.points.shape[1] for group in groups), default=0)
    points, p, q, widths = (np.zeros((n_items, n_points)) for _ in range(4))
    points[:, :n_atoms] = items.raw(atoms.points, atoms.items)
    widths[:, :n_atoms], p[:, :n_atoms], q[:, :n_atoms] = atoms[2:]
    length = items.length
    for group in groups:
        place: Any = (group.items, slice(n_atoms, n_atoms + group.points.shape[1]))
        if len(group.items) == n_items:
            place = (slice(None), place[1])  # a plain copy
        width = np.maximum(group.widths * length[group.items, None], NARROWEST)
        points[place], widths[place] = items.raw(group.points, group.items), width
        p[place], q[place] = group.p / width, group.q / width
    is_atom = np.broadcast_to(np.arange(n_points) < n_atoms, points.shape)
    return DensityPair(*(part.reshape(*items.batch, n_points) for part in (points, p, q, widths, is_atom)))
