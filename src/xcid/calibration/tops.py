"""Which features are significant, and which are truly among the largest."""

from __future__ import annotations

import numpy as np
from scipy import special

from xcid._check import as_int
from xcid._kernels.random import TOP, uniform
from xcid.errors import InvalidParameter
from xcid.records import SIGNIFICANT, Array, Explanation, Flags

NORMAL_95 = 1.959964
DRAWS = 400  # rankings that limits allow
MOST_CELLS = 2**22  # of draws held at a time


def benjamini_hochberg(p_values: Array, can_change: Flags | None = None) -> Array:
    """(n, d) p-values adjusted for the number of features of each row, of those that can change where that is said.

    Features with an adjusted p-value below q have at most a share q of false discoveries among them (Benjamini and
    Hochberg, "Controlling the false discovery rate", JRSS B 1995).

    Examples
    --------
    >>> import numpy as np
    >>> benjamini_hochberg(np.array([[0.01, 0.02, 0.9, 0.04]])).round(4).tolist()
    [[0.04, 0.04, 0.9, 0.0533]]
    """
    counts = np.ones(p_values.shape, dtype=bool) if can_change is None else can_change
    found = np.where(counts, np.nan_to_num(p_values, nan=1.0), np.inf)
    order = np.argsort(found, axis=1, kind="stable")
    number = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    scaled = np.take_along_axis(found, order, axis=1) * (number / np.arange(1, 1 + found.shape[1]))
    least = np.minimum.accumulate(scaled[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty_like(found)
    np.put_along_axis(adjusted, order, np.minimum(least, 1.0), axis=1)
    return adjusted


def is_significant(p_values: Array, can_change: Flags | None = None) -> Flags:
    """(n, d) the one rule of significance: p-values corrected for the features of each row that can change.

    Of fifteen features that make no difference, some single p-value is small in every second row; the correction is
    that of :func:`benjamini_hochberg`, and the level 5%.

    Examples
    --------
    >>> import numpy as np
    >>> is_significant(np.array([[0.01, 0.02, 0.9, 0.04]])).tolist()
    [[True, True, False, False]]
    """
    return np.asarray(benjamini_hochberg(p_values, can_change) <= SIGNIFICANT)


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
