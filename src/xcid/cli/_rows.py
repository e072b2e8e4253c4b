"""Rows as they are typed: ``5``, ``0:10``, ``3,5,9``, ``-3:`` or a condition on columns."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import Any

from xcid.errors import InvalidParameter

HELP = "which rows: 0:10, 3,5,9, -3: or a condition on columns such as 'age > 60'"
_PART = r"-?\d+|-?\d*:-?\d*(:-?\d*)?"
_PLACES = re.compile(rf"({_PART})(,({_PART}))*")


def rows(text: str) -> str:
    """Check what is typed: positions, which count from 0, and below 0 from the end; or a condition."""
    if not _PLACES.fullmatch(text):
        from xcid.files.conditions import condition

        try:
            condition(text)
        except InvalidParameter as error:
            places = "0:10 for the first ten, 3,5,9 for some, -3: for the last three"
            raise argparse.ArgumentTypeError(f"{error}; or places: {places}".replace("%", "%%")) from error
    return text


def chosen(text: str, size: int, frame: Callable[[], Any]) -> Sequence[int]:
    """Positions of the selected rows of a table, which must have some; only a condition needs its cells.

    Examples
    --------
    >>> chosen("-3:", 10, list), chosen("3,5,9,3", 10, list)
    (range(7, 10), (3, 5, 9))
    """
    if not _PLACES.fullmatch(text):
        from xcid.files.conditions import rows_where

        found: Sequence[int] = rows_where(text, frame())
        if not found:
            raise InvalidParameter(f"--rows {text!r:.80} holds for none of the {size:,} rows")
        return _as_range(found)
    parts = [_places(part, size) for part in text.split(",")]
    empty = next((part for part, positions in zip(text.split(","), parts, strict=True) if not positions), None)
    if empty is not None:
        raise InvalidParameter(
            f"--rows {empty} selects none of the {size:,} rows, whose positions go from 0 to {size - 1}"
        )
    return parts[0] if len(parts) == 1 else tuple(dict.fromkeys(row for part in parts for row in part))


def _places(part: str, size: int) -> range:
    if ":" not in part:
        return range(size)[int(part) : int(part) + 1 or None]
    where = slice(*(int(number) if number else None for number in part.split(":")))
    if where.step == 0:
        raise InvalidParameter("rows cannot be counted in steps of 0")
    return range(size)[where]


def _as_range(rows: Sequence[int]) -> Sequence[int]:
    """Neighbours as a range; else a tuple."""
    whole = range(rows[0], rows[-1] + 1)
    return whole if len(whole) == len(rows) else tuple(rows)
