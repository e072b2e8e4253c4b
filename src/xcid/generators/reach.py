"""What the features of a row may become, within its bounds and the values that the constraints allow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._data import Array, Flags, Integers, Words
from xcid._kernels.random import below
from xcid.space import FeatureSpace
from xcid.space.pools import Pools

ROUNDING = 1e-6  # of a step of a lattice: what 0.1 * 10 may be off
UNITS = 2.0**20  # differences are whole numbers of such parts: their sums are exact, whatever the order of the columns
MOST_DONORS = 4_096  # background rows that are compared with a row
_TOP_BIT = np.uint64(63)


@dataclass(frozen=True, slots=True, eq=False)
class Reach:
    """Values that each feature of each row may take, in ascending order.

    Attributes
    ----------
    rows : (n, f)
    pools : Pools
    first, count : (n, f)
        Which values of the pools they are.
    total : (n, f)
        Their number with the missing cells; 0 where the feature may not change.
    """

    rows: Array
    pools: Pools
    first: Integers
    count: Integers
    total: Integers

    @classmethod
    def of(cls, rows: Array, space: FeatureSpace, pools: Pools) -> Reach:
        """Find the values of some pools that rows may take."""
        first, count = pools.between(*space.bounds(rows))
        total = np.where(space.frozen, 0, count + np.where(space.direction == 0, pools.n_missing, 0))
        return cls(rows, pools, first, count, total)

    def draw(self, at: Integers, random: Words) -> Array:
        """Leave each feature alone or replace it, with equal odds, by a random one of its values.

        Parameters
        ----------
        at : (a,)
            Positions of the rows.
        random : (a, c, f)

        Returns
        -------
        (a, c, f)
        """
        a = at[:, None]
        values = self.value(at, below(random << np.uint64(1), self.total[a]))
        replaced = (random >> _TOP_BIT).astype(bool) & (self.total[a] > 0)
        return np.where(replaced, values, self.rows[a])

    def value(self, at: Integers, place: Integers) -> Array:
        """The values at (a, c, f) places; beyond the last value is a missing cell."""
        a = at[:, None]
        known = np.minimum(self.first[a] + place, len(self.pools.values) - 1)
        return np.where(place < self.count[a], self.pools.values[known, np.arange(place.shape[2])], np.nan)

    def quantile(self, at: Integers, share: Array) -> Array:
        """The values below which (a, c, f) shares of them lie; the row's own where there is none."""
        count = self.count[at][:, None]
        place = np.clip((share * count).astype(np.int64), 0, np.maximum(count - 1, 0))
        there = (count > 0) & (self.total[at][:, None] > 0)
        return np.where(there, self.value(at, place), self.rows[at][:, None])


def counters(start: int, size: int, space: FeatureSpace) -> Words:
    """(size, f) counters of the random words of some candidates; they follow the order of the ranks."""
    return (np.arange(start, start + size)[:, None] * len(space.rank) + space.rank).astype(np.uint64)


def same(first: Array, second: Array) -> Flags:
    """Equal cells; missing ones are equal."""
    return (first == second) | (np.isnan(first) & np.isnan(second))


def may_become(rows: Array, cells: Array, space: FeatureSpace) -> Flags:
    """Which of (n or 1, c, f) cells the features of (n, f) rows may take; their own they always may.

    Returns
    -------
    (n, c, f)
    """
    low, high = (part[:, None] for part in space.bounds(rows))
    missing = (space.pools.n_missing > 0) & (space.direction == 0)
    allowed = np.where(np.isnan(cells), missing, (cells >= low) & (cells <= high))
    for feature in np.flatnonzero(space.discrete):
        levels = space.pools.distinct.values[: space.pools.distinct.sizes[feature], feature]
        allowed[..., feature] &= np.isin(cells[..., feature], levels) | np.isnan(cells[..., feature])
    return allowed & ~space.frozen | same(cells, rows[:, None])


def nearest_allowed(rows: Array, cells: Array, space: FeatureSpace) -> Array:
    """Fit (n or 1, c, f) cells to (n, f) rows: numbers go to the next allowed one, all else stays the row's own."""
    low, high = (part[:, None] for part in space.bounds(rows))
    per_unit = np.where(space.resolution > 0, space.resolution, 1.0)
    first, last = np.ceil(low * per_unit - ROUNDING), np.floor(high * per_unit + ROUNDING)
    on_lattice = np.clip(np.rint(cells * per_unit), first, last) / per_unit
    numbers = np.where(space.resolution > 0, on_lattice, np.clip(cells, low, high))
    empty = np.where(space.resolution > 0, first > last, low > high)
    near = np.where(space.discrete | np.isnan(cells) | empty, cells, numbers)
    own = rows[:, None]
    return np.where(may_become(rows, near, space) & ~same(cells, own), near, own)


def background_rows(space: FeatureSpace) -> Array:
    """Background rows, evenly thinned where there are very many."""
    size = len(space.background)
    return space.background[np.linspace(0, size - 1, min(size, MOST_DONORS)).round().astype(np.int64)]


def differences(rows: Array, cells: Array, scales: Array, levels: Flags) -> Array:
    """How far (n or 1, c, f) cells are from (n, f) rows, in whole units, of which a scale has 2**20.

    Parameters
    ----------
    scales : (f,)
        What counts as 1 for numbers.
    levels : (f,)
        Features that are either the same or 1 apart, as are a missing cell and any other.
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
