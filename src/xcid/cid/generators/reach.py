"""What the features of a row may become: values of reference rows, within its limits and what the constraints allow.

Numbers may have a lattice: so many steps in a unit, as many as the reference data's decimals tell.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._kernels.arrays import same, thinned
from xcid._kernels.random import below
from xcid.records import Array, Flags, Integers, Unsigned
from xcid.table import FeatureSpace
from xcid.table.features import Pools, step_range

MOST_DONORS = 4_096  # reference rows that are looked at; more do not spread any better
_ONE, _TOP_BIT = np.uint64(1), np.uint64(63)


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """What the features of (n, f) rows may change to: the values of the pools between ``low`` and ``high`` (n, f).

    ``first`` is the position of the first such value, ``count`` how many there are, and ``total`` their number with the
    missing cells; 0 where the feature may not change.
    """

    rows: Array
    space: FeatureSpace
    pools: Pools
    low: Array
    high: Array
    first: Integers
    count: Integers
    total: Integers

    @staticmethod
    def of(rows: Array, space: FeatureSpace, pools: Pools | None = None) -> Reach:
        """Look up what the constraints leave to each row, among all reference values or those of other pools."""
        pools = space.pools if pools is None else pools
        low, high = space.bounds(rows)
        first, count = pools.between(low, high)
        total = np.where(space.frozen, 0, count + np.where(space.direction == 0, pools.n_missing, 0))
        return Reach(rows, space, pools, low, high, first, count, total)

    def __getitem__(self, at: Integers) -> Reach:
        """Select rows."""
        values = self.first[at], self.count[at], self.total[at]
        return Reach(self.rows[at], self.space, self.pools, self.low[at], self.high[at], *values)

    def value(self, place: Integers) -> Array:
        """The values at (n, c, f) places; beyond the last value is a missing cell."""
        known = np.minimum(self.first[:, None] + place, len(self.pools.values) - 1)
        return np.where(place < self.count[:, None], self.pools.values[known, np.arange(place.shape[2])], np.nan)

    def drawn(self, random: Unsigned) -> Array:
        """Turn (n, c, f) random bits into values, missing cells among them; the row's own where there is none."""
        total = self.total[:, None]
        return np.where(total > 0, self.value(below(random, total)), self.rows[:, None])

    def masked(self, random: Unsigned) -> Array:
        """Leave each feature alone or replace it by such a value, with equal odds."""
        return np.where((random >> _TOP_BIT).astype(bool), self.drawn(random << _ONE), self.rows[:, None])

    def quantile(self, share: Array) -> Array:
        """The values below which (n, c, f) shares of them lie; the row's own where there is none."""
        count = self.count[:, None]
        place = np.clip((share * count).astype(np.int64), 0, np.maximum(count - 1, 0))
        return np.where((count > 0) & (self.total[:, None] > 0), self.value(place), self.rows[:, None])

    def holds(self, cells: Array) -> Flags:
        """(n, c, f) which of (n or 1, c, f) cells lie within the limits, for features that are not frozen."""
        missing = (self.space.pools.n_missing > 0) & (self.space.direction == 0)
        held = np.where(np.isnan(cells), missing, (cells >= self.low[:, None]) & (cells <= self.high[:, None]))
        levels = self.space.distinct
        for feature in np.flatnonzero(self.space.discrete):
            known = np.isin(cells[..., feature], levels.values[: levels.sizes[feature], feature])
            held[..., feature] &= known | np.isnan(cells[..., feature])
        return held & ~self.space.frozen

    def allows(self, cells: Array) -> Flags:
        """The same, and the row's own cells, which it may always keep."""
        return self.holds(cells) | same(cells, self.rows[:, None])

    def fitted(self, values: Array) -> Array:
        """Bring (n or 1, c, f) numbers into their range and onto their lattice; levels and missing cells pass."""
        low, high, steps = self.low[:, None], self.high[:, None], self.space.steps_per_unit
        rounded = np.clip(np.rint(values * steps), *step_range(low, high, steps)) / steps
        numbers = np.where(self.space.resolution > 0, rounded, np.clip(values, low, high))
        return np.where(self.space.discrete, values, numbers)

    def nearest(self, cells: Array) -> Array:
        """Fit (n or 1, c, f) cells to the rows: numbers go to the next allowed one, all else stays the row's own."""
        near, own = self.fitted(cells), self.rows[:, None]
        return np.where(self.holds(near) & ~same(cells, own), near, own)


def donors_of(rows: Array) -> Array:
    """Reference rows, evenly thinned where there are very many."""
    return rows[thinned(len(rows), MOST_DONORS)]


UNITS = 2.0**20  # differences are whole numbers of such parts: their sums are exact, whatever the order of the columns


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """Distances between samples, feature by feature in units of the reference data's spread.

    A number counts in mean absolute deviations from its median. Other levels, and a missing cell beside a present one,
    count 1. Features are summed in the ``order`` of the ranks, so that moving a column does not change the last digit.
    """

    scale: Array
    discrete: Flags
    order: Integers

    @staticmethod
    def of(space: FeatureSpace) -> Metric:
        """Measure the spread of the reference data."""
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
