"""Independent masks, with new values that are drawn jointly, so that they fit the features that stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import numpy as np
from scipy.special import ndtr, ndtri

from xcid._check import as_int, require_callable
from xcid._kernels.arrays import blocks, products
from xcid._kernels.random import CONDITIONAL, below, uniform
from xcid.cid.generators.reach import Reach, differences, donors_of
from xcid.cid.generators.search import Member, Search, check_search, counters
from xcid.records import Array, Flags, Integers, Perturbations, Unsigned
from xcid.table import FeatureSpace

MOST_CELLS = 2**21  # numbers in a work array
LEAST_SHRINKAGE = 1e-3  # of correlations, so that equal columns can be solved for
FORBIDDEN = 2.0**45  # units of difference for a cell that the row may not take: no sum of differences comes near
_MASK, _VALUE, _MISSING, _PICK = CONDITIONAL

Draw: TypeAlias = Callable[[Integers, Unsigned, Flags, int], Array]
"""``draw(at (a,), keys (a,), replaced (a, c, f), start) -> (a, c, f)``: new values where ``replaced``."""


class Method(Protocol):
    """A way to draw features given others: learns from the space, and gives a function that draws for the rows."""

    def __call__(self, rows: Array, space: FeatureSpace) -> Draw: ...


@dataclass(frozen=True, slots=True)
class Neighbours:
    """Take all new values from one reference row that is like the row in the features that stay.

    Likeness is a sum over the kept features: the difference of ranks for numbers and ordered levels, 0 or 1 for other
    levels and for missing cells. The donor is the most alike among some random rows of the reference data, one in k of
    them: so it is the k-th nearest on average, equals have equal odds, and nothing has to be sorted. Rows with a value
    that the constraints forbid here come last; of such a one only the allowed values are taken.

    Parameters
    ----------
    k : int, optional
        How near the donors are; by default the square root of the number of reference rows.
    """

    k: int | None = None

    def __post_init__(self) -> None:
        if self.k is not None:
            as_int(self.k, "k (neighbours)", at_least=1)

    def __call__(self, rows: Array, space: FeatureSpace) -> Draw:
        """Rank the reference data."""
        donors, reach, n_rows = donors_of(space.background), Reach.of(rows, space), len(donors_of(space.rows))
        n_tried = max(1, round(n_rows / (self.k or np.sqrt(n_rows))))
        ordered = _has_order(space)
        own, others = (np.where(ordered, _ranks(cells, space), cells) for cells in (rows, donors))

        def draw(at: Integers, keys: Unsigned, replaced: Flags, start: int) -> Array:
            size, n_features = replaced.shape[1:]
            counter = np.arange(start * n_tried, (start + size) * n_tried, dtype=np.uint64).reshape(size, n_tried)
            values = np.empty(replaced.shape)
            for part in blocks(len(at), MOST_CELLS // (n_features * max(len(donors), size * n_tried))):
                tried = below(_PICK.bits(keys[part], counter), len(donors))
                allowed = reach[at[part]].allows(donors[None])
                apart = differences(own[at[part]], others[None], np.ones(1), ~ordered)
                best = _nearest(tried, apart, np.where(allowed, 0.0, FORBIDDEN), replaced[part])
                fits = np.take_along_axis(allowed, best[:, :, None], axis=1)
                values[part] = np.where(fits, donors[best], rows[at[part], None])
            return values

        return draw


@dataclass(frozen=True, slots=True)
class Copula:
    """Draw new values by a Gaussian copula of the reference data.

    Every column becomes normal scores by its ranks; their correlations are shrunk towards 0 by the share of noise in
    them (Schäfer and Strimmer, 2005). The scores of the replaced features are normal given the kept ones, and go back
    through the quantiles of the values that the row may take. Levels without an order, if they are more than two, and
    missing cells are independent of everything else: a table full of them asks for :class:`Neighbours`.
    """

    def __call__(self, rows: Array, space: FeatureSpace) -> Draw:
        """Learn the correlations, in the order that features have themselves."""
        order = np.argsort(space.rank)
        scored = _has_order(space)
        background, own = (np.where(scored, _scores(cells, space), 0.0) for cells in (space.background, rows))
        correlation = _shrunk_correlation(np.nan_to_num(background)[:, order])
        root = np.linalg.cholesky(correlation).astype(np.float64)
        reach = Reach.of(rows, space)
        share_missing = (reach.total - reach.count) / np.maximum(reach.total, 1)

        def draw(at: Integers, keys: Unsigned, replaced: Flags, start: int) -> Array:
            counter = counters(start, replaced.shape[1], space)
            value, missing = (uniform(stream.bits(keys, counter)) for stream in (_VALUE, _MISSING))
            kept = ~replaced & ~np.isnan(own[at])[:, None]
            known = np.where(kept, own[at][:, None], 0.0)
            normal = ndtri(np.maximum(value, 2.0**-54))
            scores = _conditional(correlation, root, normal[..., order], known[..., order], kept[..., order])
            share = ndtr(scores[..., space.rank])
            return np.where(missing < share_missing[at][:, None], np.nan, reach[at].quantile(share))

        return draw


@dataclass(frozen=True, slots=True)
class Conditional:
    """Independent masks with new values that fit the kept ones, so that perturbed rows stay plausible.

    Each feature of each candidate is replaced with probability 1/2, as by :class:`xcid.generators.Marginal`, but the
    replaced ones are drawn jointly given the others. A feature that the model does not use may then score: through the
    features it goes with.

    Parameters
    ----------
    m, max_evaluations : int
        Positives and negatives to find for each row, and the most evaluations for it.
    method : Neighbours or Copula
        How to draw given the kept features: from like rows of the reference data, which serves every table and any kind
        of dependence, or by a Gaussian copula, which comes nearer to the reference data where all features are numbers.
    """

    m: int = 200
    max_evaluations: int = 4_000
    method: Method = field(default_factory=Neighbours)

    def __post_init__(self) -> None:
        check_search(self)
        require_callable(self.method, "method", "Neighbours()")

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        search = Search(rows, space, member, self.m, self.max_evaluations)
        draw = self.method(rows, space)
        may_change = Reach.of(rows, space).total > 0
        for at, start, size in search.rounds():
            masks = _MASK.bits(keys[at], counters(start, size, space)) >> np.uint64(63)
            replaced = masks.astype(bool) & may_change[at, None]
            search.offer(at, np.where(replaced, draw(at, keys[at], replaced, start), rows[at, None]))
        return search.result()


def _has_order(space: FeatureSpace) -> Flags:
    """(f,) features whose values have an order: numbers, ordered levels, two levels."""
    return np.array([column.kind != "categorical" or len(column.levels) <= 2 for column in space.columns])


def _ranks(cells: Array, space: FeatureSpace) -> Array:
    """(n, f) share of the reference data below each cell, equal ones counted half; NaN where missing."""
    shares = np.empty(cells.shape)
    for feature, column in enumerate(space.background.T):
        known = np.sort(column[~np.isnan(column)])
        below_or_equal = [np.searchsorted(known, cells[:, feature], side=side) for side in ("left", "right")]
        shares[:, feature] = np.sum(below_or_equal, axis=0) / (2 * len(known))
    return np.where(np.isnan(cells), np.nan, shares)


def _nearest(tried: Integers, apart: Array, forbidden: Array, replaced: Flags) -> Integers:
    """(a, c) the best of (a, c, t) tried donors, by (a, N, f) differences of kept and costs of replaced features."""
    row = np.arange(len(tried))[:, None]
    cost = np.zeros(tried.shape)
    for feature in range(replaced.shape[2]):
        column = np.stack([apart[:, :, feature], forbidden[:, :, feature]], axis=1)  # (a, 2, N)
        cost += column[row[:, :, None], replaced[:, :, feature, None].astype(np.int64), tried]
    best = np.argmin(cost, axis=2)
    return np.take_along_axis(tried, best[:, :, None], axis=2)[:, :, 0]


def _scores(cells: Array, space: FeatureSpace) -> Array:
    """(n, f) normal scores; those of cells beyond the reference data are those of its outermost cells."""
    least = 0.5 / len(space.background)
    return ndtri(np.clip(_ranks(cells, space), least, 1 - least))


def _shrunk_correlation(scores: Array) -> Array:
    """(f, f) correlations of the columns of (N, f) scores, shrunk towards 0."""
    centred = scores - scores.mean(axis=0)
    spread = np.sqrt(np.mean(centred**2, axis=0))
    standard = centred / np.where(spread > 0, spread, 1.0)
    size = len(scores)
    raw = products(standard.T) / size
    noise = size / (size - 1) ** 3 * ((standard**2).T @ standard**2 - size * raw**2)
    apart = ~np.eye(len(raw), dtype=bool)
    signal = np.sum(raw[apart] ** 2)
    shrinkage = np.clip(np.sum(noise[apart]) / signal if signal > 0 else 1.0, LEAST_SHRINKAGE, 1.0)
    return np.where(apart, (1 - shrinkage) * raw, 1.0)


def _conditional(correlation: Array, root: Array, random: Array, known: Array, kept: Flags) -> Array:
    """Draw (a, c, f) normal scores whose ``kept`` ones are known.

    A free draw is moved by what the known scores differ from it (Matheron's rule), which takes one linear system for
    each mask: that of the kept features, filled up by the identity.
    """
    n_features = len(correlation)
    free = random @ root.T
    gap = np.where(kept, known - free, 0.0).reshape(-1, n_features, 1)
    flat, solved = kept.reshape(-1, n_features), np.empty((free.size // n_features, n_features))
    for part in blocks(len(flat), MOST_CELLS // n_features**2):
        both = flat[part, :, None] & flat[part, None, :]
        solved[part] = np.linalg.solve(np.where(both, correlation, np.eye(n_features)), gap[part])[:, :, 0]
    return free + solved.reshape(free.shape) @ correlation
