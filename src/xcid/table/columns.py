"""One column: what kind of feature it is, and its cells as numbers."""

from __future__ import annotations

import contextlib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from xcid._check import telling
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array

if TYPE_CHECKING:
    from xcid.table.tables import Table

Kind: TypeAlias = Literal["continuous", "integer", "ordinal", "categorical", "boolean"]
Unit: TypeAlias = Literal["", "D", "s"]
Cells: TypeAlias = np.ndarray[Any, np.dtype[Any]]

FEW_TRIED, MOST_TRIED = 8, 1_000  # values before all are looked at
MOST_DECIMALS = 6
MOST_LEVELS = 2.0**51  # beyond it every float is whole
MOST_SHOWN = 8
REFERENCE = "the reference table"  # in messages


@dataclass(frozen=True, slots=True)
class Column:
    """A feature: its kind, and for all but numbers its levels in the order of their codes.

    A date is a number of days ("D") or seconds ("s") since 1970, as ``unit`` says; other numbers have none. ``zoned``
    says whether its times have a time zone.
    """

    name: str
    kind: Kind
    levels: tuple[Any, ...] = ()
    unit: Unit = ""
    zoned: bool = False

    def encode(self, cells: Cells, what: str) -> Array:
        """Numbers for the cells: themselves, or the positions of levels; NaN where missing."""
        if self.unit:
            return times(cells, self.unit, self.name, what)
        if not self.levels:
            return numbers(cells, self.name, what)
        positions = {level: float(position) for position, level in enumerate(self.levels)}
        with contextlib.suppress(TypeError):  # a cell that no level can be
            found = list(map(positions.get, cells.tolist()))
            if None not in found:
                return np.array(found, dtype=np.float64)
        codes = np.empty(len(cells))
        for row, cell in enumerate(cells.tolist()):
            code = np.nan if is_missing(cell) else positions.get(cell) if isinstance(cell, Hashable) else None
            if code is None:
                known = f"which the reference data do not have: its levels are {_list_levels(self.levels)}"
                raise InvalidData(f"column {self.name!r} of {what} holds {cell!r:.60}", row, f", {known}")
            codes[row] = code
        return codes


def detect(name: str, cells: Cells, order: tuple[Any, ...] | None, wanted: Kind | None) -> Column:
    """Find out the kind of a reference column, or check the kind that the user wants.

    ``order`` holds the levels of an ordered category, is empty for one without order and None for all other columns.
    """
    is_plain = cells.dtype.kind in "fiuM" and cells.ndim == 1  # then no cell need be an object: there may be millions
    present: Any = cells[~np.isnan(cells)] if is_plain else [cell for cell in cells.tolist() if not is_missing(cell)]
    if not len(present):
        raise InvalidData(f"column {name!r} of {REFERENCE} is missing in all {len(cells)} rows: drop it")
    if cells.dtype.kind == "M":
        days = times(cells, "D", name, REFERENCE)
        unit: Unit = "D" if resolution(days) == 1 else "s"
        return Column(name, "integer" if unit == "D" else "continuous", unit=unit)
    if wanted is not None and wanted not in get_args(Kind):
        raise InvalidParameter(f"the kind of {name!r} must be one of {list(get_args(Kind))}, not {wanted!r}")
    types = {"number"} if is_plain else {type_of(cell) for cell in {type(cell): cell for cell in present}.values()}
    if len(types) > 1:
        odd = "text" if "text" in types else "boolean"
        row = next(i for i, cell in enumerate(cells.tolist()) if type_of(cell) == odd)
        raise InvalidData(
            f"column {name!r} of {REFERENCE} holds {cells[row]!r:.60} in row {row} among other things: "
            "make it all numbers or all text"
        )
    made_of_levels = order is not None or types in ({"text"}, {"boolean"})
    if made_of_levels or wanted in ("ordinal", "categorical", "boolean"):
        if wanted in ("continuous", "integer"):
            raise InvalidParameter(f"column {name!r} holds {present[0]!r:.60}: it cannot be {wanted}")
        seen = set(present.tolist() if is_plain else present)
        levels = tuple(level for level in order or () if level in seen) or tuple(sorted(seen))
        for level in levels:
            writable(str(level), f"column {name!r} of {REFERENCE} holds")
        kind: Kind = "boolean" if types == {"boolean"} else "ordinal" if order else "categorical"
        return Column(name, wanted or kind, levels)
    is_integer = resolution(numbers(cells, name, REFERENCE)) == 1
    if wanted == "integer" and not is_integer:
        raise InvalidParameter(f"column {name!r} holds numbers that are not whole: it cannot be integer")
    return Column(name, wanted or ("integer" if is_integer else "continuous"))


def writable(text: str, what: str) -> str:
    """Text that files and pages can hold: half of a surrogate pair is none."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise InvalidData(f"{what} {text!r:.60}, which is not Unicode text: decode or replace it")
    return text


def objects(values: Sequence[Any]) -> Cells:
    """Any values as an array of objects; sequences among them stay cells."""
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells


def is_missing(cell: Any) -> bool:
    """None, NaN, NaT and pandas' NA: the cells that do not equal themselves."""
    if cell is None:
        return True
    try:
        return bool(cell != cell)
    except Exception:  # pandas' NA does not say; nor do arrays, and objects that are no cells
        return type(cell).__name__ == "NAType"


def numbers(cells: Cells, name: str, what: str) -> Array:
    """Float64 values of a column, NaN where missing; text, dates and infinities are refused by place."""
    if cells.ndim != 1:
        raise InvalidData(f"column {name!r} of {what} holds {cells.shape[1:]} values a row: make columns of them")
    if cells.dtype.kind in "fiub":
        values = cells.astype(np.float64)
    else:
        values = np.array([_number(cell, row, name, what) for row, cell in enumerate(cells)])
    infinite = np.flatnonzero(np.isinf(values))
    if infinite.size:
        more = f", column {name!r} ({infinite.size} such cells in all): fill or drop these rows"
        raise InvalidData(f"{what} has an infinite value", int(infinite[0]), more)
    return values


def times(cells: Cells, unit: Unit, name: str, what: str) -> Array:
    """Days or seconds since 1970, of dates of any make; NaN where missing."""
    if cells.dtype.kind != "M":
        moments = [_moment(cell, row, name, what) for row, cell in enumerate(cells.tolist())]
        cells = np.array(moments, dtype="datetime64[us]")
    since = (cells - np.datetime64("1970-01-01")).astype("timedelta64[us]")
    seconds = np.where(np.isnat(since), np.nan, since.astype(np.int64) / 1e6)
    return seconds / 86_400 if unit == "D" else seconds


def to_times(codes: Array, unit: Unit) -> Cells:
    """Days or seconds since 1970 as dates; NaT where missing."""
    scale = 86_400_000_000 if unit == "D" else 1_000_000
    microseconds = np.round(np.where(np.isnan(codes), 0.0, codes) * scale).astype(np.int64)
    return np.where(np.isnan(codes), np.datetime64("NaT", "us"), microseconds.view("datetime64[us]"))


def resolution(values: Array) -> float:
    """Levels in one unit, from the decimals of the values; 0 where they have too many to be rounded."""
    values = values[np.isfinite(values)]
    for decimals in range(MOST_DECIMALS + 1):  # a few values tell of most decimals that they are not enough
        if all(_has_decimals(values[:size], decimals) for size in (FEW_TRIED, MOST_TRIED, len(values))):
            return float(10.0**decimals)
    return 0.0


def _has_decimals(values: Array, decimals: int) -> bool:
    scaled = values * 10.0**decimals
    off = np.abs(scaled - np.round(scaled))
    return bool(np.all(off <= 4 * np.finfo(np.float64).eps * np.abs(scaled)) and np.all(np.abs(scaled) < MOST_LEVELS))


def usual_resolution(values: Array) -> float:
    """Levels in one unit, from the decimals of the most frequent value, as dice-ml counts them in single precision.

    Of values that are equally frequent the one with the most decimals counts, and every number has at least one: 3.0 is
    written so. It is 0 where they have too many to be rounded.
    """
    values = values[np.isfinite(values)]
    with np.errstate(over="ignore"):  # numbers that single precision cannot hold are not rounded
        distinct, counts = np.unique(values.astype(np.float32), return_counts=True)
    modes = distinct[counts == counts.max()].astype(np.float64)
    for decimals in range(1, MOST_DECIMALS + 1):
        if np.abs(values).max() * 10.0**decimals >= MOST_LEVELS:
            break
        if np.array_equal(np.round(modes, decimals).astype(np.float32), modes):
            return float(10.0**decimals)
    return 0.0


def _number(cell: Any, row: int, name: str, what: str) -> float:
    """Float of a cell; a timedelta is an integer for NumPy, but not for us."""
    try:
        if is_missing(cell):
            return np.nan
        is_number = isinstance(cell, int | float | np.integer | np.floating | np.bool_)
        if is_number and not isinstance(cell, np.timedelta64):
            return float(cell)
    except OverflowError:
        pass
    shown = cell.item() if isinstance(cell, np.generic) else cell
    more = ", which is not a number: encode or drop it"
    raise InvalidData(f"column {name!r} of {what} holds {shown!r:.60}", row, more)


def _moment(cell: Any, row: int, name: str, what: str) -> np.datetime64:
    """The moment that a cell stands for, in UTC where it has a time zone; NaT where it is missing."""
    if is_missing(cell):
        return np.datetime64("NaT", "us")
    if not is_date(cell):
        raise InvalidData(f"column {name!r} of {what} holds {cell!r:.60}", row, ", which is not a date")
    return np.datetime64(cell.astimezone(UTC).replace(tzinfo=None) if has_zone(cell) else cell, "us")


def is_date(cell: Any) -> bool:
    """Whether a cell is a date or a time: one of Python, of NumPy or of pandas."""
    return isinstance(cell, date | np.datetime64) and not is_missing(cell)


def has_zone(cell: Any) -> bool:
    """Whether a cell is a time with a time zone."""
    return isinstance(cell, datetime) and cell.tzinfo is not None


def type_of(cell: Any) -> str:
    """What kind of level a cell could be."""
    if isinstance(cell, bool | np.bool_):
        return "boolean"
    return "text" if isinstance(cell, str) else "number"


def _list_levels(levels: tuple[Any, ...]) -> str:
    more = f" and {len(levels) - MOST_SHOWN} more" if len(levels) > MOST_SHOWN else ""
    return f"{list(levels[:MOST_SHOWN])}{more}"


def matrix_of(columns: tuple[Column, ...], table: Table, what: str) -> Array:
    """Cells as numbers."""
    found = []
    for column, cells in zip(columns, table.cells, strict=True):
        if column.unit and (not column.zoned) in _has_zone(cells, column.name in table.zoned):
            have, others = ("no time zone", "have one") if column.zoned else ("a time zone", "have none")
            raise InvalidData(
                f"the times of column {column.name!r} of {what} have {have}, and those of the reference data {others}: "
                "give both a zone, or none"
            )
        with telling(InvalidData, f"column {column.name!r} of {what} cannot be read"):
            found.append(column.encode(cells, what))
    return np.column_stack(found)


def _has_zone(cells: Cells, is_zoned: bool) -> set[bool]:
    """Whether the times of a column have a time zone; objects say so one by one, and missing cells say nothing."""
    if cells.dtype.kind == "M":
        return set() if np.isnat(cells).all() else {is_zoned}
    return {has_zone(cell) for cell in cells.tolist() if is_date(cell)}
