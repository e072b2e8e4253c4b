"""Values that may replace others, feature by feature, in ascending order."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid.records import Array, Flags, Integers


class Pools(NamedTuple):
    """(N, d) values, each column ascending and padded with NaN; (d,) how many they are, and how many are missing."""

    values: Array
    sizes: Integers
    n_missing: Integers

    @staticmethod
    def of(background: Array, allowed: Flags) -> Pools:
        """The allowed cells of the background."""
        values = np.sort(np.where(allowed, background, np.nan), axis=0)  # NaN comes last
        return Pools(values, np.sum(~np.isnan(values), axis=0), np.sum(np.isnan(background) & allowed, axis=0))

    def distinct(self) -> Pools:
        """Every value once."""
        repeated = np.zeros(self.values.shape, dtype=bool)
        repeated[1:] = self.values[1:] == self.values[:-1]
        values = np.sort(np.where(repeated, np.nan, self.values), axis=0)
        return Pools(values, np.sum(~np.isnan(values), axis=0), self.n_missing)

    def between(self, low: Array, high: Array) -> tuple[Integers, Integers]:
        """First position and number of the values between (n, d) limits."""
        start, count = (np.empty(low.shape, dtype=np.int64) for _ in range(2))
        for feature, size in enumerate(self.sizes):
            column = self.values[:size, feature]
            start[:, feature] = np.searchsorted(column, low[:, feature], side="left")
            count[:, feature] = np.searchsorted(column, high[:, feature], side="right") - start[:, feature]
        return start, np.maximum(count, 0)
