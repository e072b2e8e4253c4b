"""How far two rankings agree, row by row; whether scores come out the same again, and how many of them are needed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from xcid._check import as_float, as_int
from xcid.errors import InvalidParameter
from xcid.records import Array, Flags, Integers


def feature_agreement(scores_a: Any, scores_b: Any, k: int = 4) -> Array:
    """(n,) share of features that both top-k sets have; ranks are those of the absolute scores.

    Examples
    --------
    >>> feature_agreement([[3.0, -2.0, 1.0, 0.0]], [[1.0, 3.0, 2.0, 0.0]], k=2).tolist()
    [0.5]
    """
    a, b = _deep(scores_a, scores_b, k)
    return np.sum(_in_top(a, k) & _in_top(b, k), axis=1) / k


def rank_agreement(scores_a: Any, scores_b: Any, k: int = 4) -> Array:
    """(n,) share of the first k places that hold the same feature in both."""
    a, b = _deep(scores_a, scores_b, k)
    return np.sum(_order(a)[:, :k] == _order(b)[:, :k], axis=1) / k


def sign_agreement(scores_a: Any, scores_b: Any, k: int = 4) -> Array:
    """(n,) share of features that both top-k sets have with the same sign."""
    a, b = _deep(scores_a, scores_b, k)
    return np.sum(_in_top(a, k) & _in_top(b, k) & (np.sign(a) == np.sign(b)), axis=1) / k


def kendall_tau(scores_a: Any, scores_b: Any) -> Array:
    """(n,) Kendall's tau-b of the absolute scores: 1 for the same order, -1 for the opposite one.

    0 where one of the rankings says nothing at all (all scores equal).
    """
    a, b = (np.abs(part) for part in _pair(scores_a, scores_b))
    first, second = np.triu_indices(a.shape[1], k=1)
    up_a, up_b = (np.sign(part[:, first] - part[:, second]) for part in (a, b))
    scale = np.sqrt(np.sum(up_a != 0, axis=1) * np.sum(up_b != 0, axis=1))
    return np.divide(np.sum(up_a * up_b, axis=1), scale, out=np.zeros(len(a)), where=scale > 0)


def stability(runs: Any, k: int = 4, agreement: Callable[..., Array] = feature_agreement) -> Array:
    """(n,) mean agreement of all pairs of (r, n, d) runs of the same rows: other seeds, or inputs with a little noise.

    Parameters
    ----------
    runs : (r, n, d)
        Scores of at least two runs.
    k : int
    agreement : callable
        ``agreement(scores_a, scores_b, k) -> (n,)``.
    """
    scores = np.asarray(runs, dtype=np.float64)
    if scores.ndim != 3 or len(scores) < 2:
        raise InvalidParameter(f"stability compares at least two runs, (runs, rows, features), not {scores.shape}")
    return np.mean([agreement(a, b, k) for a, b in combinations(scores, 2)], axis=0)


def sparsity(scores: Any, share: float = 0.9) -> Array:
    """(n,) how many features it takes to have a share of the sum of absolute scores; 0 where all scores are 0.

    Examples
    --------
    >>> sparsity([[6.0, 3.0, 0.5, 0.5], [1.0, 1.0, 1.0, 1.0]]).tolist()
    [2.0, 4.0]
    """
    if not 0 < as_float(share, "share") <= 1:
        raise InvalidParameter(f"share must lie in (0, 1], not {share}")
    size = -np.sort(-np.abs(matrix(scores)), axis=1)
    total = np.cumsum(size, axis=1)
    needed = 1.0 + np.sum(total < share * total[:, -1:] * (1 - 1e-12), axis=1)
    return np.where(total[:, -1] > 0, needed, 0.0)


def matrix(scores: Any) -> Array:
    """(n, d) finite numbers; (d,) are those of one row.

    Examples
    --------
    >>> matrix([0.5, -0.2]).shape
    (1, 2)
    >>> matrix([[0.5, float("nan")]])
    Traceback (most recent call last):
        ...
    xcid.errors.InvalidParameter: scores must be finite numbers
    """
    try:
        numbers = np.atleast_2d(np.asarray(scores, dtype=np.float64))
    except (TypeError, ValueError) as error:
        raise InvalidParameter(
            f"scores must be a matrix of numbers, such as explanation.values, not {type(scores).__name__} ({error})"
        ) from error
    if numbers.ndim != 2:
        raise InvalidParameter(f"scores must be (rows, features), not of shape {numbers.shape}")
    if not np.isfinite(numbers).all():
        raise InvalidParameter("scores must be finite numbers")
    return numbers


def _pair(scores_a: Any, scores_b: Any) -> tuple[Array, Array]:
    a, b = matrix(scores_a), matrix(scores_b)
    if a.shape != b.shape:
        raise InvalidParameter(f"scores of the same rows and features are compared, not {a.shape} and {b.shape}")
    return a, b


def _deep(scores_a: Any, scores_b: Any, k: int) -> tuple[Array, Array]:
    """Scores of at least k features."""
    a, b = _pair(scores_a, scores_b)
    if as_int(k, "k", at_least=1) > a.shape[1]:
        raise InvalidParameter(f"k must be at most the number of features, {a.shape[1]}, not {k}")
    return a, b


def _order(scores: Array) -> Integers:
    return np.argsort(-np.abs(scores), axis=1, kind="stable")


def _in_top(scores: Array, k: int) -> Flags:
    return np.argsort(_order(scores), axis=1) < k
