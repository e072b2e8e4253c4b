"""The joint density of several columns by the kernel of one."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from xcid._check import as_int
from xcid._kernels.arrays import number_distinct, ratio
from xcid.cid.densities.bandwidths import SHAPES, Shape, named
from xcid.cid.densities.joint import MOST_PAIRS, sequence
from xcid.cid.densities.kernel import Kernel, flatten
from xcid.records import Array, DensityPair, Flags, Integers

FINE = 4_097  # places at which a distribution function is turned round


class _SampleSet(NamedTuple):
    """Samples of C+ or of C-."""

    masses: Array  # (s,)
    code: Integers  # (s, k) of cells that are compared for equality; -1 where the kernel is smooth
    scaled: Array  # (s, k) in units of the item's range
    bandwidths: Array  # (k,) in the same; 1 where nothing is smooth


@dataclass(frozen=True, slots=True)
class Product:
    """Two densities of several columns at once: in each the kernel, with the bandwidth that it has for it alone.

    Levels, missing cells and columns that are constant in a set are compared for equality, as in one dimension.

    There is no grid in many dimensions. The points are drawn from both estimates: each sample, moved by its kernel
    along a low-discrepancy sequence, weighs its mass divided by p + q there, so that weighted sums over points are
    integrals. A point is labelled by p / (p + q), the share of C+ at its place.

    Parameters
    ----------
    kernel : Kernel
    draws : int
        Points of either set, at least; every sample gets the same number of them.
    """

    kernel: Kernel = field(default_factory=Kernel)
    draws: int = 1_024

    def __post_init__(self) -> None:
        as_int(self.draws, "draws", at_least=1)

    def __call__(self, values: Array, positive: Array, negative: Array, discrete: Flags) -> DensityPair:
        """Estimate the densities of (s, k) samples with (s,) weights; ``discrete`` (k,) columns are made of levels."""
        shape = SHAPES[self.kernel.kernel]
        sets = self._sets(values, positive, negative, discrete)
        points, codes, masses = zip(*(self._draw_points(one, shape) for one in sets), strict=True)
        place, code, mass = (np.concatenate(part) for part in (points, codes, masses))
        p, q = (_density(one, shape, place, code) for one in sets)
        share, weights = (ratio(part, p + q) for part in (p, mass))
        return DensityPair(share, p, q, weights, np.ones(len(mass), dtype=bool))

    def _sets(self, values: Array, positive: Array, negative: Array, discrete: Flags) -> list[_SampleSet]:
        """C+ and C-, each with its own bandwidths."""
        columns, missing = values.T, np.isnan(values.T)
        code, _ = number_distinct(np.where(missing, np.inf, columns), np.ones(columns.shape, dtype=bool))
        items = flatten(np.where(missing, 0.0, columns), positive * ~missing, negative * ~missing)
        found = named(self.kernel.bandwidth)(items.values, *items.given_weights, items.length)
        sets = []
        for weights, widths in zip((positive, negative), found, strict=True):
            used = weights > 0
            is_smooth = ~discrete & (widths > 0)
            exact = missing.T | ~is_smooth
            sets.append(
                _SampleSet(
                    weights[used] / max(weights.sum(), np.finfo(np.float64).tiny),
                    np.where(exact, code.T, -1)[used],
                    np.where(exact, 0.0, items.values.T)[used],
                    np.where(is_smooth, widths, 1.0),
                )
            )
        return sets

    def _draw_points(self, one: _SampleSet, shape: Shape) -> tuple[Array, Integers, Array]:
        """(g, k) points of a set, their codes, and the (g,) masses that they stand for."""
        repeats = -(-self.draws // max(len(one.masses), 1)) if np.any(one.code < 0) else 1
        at = np.repeat(np.arange(len(one.masses)), repeats)
        grid = np.linspace(-shape.reach, shape.reach, FINE)
        moves = np.interp(sequence(len(at), one.code.shape[1]), shape.cdf(grid), grid) * one.bandwidths
        return one.scaled[at] + moves * (one.code[at] < 0), one.code[at], one.masses[at] / repeats


def _density(one: _SampleSet, shape: Shape, points: Array, code: Integers) -> Array:
    """(g,) density of a set at points with codes."""
    result = np.zeros(len(points))
    block = max(1, MOST_PAIRS // max(len(one.masses), 1))
    for start in range(0, len(points), block):
        part = slice(start, start + block)
        kernels = np.ones((len(points[part]), len(one.masses)))
        for column, width in enumerate(one.bandwidths):
            smooth = one.code[:, column] < 0
            apart = (points[part, column, None] - one.scaled[:, column]) / width
            kernels *= np.where(smooth, shape.pdf(apart) / width, 1.0)
            kernels *= code[part, column, None] == one.code[:, column]
        result[part] = kernels @ one.masses
    return result
