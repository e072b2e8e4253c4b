"""Weights of background rows: a row of weight k stands for k rows, and so it becomes k rows.

Whatever is learnt or drawn from the background then heeds the weights, and nothing behind this room has to know them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array, Integers

ROWS_EACH = 4  # rows that stand for one, on average, where there are many
ROWS = 4_096  # that stand for all where there are few
MOST_CELLS = 2**24  # of these
EQUAL = 1e-9  # relative difference of numbers that are meant to be the same
DECIMALS = 6  # of a place among the rows: a sum that is off in the last digit is the same place


class Weighted(NamedTuple):
    """Which of the given rows count, and how much."""

    kept: Integers  # (k,) positions of the rows that have a weight
    shares: Array | None  # (k,) of them in the whole; None where no weights are given, or all are the same
    copied: Integers  # (N,) which of the kept rows each background row is


def weighted(weights: Any, background: Any, n_rows: int, n_columns: int) -> Weighted:
    """Check the weights of a table's rows, and turn them into rows of equal weight."""
    everyone = np.arange(n_rows)
    given = np.ones(n_rows) if weights is None else _checked(weights, background, n_rows)
    relative = given / given.max()
    kept = np.flatnonzero(relative)
    if len(kept) < min(2, n_rows):
        raise InvalidData("one reference row alone has a weight above 0: give at least 2, better some hundreds")
    if (relative == 1).all():
        return Weighted(everyone, None, everyone)
    most = max(ROWS_EACH * len(kept), min(ROWS, MOST_CELLS // n_columns))
    shares = relative[kept] / relative.sum()
    return Weighted(kept, shares, np.repeat(np.arange(len(kept)), copies(shares, most)))


def copies(shares: Array, most: int) -> Integers:
    """(k,) how many of at most so many rows each of (k,) shares above 0 gets.

    They are exact where the shares are whole numbers of some unit, and few enough of them. Else rows are taken at even
    steps along the sum of the shares: any run of rows is off by less than one row.

    Examples
    --------
    >>> copies(np.array([0.2, 0.2, 0.6]), most=100).tolist()
    [1, 1, 3]
    >>> copies(np.array([0.5, 0.2, 0.2999]), most=10).tolist()
    [5, 2, 3]
    """
    with np.errstate(over="ignore"):
        units = shares / shares.min()
        most_units = int(most / units.sum())
    for size in range(1, most_units + 1):
        counts = np.rint(size * units)
        if np.allclose(size * units, counts, rtol=EQUAL, atol=0):
            return counts.astype(np.int64)
    ends = np.round(np.cumsum(shares) / shares.sum() * most, DECIMALS)
    return np.diff(np.floor(ends + 0.5), prepend=0.0).astype(np.int64)


def _checked(weights: Any, background: Any, n_rows: int) -> Array:
    """(N,) weights from 0 up, of which one at least is above 0."""
    names, own = getattr(weights, "index", None), getattr(background, "index", None)
    if names is not None and hasattr(names, "equals") and hasattr(own, "equals") and not names.equals(own):
        raise InvalidParameter(
            "the weights have another index than the reference rows: give weights.loc[background.index], or "
            "weights.to_numpy() where they stand in the same order"
        )
    wanted = f"weights must be one number for each of the {n_rows} reference rows"
    try:
        given = np.ma.asarray(weights)
        cells = np.ma.filled(given.astype(np.float64), np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"{wanted} ({error})") from error
    if given.dtype.kind not in "fiubO" or any(isinstance(cell, str) for cell in given.ravel().tolist()):
        raise InvalidParameter(f"{wanted}, not text or dates")
    if cells.shape != (n_rows,):
        raise InvalidParameter(f"{wanted}, not a {type(weights).__name__} of shape {cells.shape}")
    wrong = np.flatnonzero(~((cells >= 0) & (cells < np.inf)))
    if wrong.size:
        raise InvalidParameter(
            f"weights must be finite numbers from 0 up, and that of row {wrong[0]} is {cells[wrong[0]]:g} "
            f"({wrong.size} such weights in all)"
        )
    if not cells.any():
        raise InvalidParameter(f"all {n_rows} weights are 0: no reference row is left")
    return cells
