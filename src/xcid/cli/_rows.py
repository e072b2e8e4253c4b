"""Rows as they are typed: ``5``, ``0:10``, ``3,5,9``, ``-3:`` or a condition on columns."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from xcid.errors import InvalidParameter

if TYPE_CHECKING:
    from xcid.cli._subjects import SubjectOptions
    from xcid.io.readers import Background

HELP = "which rows: 0:10, 3,5,9, -3: or a condition on columns such as 'age > 60'; with --id also names of rows"
_PART = r"-?\d+|-?\d*:-?\d*(:-?\d*)?"
_PLACES = re.compile(rf"({_PART})(,({_PART}))*")
_NAME = r"[^\s,<>=!'\"()\[\]`]+"
_NAMES = re.compile(rf"{_NAME}(,\s*{_NAME})*")
PLACES = "0:10 for the first ten, 3,5,9 for some, -3: for the last three"
MOST_COMPARED = 10_000  # names that are looked through for one that was meant


def read_rows_option(text: str) -> str:
    """Check what is typed: positions, which count from 0, and below 0 from the end; a condition; or names of rows."""
    text = text.strip()
    if not (_PLACES.fullmatch(text) or _NAMES.fullmatch(text)):
        from xcid.io.conditions import condition

        try:
            condition(text)
        except InvalidParameter as error:
            places = "" if str(error).endswith("?") else f"; or places: {PLACES}"
            raise argparse.ArgumentTypeError(f"{error}{places}") from error
    return text


def are_names(text: str) -> bool:
    """Whether rows can only be meant by their names: the words are neither positions nor a condition."""
    return _NAMES.fullmatch(text) is not None and not _PLACES.fullmatch(text)


def describe_missing_id(text: str) -> str:
    """What is said where names of rows are typed and no column holds them."""
    what = f"--rows {text!r:.80} is neither places ({PLACES}) nor a condition (such as age > 60)"
    return f"{what}; to call rows by their names, name the column of these with --id"


def find_positions(subject: SubjectOptions, background: Background, n_rows: int) -> Sequence[int]:
    """Positions of the rows that were typed; a condition may be about any column of the file."""
    from xcid.io.readers import dated, opened
    from xcid.io.rows import names_of

    path = subject.data or subject.reference
    names = None if subject.id is None else lambda: names_of(opened(path), background.layout)
    return select_rows(subject.rows or ":", n_rows, lambda: dated(opened(path), background.writings), names)


def select_rows(
    text: str, size: int, frame: Callable[[], Any], names: Callable[[], Sequence[str]] | None = None
) -> Sequence[int]:
    """Positions of the selected rows of a table, which must have some; only a condition needs its cells.

    Examples
    --------
    >>> select_rows("-3:", 10, list), select_rows("3,5,9,3", 10, list), select_rows("b", 2, list, lambda: ["a", "b"])
    (range(7, 10), (3, 5, 9), (1,))
    """
    if are_names(text):
        if names is None:
            raise InvalidParameter(describe_missing_id(text))
        return _find_names([part.strip() for part in text.split(",")], names())
    if not _PLACES.fullmatch(text):
        from xcid.io.conditions import rows_where

        found: Sequence[int] = rows_where(text, frame())
        if not found:
            raise InvalidParameter(f"--rows {text!r:.80} holds for none of the {size:,} rows")
        return _as_range(found)
    parts = [_read_places(part, size) for part in text.split(",")]
    empty = next((part for part, positions in zip(text.split(","), parts, strict=True) if not positions), None)
    if empty is not None:
        known = f"the {size:,} rows, whose positions go from 0 to {size - 1}"
        advice = "; to find a number in the column of --id, type a condition such as 'customer == 120'"
        named = "" if names is None else advice
        raise InvalidParameter(f"--rows {empty} selects none of {known}{named}")
    return parts[0] if len(parts) == 1 else tuple(dict.fromkeys(row for part in parts for row in part))


def _find_names(typed: Sequence[str], names: Sequence[str]) -> Sequence[int]:
    """Positions of the rows with some names, which all must be there."""
    from xcid._check import meant

    wanted = set(typed)
    found = tuple(row for row, name in enumerate(names) if name in wanted)
    known = {names[row] for row in found}
    for name in typed:
        if name not in known:
            close = meant(name, names[:MOST_COMPARED])
            raise InvalidParameter(f"--rows {name!r:.80} is the name of none of the {len(names):,} rows{close}")
    return found


def _read_places(part: str, size: int) -> range:
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
