"""A few of many rows."""

from __future__ import annotations

import numpy as np

from xcid.records import Integers


def thinned(size: int, most: int) -> Integers:
    """Positions of at most so many rows, evenly spread.

    Examples
    --------
    >>> thinned(9, 3).tolist()
    [0, 4, 8]
    """
    return np.linspace(0, size - 1, min(size, most)).round().astype(np.int64)
