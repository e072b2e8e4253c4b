"""Means of two groups of rows compared by dealing the rows out anew: a studentised permutation test.

Where the rows of both groups come from one population, every way to deal them out is as likely as the one that is seen:
the test is then exact for groups of any sizes and values of any distribution, rare levels among them. A difference is
divided by the standard error that Welch's t gives it, so that it also holds where the variances differ (Janssen 1997;
Chung and Romano 2013). Both tails are judged by themselves: in a small group beside a large one they are not alike.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, combinations
from math import comb
from typing import NamedTuple

import numpy as np
from scipy import sparse, special

from xcid._kernels.arrays import blocks
from xcid.records import Array, Integers

DRAWS = 4000  # ways to deal the rows out, or all there are
MOST_ROWS = 1000  # of the smaller group; beyond, a mean is as good as normal
SEED = 81  # of the draws: rows are put into an order of their own, so that the same rows get the same draws
SURE = 20  # draws beyond a statistic from which on their share is its p-value; below, a Student tail goes on from there
LARGEST = 1e6  # of a statistic: one without any error is infinite
MOST_CELLS = 2**21
LEVEL = 0.05


class Dealt(NamedTuple):
    """(d,) two-sided p-values, and (d,) quantiles of the statistic at 2.5% and 97.5% where nothing differs."""

    p_values: Array
    low: Array
    high: Array


def deal_out(first: Array, second: Array, unseen: Array) -> Dealt:
    """Test whether the means of (n, d) and (m, d) values differ; ``unseen`` (d,) is variance that rows do not show."""
    if len(first) > len(second):
        p_values, low, high = deal_out(second, first, unseen)
        return Dealt(p_values, -high, -low)
    pooled, m = np.concatenate([first, second]), len(first)
    order = np.lexsort(pooled.T)
    members = np.concatenate([np.flatnonzero(order < m)[None], _draw(len(pooled), m)])
    parts = [
        _judge(pooled[order][:, part], members, unseen[part])
        for part in blocks(pooled.shape[1], max(1, MOST_CELLS // len(members)))
    ]
    return Dealt(*(np.concatenate(part) for part in zip(*parts, strict=True)))


@lru_cache(maxsize=1)
def _draw(n: int, m: int) -> Integers:
    """(draws, m) rows of the smaller group: all ways there are, or some by chance."""
    count = comb(n, m)
    if count <= DRAWS:
        every = np.fromiter(chain.from_iterable(combinations(range(n), m)), np.int64, count * m)
        return every.reshape(count, m)
    random, draws = np.random.default_rng(SEED), DRAWS // 2 if n == 2 * m else DRAWS
    return np.array([random.choice(n, m, replace=False, shuffle=False) for _ in range(draws)])


def _judge(values: Array, members: Integers, unseen: Array) -> Dealt:
    """P-values of the first of the draws among all of them."""
    n, m = len(values), members.shape[1]
    spread = values.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)
    centred = (values - values.mean(axis=0)) / scale
    found = _studentised(centred, members, unseen / scale**2)
    seen, others = found[0], found[1:] if len(members) > comb(n, m) else found
    if n == 2 * m:  # the other half of the rows is as likely to be the first group
        others = np.concatenate([others, -others])
    others = np.sort(others, axis=0)
    tails = [_tail(seen, others, m), _tail(-seen, -others[::-1], m)]
    fewest = 1 / comb(n, m) if comb(n, m) < 10**300 else 0.0
    p_values = np.clip(2 * np.minimum(*tails), fewest, 1.0)
    low, high = np.quantile(others, (LEVEL / 2, 1 - LEVEL / 2), axis=0, method="inverted_cdf")
    return Dealt(np.where(spread > 0, p_values, 1.0), low, high)


def _studentised(values: Array, members: Integers, unseen: Array) -> Array:
    """(draws, d) differences of means by their standard errors, the rows given less the others."""
    draws, m = members.shape
    n, d = values.shape
    chosen = sparse.csr_array(
        (np.ones(members.size), members.ravel(), np.arange(0, members.size + 1, m)), shape=(draws, n)
    )
    both = np.column_stack([values, values**2])
    inside = chosen @ both
    outside = both.sum(axis=0) - inside
    means, variances = [], np.zeros((draws, d))
    for part, size in ((inside, m), (outside, n - m)):
        mean = part[:, :d] / size
        means.append(mean)
        variances += np.maximum(part[:, d:] / size - mean**2, 0.0) / (size - 1)
    noise = np.random.default_rng(SEED).normal(size=(draws, 1)) * np.sqrt(unseen)
    noise[0] = 0.0  # what was seen has its own
    error = np.maximum(np.sqrt(variances + unseen), 1e-9)
    return np.clip((means[0] - means[1] + noise) / error, -LARGEST, LARGEST)


def _tail(seen: Array, others: Array, m: int) -> Array:
    """(d,) share of the sorted (draws, d) statistics above what was seen; those that equal it count one half."""
    slack = 1e-9 * (1 + np.abs(seen))
    draws = len(others)
    share = ((others > seen + slack).sum(axis=0) + (others >= seen - slack).sum(axis=0)) / (2 * draws)
    if draws <= SURE:
        return np.asarray(share)
    start = others[-SURE]
    further = special.stdtr(m - 1, -seen) / special.stdtr(m - 1, -start)
    goes_on = (seen > start + slack) & (start > 0)
    return np.where(goes_on, np.minimum(share, (SURE - 0.5) / draws * further), share)
