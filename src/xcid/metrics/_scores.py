"""Scores of any method as a matrix, checked."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid.errors import InvalidParameter
from xcid.records import Array


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
