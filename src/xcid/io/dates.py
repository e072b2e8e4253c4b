"""Dates in text: in which writing all cells of a column are dates, and which dates they are.

A column of a text file is looked through as a whole: 01/06/2023 says by itself neither which day nor which month it is.
Nor does 31.12.2023 tell: who puts the day first between dots may put the month first between slashes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import narwhals.stable.v2 as nw

Writing: TypeAlias = Literal[
    "2023-12-31", "2023-12-31T00:00Z", "31.12.2023", "31/12/2023", "31-12-2023", "12/31/2023", "12-31-2023"
]
ISO: Writing = "2023-12-31"
ZONED: Writing = "2023-12-31T00:00Z"
DAY_FIRST: dict[str, Writing] = {".": "31.12.2023", "/": "31/12/2023", "-": "31-12-2023"}  # by what parts it
MONTH_FIRST: dict[str, Writing] = {"/": "12/31/2023", "-": "12-31-2023"}
WRITINGS: frozenset[Writing] = frozenset((ISO, ZONED, *DAY_FIRST.values(), *MONTH_FIRST.values()))
MOST_LETTERS = 32
_ONLY_ISO = frozenset((ISO,))
_TIME = r"\d\d:\d\d(:\d\d(\.\d{1,6})?)?"
_ISO = re.compile(rf"\d{{4}}-\d\d-\d\d([T ]{_TIME}(?P<zone>Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
_OTHER = re.compile(rf"(\d\d?)([./-])(\d\d?)\2(\d{{4}})(?: ({_TIME}))?", re.ASCII)


@lru_cache(maxsize=2**14)
def readings(text: str) -> dict[Writing, datetime]:
    """The dates that a text can be, by the writing; times with a zone are in UTC. Dots put the day first.

    Examples
    --------
    >>> sorted(readings("01/06/2023")), sorted(readings("31/12/2023")), sorted(readings("soon"))
    (['12/31/2023', '31/12/2023'], ['31/12/2023'], [])
    """
    if len(text) > MOST_LETTERS:
        return {}
    if found := _ISO.fullmatch(text):
        return dict.fromkeys([ZONED if found["zone"] else ISO], when) if (when := _moment(text)) else {}
    if found := _OTHER.fullmatch(text):
        first, mark, second, year, time = found.group(1, 2, 3, 4, 5)
        orders = {DAY_FIRST[mark]: (second, first)}
        if mark in MONTH_FIRST:
            orders[MONTH_FIRST[mark]] = first, second
        made = {
            writing: _moment(f"{year}-{month:0>2}-{day:0>2}T{time or '00:00'}")
            for writing, (month, day) in orders.items()
        }
        return {writing: when for writing, when in made.items() if when is not None}
    return {}


def _moment(text: str) -> datetime | None:
    """The moment that a text in ISO's writing stands for; None where there is no such day."""
    try:
        when = datetime.fromisoformat(text)
        return when if when.tzinfo is None else when.astimezone(UTC).replace(tzinfo=None)
    except (ValueError, OverflowError):
        return None


def find_shared_writings(texts: Iterable[str], possible: frozenset[Writing] = WRITINGS) -> frozenset[Writing]:
    """The writings, of those that are possible, in which all texts are dates."""
    for text in texts:
        if possible == _ONLY_ISO:  # often times, which hardly repeat
            possible = possible if _is_iso(text) else frozenset()
        else:
            possible = possible.intersection(readings(text))
        if not possible:
            break
    return possible


def _is_iso(text: str) -> bool:
    found = _ISO.fullmatch(text)
    return found is not None and not found["zone"] and _moment(text) is not None


def choose_writing(found: frozenset[Writing], usual: Writing) -> Writing:
    """The writing of a column, of those that it may have; where they leave a choice, the usual one."""
    return next(iter(found)) if len(found) == 1 else usual


def day_first(found: frozenset[Writing]) -> Writing:
    """The writing, of those that a column may have, that puts the day first."""
    return next((writing for writing in DAY_FIRST.values() if writing in found), DAY_FIRST["."])


def find_swapped(found: frozenset[Writing], writing: Writing) -> Writing | None:
    """The one writing of a column that has day and month the other way round than this one, if it has."""
    (only,) = found if len(found) == 1 else (ISO,)
    return only if {only[:2], writing[:2]} == {"31", "12"} else None


def convert_dates(frame: Any, writings: Mapping[str, Writing]) -> Any:
    """The frame, with dates in place of the text of some columns; their cells must be such dates."""
    narwhal = nw.from_native(frame, eager_only=True)
    columns = [_dates(narwhal.get_column(name), writing) for name, writing in writings.items()]
    return narwhal.with_columns(*columns).to_native() if columns else frame


def _dates(column: nw.Series[Any], writing: Writing) -> nw.Series[Any]:
    holes, cells = column.is_null().to_list(), column.to_list()
    moments = [None if hole else readings(cell)[writing] for hole, cell in zip(holes, cells, strict=True)]
    made = nw.new_series(column.name, moments, nw.Datetime("us"), backend=column.implementation)
    return made.dt.replace_time_zone("UTC") if writing == ZONED else made
