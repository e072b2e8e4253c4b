"""Do scores come out the same again, and how many of them are needed."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy as np

from xcid._check import as_float
from xcid.errors import InvalidParameter
from xcid.metrics._scores import matrix
from xcid.metrics.agreement import feature_agreement
from xcid.records import Array


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
