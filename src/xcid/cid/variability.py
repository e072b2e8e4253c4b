"""The paper's simpler heuristic, before any density."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xcid.errors import InvalidData
from xcid.records import Array


def variability(positive: npt.ArrayLike, negative: npt.ArrayLike) -> Array:
    """Compute (1/m) Σ (x+ - x-)², the mean squared difference of paired counterfactuals, for each feature.

    It knows nothing of the distribution, depends on how the sets are ordered, and has the squared unit of the feature.

    Parameters
    ----------
    positive, negative : (m, d) or (m,)
        As many counterfactuals of C+ as of C-, in any order that is fixed.

    Returns
    -------
    (d,) or ()

    Examples
    --------
    >>> variability([[1.0, 0.0], [2.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]).tolist()
    [2.5, 0.5]
    """
    try:
        first, second = (np.asarray(part, dtype=np.float64) for part in (positive, negative))
    except (TypeError, ValueError) as error:
        raise InvalidData(f"counterfactuals must be numbers: {error}") from error
    if first.shape != second.shape or first.ndim not in (1, 2) or not len(first):
        raise InvalidData(f"give as many positives as negatives, (m, d) each, not {first.shape} and {second.shape}")
    return np.asarray(np.mean((first - second) ** 2, axis=0))
