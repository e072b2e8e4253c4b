"""Where the features of a row may move: background values, points between, and how far that is."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._data import Array, Flags, Integers, Words
from xcid._kernels.random import below, mix
from xcid.generators.random import ROUNDING
from xcid.space import FeatureSpace


@dataclass(frozen=True, slots=True, eq=False)
class Moves:
    """What the features of some rows may change to.

    Attributes
    ----------
    rows : (n, f)
    space : FeatureSpace
    low, high : (n, f)
        Range of new values.
    first, count : (n, f)
        The background values within it: their first position in the sorted pool, and how many there are.
    """

    rows: Array
    space: FeatureSpace
    low: Array
    high: Array
    first: Integers
    count: Integers

    @staticmethod
    def of(rows: Array, space: FeatureSpace) -> Moves:
        """Look up what the constraints leave to each row."""
        low, high = space.bounds(rows)
        return Moves(rows, space, low, high, *space.pools.between(low, high))

    def __getitem__(self, at: Integers) -> Moves:
        """Select rows."""
        return Moves(self.rows[at], self.space, self.low[at], self.high[at], self.first[at], self.count[at])

    @property
    def n_values(self) -> Integers:
        """(n, f) background values that may be taken, missing cells included; 0 where the feature cannot change."""
        missing = np.where(self.space.direction == 0, self.space.pools.n_missing, 0)
        return np.where(self.space.frozen, 0, self.count + missing)

    def drawn(self, random: Words) -> Array:
        """Turn (n, c, f) words into background values; the row's own where none is allowed."""
        n_values, pool = self.n_values[:, None, :], self.space.pools.values
        place = below(random, n_values)
        known = pool[np.minimum(self.first[:, None, :] + place, len(pool) - 1), np.arange(pool.shape[1])]
        values = np.where(place < self.count[:, None, :], known, np.nan)
        return np.where(n_values > 0, values, self.rows[:, None, :])

    def fitted(self, values: Array) -> Array:
        """Bring (n, c, f) numbers into their range and onto their lattice; levels and missing cells pass."""
        low, high, resolution = self.low[:, None, :], self.high[:, None, :], self.space.resolution
        per_unit = np.maximum(resolution, 1.0)
        first, last = np.ceil(low * per_unit - ROUNDING), np.floor(high * per_unit + ROUNDING)
        rounded = np.clip(np.round(values * per_unit), first, last) / per_unit
        return np.where(self.space.discrete, values, np.where(resolution > 0, rounded, np.clip(values, low, high)))

    @property
    def names(self) -> Words:
        """(f,) a word for each feature, whatever its column."""
        return mix((self.space.rank + 1).astype(np.uint64))

    def unchanged(self, samples: Array) -> Flags:
        """(n, c, f) which cells of samples are the row's own."""
        own = self.rows[:, None, :]
        return (samples == own) | (np.isnan(samples) & np.isnan(own))

    def content(self, samples: Array) -> Words:
        """(n, c) hash of what is changed; that of an unchanged row is ``UNCHANGED``."""
        canonical = np.where(np.isnan(samples), np.nan, samples + 0.0)
        change = mix(canonical.view(np.uint64) + self.names)
        change[self.unchanged(samples)] = 0
        return mix(change.sum(axis=2, dtype=np.uint64))


UNCHANGED = mix(np.zeros(1, dtype=np.uint64))[0]


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """Distances between samples, feature by feature in units of the background's spread.

    A number counts in mean absolute deviations from its median. Other levels, and a missing cell beside a present one,
    count 1.

    Attributes
    ----------
    scale : (f,)
    discrete : (f,)
    order : (f,)
        Order of summation, that of the ranks: so that the order of columns does not change the last digit.
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
