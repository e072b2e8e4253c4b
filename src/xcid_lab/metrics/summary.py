"""Means with their uncertainty."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xcid.errors import InvalidParameter
from xcid.records import Array


class Interval(NamedTuple):
    """A mean and two standard errors of it."""

    mean: float
    margin: float

    def __str__(self) -> str:
        return f"{self.mean:.3f} ± {self.margin:.3f}"


def interval(figures: Any) -> Interval:
    """Mean of (n,) figures with 2σ/√n; of a single one nothing is known of its error."""
    values = _checked(figures)
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else np.inf
    return Interval(float(values.mean()), 2 * spread / float(np.sqrt(len(values))))


def paired(first: Any, second: Any) -> Interval:
    """Mean difference of two methods on the same rows, with 2σ/√n of the differences."""
    a, b = _checked(first), _checked(second)
    if len(a) != len(b):
        raise InvalidParameter(f"differences are those of the same rows, not of {len(a)} and {len(b)}")
    return interval(a - b)


def _checked(figures: Any) -> Array:
    values = np.asarray(figures, dtype=np.float64).ravel()
    if not len(values) or not np.isfinite(values).all():
        raise InvalidParameter("a mean needs at least one finite figure, and no others")
    return values
