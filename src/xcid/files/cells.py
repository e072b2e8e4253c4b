"""Cells of a table, looked through before a model sees them: what is refused is named by file, row and column.

A message shows the one cell that is wrong, cut to 60 letters, and nothing else of the table's content.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid.errors import InvalidData, InvalidFile, warn
from xcid.files import delimited
from xcid.records import Flags
from xcid.space.columns import is_missing

SEPARATORS = {".csv": ",", ".tsv": "\t"}  # of files whose lines can be named
NESTED = (nw.List, nw.Array, nw.Struct)
NO_FEATURE = (nw.Binary, nw.Time, nw.Duration, nw.Decimal)
MOSTLY = 0.8  # the share of numbers from which a column of text looks like a mistake


def check(path: Path, frame: nw.DataFrame[Any]) -> None:
    """Refuse columns and cells that no model could be asked about."""
    delimited.check_width(path, len(frame.columns))
    blank = [position for position, name in enumerate(frame.columns) if not str(name).strip()]
    if blank:
        raise InvalidFile(f"columns {delimited.shown(blank)} of {path} have no name: name them, or leave them out")
    for name, dtype in frame.schema.items():
        if isinstance(dtype, NESTED):
            raise InvalidFile(f"column {name!r} of {path} has lists or objects in its cells ({dtype}): flatten it")
        if isinstance(dtype, NO_FEATURE):
            raise InvalidFile(f"column {name!r} of {path} is of the type {dtype}: make numbers, dates or text of it")
        if dtype.is_float():
            _check_finite(path, name, frame.get_column(name))
        elif isinstance(dtype, nw.Object):
            _check_kinds(path, name, frame.get_column(name).to_list())
        elif isinstance(dtype, nw.String) and path.suffix.lower() in SEPARATORS:
            _note_numbers(path, name, frame.get_column(name))


def features(path: Path, table: Any, target: str | None) -> Any:
    """Give the table without the target, if it has it; something must be left."""
    narwhal = nw.from_native(table, eager_only=True)
    names = [name for name in narwhal.columns if name != target]
    if not names:
        raise InvalidData(f"{path} has no column but the target {target!r}: features are needed")
    return table if len(names) == len(narwhal.columns) else narwhal.select(names).to_native()


def check_background(path: Path, background: Any) -> None:
    """Refuse a background that nothing can be learnt from."""
    narwhal = nw.from_native(background, eager_only=True)
    if len(narwhal) < 2:
        raise InvalidData(f"{path} has 1 row: a background needs at least 2, better some hundreds")
    for name in narwhal.columns:
        if missing(narwhal.get_column(name)).all():
            raise InvalidData(f"column {name!r} of {path} is missing in all {len(narwhal)} rows: drop it")


def check_target(path: Path, frame: Any, target: str) -> None:
    """Refuse a target that is not there, or not in every row."""
    narwhal = nw.from_native(frame, eager_only=True)
    if target not in narwhal.columns:
        raise InvalidData(
            f"there is no target column {target!r}; the columns are {delimited.shown(narwhal.columns)} in {path}"
        )
    holes = missing(narwhal.get_column(target))
    if holes.any():
        raise InvalidData(
            f"{int(holes.sum())} rows have no target {target!r}: leave them out; the first of them is "
            f"{place(path, _first(holes))} of {path}"
        )


def check_data(path: Path, frame: Any, positions: Sequence[int], background: Any) -> None:
    """Refuse rows to explain that do not fit the background: other columns, new levels, cells that are missing.

    The explainer refuses them too, but knows neither the file nor where in it these rows are.
    """
    rows, known = (nw.from_native(one, eager_only=True) for one in (frame, background))
    missed = [name for name in known.columns if name not in rows.schema]
    extra = [name for name in rows.columns if name not in known.schema]
    if missed or extra:
        raise InvalidData(
            f"{path} has {len(rows.columns)} columns and the background has {len(known.columns)}: "
            f"missing {delimited.shown(missed)}, unknown {delimited.shown(extra)}"
        )
    chosen = rows[list(positions)]
    for name in known.columns:
        _check_column(path, positions, chosen.get_column(name), known.get_column(name))


def _check_column(path: Path, positions: Sequence[int], cells: nw.Series[Any], known: nw.Series[Any]) -> None:
    holes = missing(cells)
    if holes.any() and not missing(known).any():
        raise InvalidData(
            f"{path} has a missing value in {place(path, positions[_first(holes)])}, column {cells.name!r} "
            f"({int(holes.sum())} such cells in all), and the background has none there: fill or drop these rows"
        )
    wrong, reason = _unfit(cells, known)
    wrong &= ~holes
    if wrong.any():
        at = _first(wrong)
        raise InvalidData(
            f"{path} holds {cells[at]!r:.{delimited.MOST_SHOWN}} in {place(path, positions[at])}, "
            f"column {cells.name!r}, {reason}"
        )


def _unfit(cells: nw.Series[Any], known: nw.Series[Any]) -> tuple[Flags, str]:
    """(n,) which cells the background's column has no place for, and why."""
    if isinstance(known.dtype, nw.String | nw.Categorical | nw.Enum):
        seen = set(known.to_list())
        return np.array([cell not in seen for cell in cells.to_list()]), "which the background does not have"
    if isinstance(cells.dtype, nw.String):
        return np.full(len(cells), True), f"and the background's column is of the type {known.dtype}"
    if known.dtype.is_integer() and cells.dtype.is_float():
        values = cells.cast(nw.Float64).fill_null(0.0).to_numpy()
        return values != np.round(values), "and the background has whole numbers there"
    return np.full(len(cells), False), ""


def place(path: Path, row: int) -> str:
    """Name a row by its position, as ``--rows`` does, and in a text file by its line."""
    separator = SEPARATORS.get(path.suffix.lower())
    return f"row {row}" if separator is None else f"row {row} (line {delimited.line_of(path, separator, row)})"


def missing(column: nw.Series[Any]) -> Flags:
    """(n,) which cells are missing."""
    holes = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    return holes.to_numpy().astype(bool)


def _check_finite(path: Path, name: str, column: nw.Series[Any]) -> None:
    infinite = np.isinf(column.cast(nw.Float64).fill_null(0.0).to_numpy())
    if infinite.any():
        raise InvalidFile(
            f"{path} has an infinite value in {place(path, _first(infinite))}, column {name!r} "
            f"({int(infinite.sum())} such cells in all): fill or drop these rows"
        )


def _check_kinds(path: Path, name: str, cells: list[Any]) -> None:
    """Refuse what is neither number nor text, and both in one column."""
    kinds = [_kind(cell) for cell in cells]
    present = [kind for kind in kinds if kind is not None]
    commonest = max(("number", "text"), key=present.count)
    row = next((row for row, kind in enumerate(kinds) if kind not in (None, commonest)), None)
    if row is not None:
        advice = "flatten it" if kinds[row] == "nested" else "make it all numbers or all text"
        raise InvalidFile(
            f"{path} holds {cells[row]!r:.{delimited.MOST_SHOWN}} in {place(path, row)}, column {name!r}: {advice}"
        )


def _kind(cell: Any) -> str | None:
    if isinstance(cell, list | tuple | dict | np.ndarray):
        return "nested"
    if isinstance(cell, str):
        return "text"
    if is_missing(cell):
        return None
    return "number" if isinstance(cell, int | float | np.number | np.bool_) else "other"


def _note_numbers(path: Path, name: str, column: nw.Series[Any]) -> None:
    """Say that numbers are read as text because of a few cells that are none."""
    cells = [cell for cell in enumerate(column.to_list()) if isinstance(cell[1], str)]
    others = [(row, cell) for row, cell in cells if not _is_number(cell)]
    if others and len(others) <= (1 - MOSTLY) * len(cells):
        row, cell = others[0]
        warn(
            f"column {name!r} of {path} is read as text: {len(cells) - len(others)} of its {len(cells)} cells are "
            f"numbers, but {place(path, row)} holds {cell!r:.{delimited.MOST_SHOWN}}; mend the table if it is no "
            "category"
        )


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _first(flags: Flags) -> int:
    return int(np.flatnonzero(flags)[0])
