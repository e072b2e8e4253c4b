"""Rows as they are typed: 5, 0:10, :3, -3:."""

from __future__ import annotations

import argparse
import re

from xcid.errors import InvalidParameter

_ROWS = re.compile(r"-?\d+|-?\d*:-?\d*(:-?\d*)?")


def rows(text: str) -> slice:
    """Read positions of rows, counted from 0; below 0 from the end.

    Examples
    --------
    >>> rows("0:10"), rows("-3:"), rows("5"), rows("-1")
    (slice(0, 10, None), slice(-3, None, None), slice(5, 6, None), slice(-1, None, None))
    """
    if not _ROWS.fullmatch(text):
        raise argparse.ArgumentTypeError(
            f"{text!r} are no rows: type 5 for one, 0:10 for the first ten, -3: for the last"
        )
    if ":" not in text:
        return slice(int(text), int(text) + 1 or None)
    return slice(*(int(part) if part else None for part in text.split(":")))


def chosen(selection: slice, size: int) -> range:
    """Positions of the selected rows of a table; it must have some."""
    if selection.step == 0:
        raise InvalidParameter("rows cannot be counted in steps of 0")
    positions = range(size)[selection]
    if not positions:
        start, stop = ("" if part is None else str(part) for part in (selection.start, selection.stop))
        raise InvalidParameter(
            f"--rows {start}:{stop} selects none of the {size} rows, whose positions go from 0 to {size - 1}"
        )
    return positions
