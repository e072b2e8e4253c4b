"""How far samples are from each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._kernels.arrays import same
from xcid.records import Array, Flags, Integers
from xcid.table import FeatureSpace

UNITS = 2.0**20  # differences are whole numbers of such parts: their sums are exact, whatever the order of the columns


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """Distances between samples, feature by feature in units of the background's spread.

    A number counts in mean absolute deviations from its median. Other levels, and a missing cell beside a present one,
    count 1. Features are summed in the ``order`` of the ranks, so that moving a column does not change the last digit.
    """

    scale: Array
    discrete: Flags
    order: Integers

    @staticmethod
    def of(space: FeatureSpace) -> Metric:
        """Measure the spread of the background."""
        return Metric(space.scales, space.discrete, np.argsort(space.rank))

    def gap(self, a: Array, b: Array, feature: int) -> Array:
        """Distances between values of one feature."""
        gap = (a != b).astype(np.float64) if self.discrete[feature] else np.abs(a - b) / self.scale[feature]
        missing = np.isnan(a), np.isnan(b)
        return np.where(missing[0] | missing[1], missing[0] != missing[1], gap)

    def between(self, a: Array, b: Array) -> Array:
        """Sum of the gaps of (..., f) samples."""
        total = np.zeros(np.broadcast_shapes(a.shape, b.shape)[:-1])
        for feature in self.order:
            total += self.gap(a[..., feature], b[..., feature], feature)
        return total


def differences(rows: Array, cells: Array, scales: Array, levels: Flags) -> Array:
    """How far (n or 1, c, f) cells are from (n, f) rows, in whole units, of which a scale has 2**20.

    ``scales`` (f,) are what counts as 1 for numbers; ``levels`` (f,) are the features that are either the same or 1
    apart, as are a missing cell and any other.
    """
    own = rows[:, None]
    apart = np.where(levels, 1.0, np.abs(cells - own) / scales)
    apart = np.where(np.isnan(apart), 1.0, apart)
    return np.where(same(cells, own), 0.0, np.rint(np.minimum(apart, UNITS) * UNITS))


def robust_scales(space: FeatureSpace) -> Array:
    """(f,) spread of each number: the median absolute deviation, or the standard deviation where that is 0."""
    middle = np.nanmedian(space.background, axis=0)
    deviation = 1.4826 * np.nanmedian(np.abs(space.background - middle), axis=0)
    spread = np.where(deviation > 0, deviation, np.nanstd(space.background, axis=0))
    return np.where(spread > 0, spread, 1.0)
