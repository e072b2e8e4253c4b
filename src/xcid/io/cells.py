"""Cells, looked through before a model sees them: what is refused is named by file, row and column.

A message shows the one cell that is wrong, cut to 60 letters, and nothing else of the table's content.
"""

from __future__ import annotations

import datetime
import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from shlex import quote
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from xcid._check import MOST_SHOWN, warn
from xcid.errors import InvalidData, InvalidFile
from xcid.io import dates
from xcid.io.delimited import SEPARATORS
from xcid.io.sources import Columns, Layout, Rule, Source, number, with_comma
from xcid.records import Flags
from xcid.table.columns import is_missing

NESTED = (nw.List, nw.Array, nw.Struct)
NO_FEATURE = (nw.Binary, nw.Time, nw.Duration, nw.Decimal)
NUMBER = (int, float, np.number, np.bool_)
MOST_WHOLE = 2**53  # from here on, floats leave whole numbers out
MOSTLY = 0.8  # the share of numbers from which a column of text looks like a mistake
WITH_A_COMMA = re.compile(r"\s*[-+]?(\d+|\d{1,3}(\.\d{3})+),\d+\s*")
WITH_POINTS = re.compile(r"\s*[-+]?\d{1,3}(\.\d{3})*\s*")
PLAIN = {float, int, bool, type(None)}  # what NumPy makes numbers of as we do
REASONS = {
    "number": "and the reference data have numbers there: write one, or leave the cell empty",
    "whole number": "and the reference data have whole numbers there: write one, or leave the cell empty",
    "date": "and the reference data have dates there: write it as 2023-12-31, or as they do",
    "level": "and the levels of the reference data there are of another type",
}
ZONES = {
    True: "which has no time zone, and the times of the reference data have one: give both a zone, or none",
    False: "which has a time zone, and the times of the reference data have none: give both a zone, or none",
}


def check(source: Source, frame: Any) -> None:
    """Refuse columns and cells of reference data that no model could take."""
    narwhal, path = nw.from_native(frame, eager_only=True), source.path
    check_types(path, frame)
    for name, dtype in narwhal.schema.items():
        column = narwhal.get_column(name)
        if dtype.is_float():
            check_finite(source, name, column.cast(nw.Float64).fill_null(0.0).to_numpy(), range(len(column)))
        elif isinstance(dtype, nw.Object):
            _check_kinds(source, name, column.to_list())
        elif isinstance(dtype, nw.String) and path.suffix.lower() in SEPARATORS:
            _note_numbers(source, name, column.to_list())


def check_types(path: Path, frame: Any) -> None:
    """Refuse columns of a kind that no model could take."""
    for name, dtype in nw.from_native(frame, eager_only=True).schema.items():
        if isinstance(dtype, NESTED):
            raise InvalidFile(f"column {name!r} of {path} has lists or objects in its cells ({dtype}): flatten it")
        if isinstance(dtype, NO_FEATURE):
            raise InvalidFile(f"column {name!r} of {path} is of the type {dtype}: make numbers, dates or text of it")


def _check_kinds(source: Source, name: str, cells: list[Any]) -> None:
    """Refuse what is neither number nor text, and both in one column."""
    kinds = [_kind(cell) for cell in cells]
    commonest = max(("number", "text"), key=kinds.count)
    row = next((row for row, kind in enumerate(kinds) if kind not in (None, commonest)), None)
    if row is not None:
        advice = "flatten it" if kinds[row] == "nested" else "make it all numbers or all text"
        where = source.place(row)
        raise InvalidFile(f"{source.path} holds {cells[row]!r:.{MOST_SHOWN}} in {where}, column {name!r}: {advice}")


def _kind(cell: Any) -> str | None:
    if isinstance(cell, list | tuple | dict | np.ndarray):
        return "nested"
    if isinstance(cell, str):
        return "text"
    if is_missing(cell):
        return None
    return "number" if isinstance(cell, NUMBER) else "other"


def _note_numbers(source: Source, name: str, cells: list[Any]) -> None:
    """Say that numbers are read as text because of a few cells that are none; refuse numbers with commas."""
    counts = {cell: count for cell, count in Counter(cells).items() if isinstance(cell, str)}
    parse = with_comma if name in source.commas else number
    others = {cell: count for cell, count in counts.items() if isinstance(parse(cell), str)}
    if not others:
        return
    row, cell = next((row, cell) for row, cell in enumerate(cells) if cell in others)
    n_texts, n_others = sum(counts.values()), sum(others.values())
    if n_others <= (1 - MOSTLY) * n_texts:
        warn(
            f"column {name!r} of {source.path} is read as text: {n_texts - n_others} of its {n_texts} cells "
            f"are numbers, but {source.place(row)} holds {cell!r:.{MOST_SHOWN}}; if this is not a category, "
            "correct it, or leave the cell empty if its number is missing"
        )
    elif all(map(WITH_A_COMMA.fullmatch, others)):
        raise InvalidFile(
            f"{source.path} holds {cell!r:.{MOST_SHOWN}} in {source.place(row)}, column {name!r}, a number with a "
            f"comma: write it with a decimal point, and without separators of thousands{_advise(cell, source.dates)}"
        )


def _advise(cell: str, days: Collection[str]) -> str:
    """How to rewrite a table whose numbers have separators of thousands, where a number shows which these are.

    Without their type, pandas would take the points out of dates, too.

    Examples
    --------
    >>> _advise("2,5", []), _advise("22.000,00", ["day"])[:68]
    ('', ", as pandas.read_csv(OLD, sep=None, engine='python', decimal=',', th")
    """
    if "," not in cell or "." not in cell:
        return ""
    decimal, thousands = (",", ".") if cell.rfind(",") > cell.rfind(".") else (".", ",")
    how = f"sep=None, engine='python', decimal={decimal!r}, thousands={thousands!r}"
    how += f", dtype=dict.fromkeys({list(days)!r}, str)" if days else ""
    return f", as pandas.read_csv(OLD, {how}).to_csv(NEW, index=False) does"


def check_marks(source: Source, numbers: Iterable[str], others: Collection[str]) -> None:
    """Refuse columns of numbers such as 21.200, which may be 21200, beside others with decimal commas."""
    for name, cell in source.unclear.items():
        mark, other = ",." if "," in cell else ".,"
        marks, decimals = ("commas", "points")[:: 1 if mark == "," else -1]
        if name in numbers and (others or mark == ","):
            raise InvalidFile(
                f"column {name!r} of {source.path} holds {cell!r:.{MOST_SHOWN}}, and other numbers have decimal "
                f"{decimals}: if that is {cell.replace(mark, '')}, take the {marks} out of the column; if it is "
                f"{cell.replace(mark, other)}, write {decimals} in it"
            )


def find_numbers(frame: Any) -> list[str]:
    """Names of the columns of numbers, also of text where every cell is one with points between thousands."""
    narwhal = nw.from_native(frame, eager_only=True)
    return [name for name in narwhal.columns if _has_numbers(narwhal.get_column(name))]


def _has_numbers(column: nw.Series[Any]) -> bool:
    if not isinstance(column.dtype, nw.String):
        return column.dtype.is_numeric()
    return all(map(WITH_POINTS.fullmatch, column.drop_nulls().to_list()))


def check_finite(source: Source, name: str, values: Any, positions: Sequence[int]) -> None:
    """Refuse infinite numbers, the first by its place."""
    infinite = np.isinf(values)
    if infinite.any():
        where = source.place(positions[first(infinite)])
        raise InvalidFile(f"{source.path} has an infinite value in {where}, column {name!r}: fill or drop these rows")


def note_rounded(path: Path, name: str, values: Any) -> None:
    """Say that whole numbers lose their last digits, which matters where they are codes."""
    known = values[~np.isnan(values)]
    if np.abs(known).max(initial=0.0) >= MOST_WHOLE and (known == np.round(known)).all():
        warn(
            f"column {name!r} of {path} holds whole numbers of {MOST_WHOLE:,} and more, whose last digits are rounded: "
            f"if they are codes, make text of them, or leave them out (--drop {name}); names of rows are --id {name}"
        )


def first(flags: Flags) -> int:
    """Where the first flag is."""
    return int(np.flatnonzero(flags)[0])


class Fitted(NamedTuple):
    """A column as the reference data have it, and the (n,) cells that are missing or cannot be in it."""

    values: Any
    missing: Flags
    wrong: Flags


def fit_columns(source: Source, columns: Columns, positions: Sequence[int], layout: Layout) -> Columns:
    """Give rows at some positions of a source with the types of the reference data; refuse a cell that does not fit."""
    return {name: _fit_column(source, name, columns[name], positions, rule) for name, rule in layout.columns.items()}


def _fit_column(source: Source, name: str, cells: Any, positions: Sequence[int], rule: Rule) -> Any:
    if rule.kind == "date":
        column, has_zone = _dates(source, name, cells, rule)
    else:
        column, has_zone = (_levels(cells, rule) if rule.kind == "level" else _numbers(cells)), rule.zoned
    wrong, reason = column.wrong, REASONS[rule.kind]
    if has_zone != rule.zoned:
        wrong, reason = ~column.missing, ZONES[rule.zoned]
    if rule.kind in ("number", "whole number"):
        check_finite(source, name, column.values, positions)
        note_rounded(source.path, name, column.values)
    if rule.kind == "whole number":
        wrong = wrong | (column.values != np.round(column.values)) & ~column.missing
    if wrong.any():
        at = first(wrong)
        cell = cells[at].item() if isinstance(cells[at], np.generic) else cells[at]
        if rule.kind == "level" and isinstance(cell, datetime.date):
            cell, reason = str(cell), f"a date, and the reference data have text there: add --dates {quote(name)}"
        if rule.kind == "date" and len(source.dates.get(name, ())) > 1:
            either = " or ".join(sorted({str(when.date()) for when in dates.readings(cell).values()}))
            asked = "" if rule.day_first else f", or add --dates {quote(name)} to read the day first"
            reason = f"which may be {either}, and no cell of the column settles it: write it as {dates.ISO}{asked}"
        raise InvalidData(
            f"{source.path} holds {cell!r:.{MOST_SHOWN}} in {source.place(positions[at])}, column {name!r}, {reason}"
        )
    return column.values


def _numbers(cells: Any) -> Fitted:
    is_array = isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub"
    if is_array or set(map(type, cells)) <= PLAIN:
        try:
            values = np.asarray(cells, dtype=np.float64)
            return Fitted(values, np.isnan(values), np.zeros(len(values), dtype=bool))
        except OverflowError:  # whole numbers of hundreds of digits
            pass
    missing = np.array([is_missing(cell) for cell in cells])
    wrong = np.array([isinstance(cell, np.timedelta64) or not isinstance(cell, NUMBER) for cell in cells]) & ~missing
    none = missing | wrong
    numbers = np.full(len(none), np.nan)
    for at in np.flatnonzero(~none):
        try:
            numbers[at] = float(cells[at])
        except OverflowError:
            numbers[at] = np.inf
    return Fitted(numbers, missing, wrong)


def _dates(source: Source, name: str, cells: Any, rule: Rule) -> tuple[Fitted, bool]:
    """Dates, also of text that is written as the file or else the reference data write dates; whether with a zone."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        return Fitted(cells, np.isnat(cells), np.zeros(len(cells), dtype=bool)), name in source.zoned
    writing = rule.choose_writing(source.dates.get(name, frozenset()))
    found = [dates.readings(cell).get(writing) if isinstance(cell, str) else None for cell in cells]
    missing = np.array([is_missing(cell) for cell in cells])
    wrong = np.array([one is None for one in found]) & ~missing
    has_zone = rule.zoned if wrong.any() else writing == dates.ZONED
    return Fitted(np.array(found, dtype="datetime64[us]"), missing, wrong), has_zone


def _levels(cells: Any, rule: Rule) -> Fitted:
    """Levels that the reference data do not have are no mistake, as long as they could be levels."""
    plain = cells.tolist() if isinstance(cells, np.ndarray) else cells
    values, kind = [None if is_missing(cell) else cell for cell in plain], _kind(rule.levels[0])
    wrong = np.array([cell is not None and _kind(cell) != kind for cell in values])
    return Fitted(values, np.array([cell is None for cell in values]), wrong)
