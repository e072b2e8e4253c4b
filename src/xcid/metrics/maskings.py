"""What stands in the place of a masked feature: ``masking(rows, kept, keys, space) -> (n, l, r, d)``.

``rows`` (n, d), ``kept`` (n, l, d) which features keep their values in each of l stages; the result has r fillings of
each stage, whose outputs are averaged. Any function with that signature is a masking.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from xcid._check import as_int
from xcid._kernels.arrays import thinned
from xcid._kernels.random import MASKING, below
from xcid.records import Array, Flags, Integers, Unsigned
from xcid.table import FeatureSpace


class Masking(Protocol):
    """Anything that fills masked features; a plain function qualifies."""

    def __call__(self, rows: Array, kept: Flags, keys: Unsigned, space: FeatureSpace) -> Array: ...


@dataclass(frozen=True, slots=True)
class Centre:
    """One typical value for each feature; the commonest level for categories.

    A column whose type holds whole numbers alone takes the rounded value. The paper masks with the mean itself: for
    that, give such columns as floats, in the rows and in the reference data.

    Parameters
    ----------
    of : callable
        From (N, d) numbers with missing cells to (d,): ``numpy.nanmean``, ``numpy.nanmedian``.
    """

    of: Callable[..., Array] = np.nanmean

    def __call__(self, rows: Array, kept: Flags, keys: Unsigned, space: FeatureSpace) -> Array:
        centre = self.of(space.background, axis=0)
        for feature in np.flatnonzero(space.discrete):
            levels, counts = np.unique(space.background[:, feature], return_counts=True)
            centre[feature] = levels[np.argmax(counts)]
        return np.where(kept, rows[:, None, :], _storable(centre, space))[:, :, None, :]


mean = Centre()
median = Centre(np.nanmedian)


@dataclass(frozen=True, slots=True)
class JointRows:
    """Reference rows: all masked features take their values from one of them.

    Parameters
    ----------
    count : int
        Rows, spread evenly over the reference data: the same for all rows and stages.
    """

    count: int = 50

    def __post_init__(self) -> None:
        as_int(self.count, "count", at_least=1)

    def __call__(self, rows: Array, kept: Flags, keys: Unsigned, space: FeatureSpace) -> Array:
        chosen = space.background[thinned(len(space.background), self.count)]
        return np.where(kept[:, :, None, :], rows[:, None, None, :], chosen)


@dataclass(frozen=True, slots=True)
class MarginalRows:
    """Background values, drawn for every feature by itself."""

    count: int = 50

    def __post_init__(self) -> None:
        as_int(self.count, "count", at_least=1)

    def __call__(self, rows: Array, kept: Flags, keys: Unsigned, space: FeatureSpace) -> Array:
        n_features = rows.shape[1]
        counters = (np.arange(self.count)[:, None] * n_features + space.rank).astype(np.uint64)
        at = below(MASKING.bits(keys, counters), len(space.background))
        drawn = space.background[at, np.arange(n_features)]  # (n, count, d)
        return np.where(kept[:, :, None, :], rows[:, None, None, :], drawn[:, None])


@dataclass(frozen=True, slots=True)
class SimilarRows:
    """Background rows that are like the row in the features that are kept: a conditional distribution.

    Rows that are equally like it, all of them where nothing is kept, come in an order that their content gives.

    Parameters
    ----------
    count : int
        How many of the most similar rows; where rows have weights, so many that stand for as large a share of all.
    """

    count: int = 20

    def __post_init__(self) -> None:
        as_int(self.count, "count", at_least=1)

    def __call__(self, rows: Array, kept: Flags, keys: Unsigned, space: FeatureSpace) -> Array:
        spread = np.nanstd(space.background, axis=0)
        scale = np.where(space.discrete | (spread == 0), 1.0, spread)
        shuffled = space.background[np.argsort(space.keys(space.background, seed=0), kind="stable")]
        size = round(self.count * len(shuffled) / len(space.rows))  # of as large a share as so many rows have
        nearest = thinned(min(size, len(shuffled)), self.count)
        chosen = np.stack(
            [
                _by_likeness(row, stages, shuffled, space.discrete, scale)[:, nearest]
                for row, stages in zip(rows, kept, strict=True)
            ]
        )
        return np.where(kept[:, :, None, :], rows[:, None, None, :], shuffled[chosen])


def _by_likeness(row: Array, kept: Flags, reference: Array, discrete: Flags, scale: Array) -> Integers:
    """(l, N) positions of the reference rows in each stage, from the nearest in the kept features on."""
    apart = np.abs(reference - row) / scale
    apart = np.where(discrete, apart > 0, apart)
    both, one = np.isnan(reference) & np.isnan(row), np.isnan(reference) != np.isnan(row)
    apart = np.where(both, 0.0, np.where(one, 1.0, apart))
    distance = kept.astype(np.float64) @ apart.T
    return np.argsort(distance, axis=1, kind="stable")


def _storable(centre: Array, space: FeatureSpace) -> Array:
    """Round what a column of whole numbers could not hold."""
    try:
        back = space.values(space.decode(centre[None]))[0]
    except Exception:  # a nullable column of whole numbers refuses others
        return np.where(space.resolution == 1, np.round(centre), centre)
    return np.where(np.isclose(back, centre, rtol=1e-6), centre, np.round(centre))
