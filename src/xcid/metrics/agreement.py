"""How far two rankings agree, row by row."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._check import as_int
from xcid.errors import InvalidParameter
from xcid.metrics._scores import matrix
from xcid.records import Array, Flags, Integers


def feature_agreement(scores_a: Any, scores_b: Any, k: int = 4) -> Array:
    """(n,) share of features that both top-k sets have; ranks are those of the absolute scores.

    Examples
    --------
    >>> feature_agreement([[3.0, -2.0, 1.0, 0.0]], [[1.0, 3.0, 2.0, 0.0]], k=2).tolist()
    [0.5]
    """
    a, b = _deep(scores_a, scores_b, k)
    return _share(_in_top(a, k) & _in_top(b, k), k)


def rank_agreement(scores_a: Any, scores_b: Any, k: int = 4) -> Array:
    """(n,) share of the first k places that hold the same feature in both."""
    a, b = _deep(scores_a, scores_b, k)
    return _share(_order(a)[:, :k] == _order(b)[:, :k], k)


def sign_agreement(scores_a: Any, scores_b: Any, k: int = 4) -> Array:
    """(n,) share of features that both top-k sets have with the same sign."""
    a, b = _deep(scores_a, scores_b, k)
    return _share(_in_top(a, k) & _in_top(b, k) & (np.sign(a) == np.sign(b)), k)


def kendall_tau(scores_a: Any, scores_b: Any) -> Array:
    """(n,) Kendall's tau-b of the absolute scores: 1 for the same order, -1 for the opposite one.

    0 where one of the rankings says nothing at all (all scores equal).
    """
    a, b = (np.abs(part) for part in _pair(scores_a, scores_b))
    first, second = np.triu_indices(a.shape[1], k=1)
    up_a, up_b = (np.sign(part[:, first] - part[:, second]) for part in (a, b))
    scale = np.sqrt(np.sum(up_a != 0, axis=1) * np.sum(up_b != 0, axis=1))
    return np.divide(np.sum(up_a * up_b, axis=1), scale, out=np.zeros(len(a)), where=scale > 0)


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


def _share(hits: Flags, k: int) -> Array:
    return hits.sum(axis=1) / k


def _order(scores: Array) -> Integers:
    return np.argsort(-np.abs(scores), axis=1, kind="stable")


def _in_top(scores: Array, k: int) -> Flags:
    inside = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(inside, _order(scores)[:, :k], True, axis=1)
    return inside
