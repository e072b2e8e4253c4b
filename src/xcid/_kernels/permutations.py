"""Means of two groups of rows compared: by dealing the rows out anew, a studentised permutation test, else by t.

Where the rows of both groups come from one population, every way to deal them out is as likely as the one that is seen:
the test is then exact for groups of any sizes and values of any distribution, rare levels among them. A difference is
divided by the standard error that Welch's t gives it, so that it also holds where the variances differ (Janssen 1997;
Chung and Romano 2013). Both tails are judged by themselves: in a small group beside a large one they are not alike.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain, combinations
from math import comb
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse, special

from xcid._kernels.arrays import blocks, ratio
from xcid._kernels.random import count_variants
from xcid.records import Array, Integers

Kind: TypeAlias = Literal["groups", "pairs", "rows"]  # that are compared
DRAWS = 4000  # ways to deal the rows out, or all there are
MOST_ROWS = 1000  # of the smaller group; beyond, a mean is as good as normal
SEED = 81  # of the draws: rows are put into an order of their own, so that the same rows get the same draws
SURE = 20  # draws beyond a statistic from which on their share is its p-value; below, a Student tail goes on from there
LARGEST = 1e6  # of a statistic: one without any error is infinite
MOST_CELLS = 2**21
LEVEL = 0.05
CONFIDENCE = 0.95
ROUNDING = 1e-9  # of the largest contribution
NORMAL = float(special.ndtri((1 + CONFIDENCE) / 2))
WIDEST = float(special.stdtrit(1, (1 + CONFIDENCE) / 2))  # errors that limits are away at most, those of two rows


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


class RowValues(NamedTuple):
    """(n, d) values in their unit, and the standard errors that their limits stand for."""

    values: Array
    errors: Array


class _Error(NamedTuple):
    """(d,) variance that is seen in how rows differ, with its degrees of freedom, and (d,) what is not seen in it."""

    seen: Array
    freedom: int
    unseen: Array


def compare_means(kind: Kind, first: RowValues, second: RowValues, shares_plans: bool) -> dict[str, Any]:
    """Means, their difference, its limits and p-values."""
    before, after = (one.values.mean(axis=0) for one in (first, second))
    difference = _drop_rounding(after - before, (first, second))
    errors = [_estimate_error(*one, shares_plans) for one in (first, second)]
    if kind == "pairs":
        errors = [_pair_errors(first, second, shares_plans)]
    if kind == "groups" and 1 < min(len(first.values), len(second.values)) <= MOST_ROWS:
        lower, upper, p_values = _limit_by_dealing(difference, first, second, errors)
    else:
        lower, upper, p_values = _limit_by_t(difference, errors)
    limits = {"lower": lower, "upper": upper, "p_values": p_values}
    return {"first": before, "second": after, "difference": difference, **limits}


def _estimate_error(values: Array, errors: Array, shares_plans: bool) -> _Error:
    """The error of a mean over rows; that of a single row is what its limits say."""
    n = len(values)
    seen = values.var(axis=0, ddof=1) / n if n > 1 else np.zeros(values.shape[1])
    return _Error(seen, max(n - 1, 1), np.zeros_like(seen) if shares_plans and n > 1 else _share_error(errors))


def _pair_errors(first: RowValues, second: RowValues, shares_plans: bool) -> _Error:
    """The error of a mean of differences row by row."""
    found = _estimate_error(second.values - first.values, first.errors, shares_plans)
    return found if shares_plans else found._replace(unseen=found.unseen + _share_error(second.errors))


def _share_error(errors: Array) -> Array:
    """(d,) variance of the mean of (n, d) errors that are the same for all rows of a plan."""
    alone = 1 / count_variants(errors.shape[1])
    of_plans = alone + (1 - alone) / len(errors)
    return np.mean(errors**2, axis=0) * of_plans


def _drop_rounding(difference: Array, measured: tuple[RowValues, RowValues]) -> Array:
    """(d,) differences, 0 where they are no more than what rounding leaves: exact values have no other error."""
    largest = max(float(np.abs(one.values).max(initial=0.0)) for one in measured)
    return np.where(np.abs(difference) <= ROUNDING * largest, 0.0, difference)


def _limit_by_dealing(
    difference: Array, first: RowValues, second: RowValues, errors: list[_Error]
) -> tuple[Array, Array, Array]:
    """Limits and p-values of the difference of two groups, by all ways to deal out their rows."""
    nothing = np.zeros_like(difference)
    seen, unseen = sum((one.seen for one in errors), nothing), sum((one.unseen for one in errors), nothing)
    dealt = deal_out(second.values, first.values, unseen)
    error = np.sqrt(seen + unseen)
    low, high = (np.clip(end, -WIDEST, WIDEST) * error for end in (dealt.low, dealt.high))
    p_values = np.where(difference == 0, 1.0, dealt.p_values)
    return difference - np.maximum(high, 0.0), difference - np.minimum(low, 0.0), p_values


def _limit_by_t(difference: Array, errors: list[_Error]) -> tuple[Array, Array, Array]:
    """Limits and p-values of a difference, by Student's t with Welch and Satterthwaite's degrees of freedom."""
    variance = sum((part.seen + part.unseen for part in errors), np.zeros_like(difference))
    of_variance = sum((part.seen**2 / part.freedom for part in errors), np.zeros_like(difference))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        freedom = np.where(of_variance > 0, variance**2 / of_variance, np.inf)
        error = np.sqrt(variance)
        quantile = np.where(np.isinf(freedom), NORMAL, special.stdtrit(freedom, (1 + CONFIDENCE) / 2))
        reach = np.where(error > 0, quantile * error, 0.0)
        chance = np.where(
            np.isinf(freedom), special.ndtr(-ratio(np.abs(difference), error)),
            special.stdtr(freedom, -ratio(np.abs(difference), error)),
        )  # fmt: skip
    p_values = np.where((difference != 0) & (error == 0), 0.0, 2 * chance)
    return difference - reach, difference + reach, p_values
