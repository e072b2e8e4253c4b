"""Which features are truly among the largest."""

from __future__ import annotations

import numpy as np
from scipy import special

from xcid._check import as_int
from xcid._kernels.random import TOP, uniform
from xcid.errors import InvalidParameter
from xcid.records import Array, Explanation

NORMAL_95 = 1.959964
DRAWS = 400  # rankings that limits allow
MOST_CELLS = 2**22  # of draws held at a time


def in_top(explanation: Explanation, k: int) -> Array:
    """(n, d) probability that each feature is truly among the k largest, by drawing scores within their limits."""
    values, lower, upper = _limits(explanation)
    d = values.shape[1]
    if as_int(k, "k", at_least=1) > d:
        raise InvalidParameter(f"k must be at most the number of features, {d}, not {k}")
    centre, low, high = (_log_odds(part) for part in (values, lower, upper))
    error = (high - low) / (2 * NORMAL_95)
    draws = special.ndtri(uniform(TOP.bits(np.arange(DRAWS, dtype=np.uint64), np.arange(d, dtype=np.uint64))))
    result = np.empty(values.shape)
    block = max(1, MOST_CELLS // (DRAWS * d))
    for start in range(0, len(values), block):
        part = slice(start, start + block)
        drawn = np.abs(centre[part, None, :] + error[part, None, :] * draws)
        place = np.argsort(np.argsort(-drawn, axis=2, kind="stable"), axis=2)
        result[part] = np.mean(place < k, axis=1)
    return result


def top_agreement(explanation: Explanation, k: int) -> Array:
    """(n,) share of the k features with the largest scores that is truly among the k largest, as expected."""
    chosen = np.argsort(-np.abs(explanation.values), axis=1, kind="stable")[:, :k]
    share: Array = np.take_along_axis(in_top(explanation, k), chosen, axis=1).mean(axis=1)
    return share


def _limits(explanation: Explanation) -> tuple[Array, Array, Array]:
    if explanation.lower is None or explanation.upper is None:
        raise InvalidParameter("these scores have no limits: explain with a score that has, such as Adjusted()")
    return explanation.values, explanation.lower, explanation.upper


def _log_odds(values: Array) -> Array:
    """The inverse of the d1 of the symmetric two-point form."""
    return -2 * np.sign(values) * np.log1p(-np.minimum(np.abs(values), 1 - 1e-12))
