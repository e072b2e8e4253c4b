"""Which features are significant: the level, and p-values that count how many were tested."""

from __future__ import annotations

import numpy as np

from xcid.records.arrays import Array, Flags

SIGNIFICANT = 0.05  # a feature with a larger p-value, corrected for the features of its row, is not significant


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
