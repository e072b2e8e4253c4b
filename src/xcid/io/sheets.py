"""Excel sheets: the first row has the names of the columns, and each cell the type that the workbook gives it."""

from __future__ import annotations

import datetime
import re
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from xcid._check import shown
from xcid._require import require
from xcid.errors import InvalidFile
from xcid.io import tables
from xcid.io.dates import Writing, find_shared_writings
from xcid.io.sources import MISSING, Source, hold_frame
from xcid.io.tables import check_cells, check_size

MARK = b"PK\x03\x04"
BLOCK = 2**20
HEAD = 2  # the row of a sheet that the first row of the table is in
ADVICE = "save the table as CSV"
PLACE = re.compile(rb"""\br\s*=\s*["']\s*([A-Z]{0,3})(\d{1,9})""")  # r="AB12" of a cell, r="12" of a row
LONGEST = 32  # bytes of a place
DATES = (datetime.datetime, datetime.date)


def open_sheet(path: Path) -> Source:
    """Read the one sheet of a workbook; its table begins in the first row that is not empty."""
    with path.open("rb") as file:
        if file.read(len(MARK)) != MARK:
            raise InvalidFile(f"{path} is not an .xlsx workbook: save it as one, or as CSV")
    _check_unpacked(path)
    found = _read_cells(path)
    filled = {name: rows for name, rows in found.items() if rows}
    if len(filled) != 1:
        which = f"{len(filled)} sheets with cells, {shown(list(filled))}: keep one" if filled else "no sheet with cells"
        raise InvalidFile(f"{path} has {which}; rows are read from a workbook of one sheet")
    names, *rows = next(iter(filled.values()))
    if not rows:
        raise InvalidFile(f"{path} has a row of column names and no rows")
    check_cells(path, len(rows), len(names))
    tables.check_names(path, [str(name) for name in names])
    columns = [_column(path, str(name), cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)]
    frame = nw.from_dict({column.name: column for column in columns}, backend=tables.library())
    source = hold_frame(path, frame.to_native(), lambda row: row + HEAD)
    days = {column.name: _find_dates(column) for column in columns if isinstance(column.dtype, nw.String)}
    return replace(source, dates={name: writings for name, writings in days.items() if writings})


def _find_dates(column: nw.Series[Any]) -> frozenset[Writing]:
    """The writings in which all cells of a column of text are dates; none where it has no cells."""
    cells = column.drop_nulls().unique().to_list()
    return find_shared_writings(cells) if cells else frozenset()


def _read_cells(path: Path) -> dict[str, list[list[Any]]]:
    """The rows of cells of each sheet."""
    try:
        workbook = require("python_calamine", extra="excel").CalamineWorkbook.from_path(str(path))
        return {name: workbook.get_sheet_by_name(name).to_python() for name in workbook.sheet_names}
    except BaseException as error:
        if type(error).__name__ != "PanicException":  # of compiled code, and no Exception
            raise
        raise InvalidFile(f"{path} cannot be read: it is damaged ({error!s:.200})") from error


def _check_unpacked(path: Path) -> None:
    """Refuse a workbook that gets too large: its bytes are counted, and a cell far out makes room for all before it."""
    unpacked, last_row, last_column = 0, 0, 0
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            rest = b""
            with archive.open(entry) as content:
                while block := content.read(BLOCK):
                    unpacked += len(block)
                    check_size(path, path.stat().st_size, unpacked, ADVICE)
                    places = PLACE.findall(rest + block)
                    last_row = max([last_row, *(int(row) for _, row in places)])
                    last_column = max([last_column, *(_number_column(letters) for letters, _ in places)])
                    rest = block[-LONGEST:]
    check_cells(path, last_row, last_column)


def _number_column(letters: bytes) -> int:
    """The number of a column, counted from 1: AA is 27."""
    return reduce(lambda number, letter: 26 * number + letter - ord("A") + 1, letters, 0)


def _column(path: Path, name: str, cells: Sequence[Any]) -> Any:
    """A column of numbers, dates, truths or text; numbers among text are text."""
    known = [None if isinstance(cell, str) and cell.strip() in MISSING else cell for cell in cells]
    types = {type(cell) for cell in known if cell is not None}
    if types - {float, int, bool, str, *DATES}:
        odd = next(at for at, cell in enumerate(known) if isinstance(cell, datetime.time | datetime.timedelta))
        raise InvalidFile(
            f"column {name!r} of {path} holds {known[odd]!s:.60} in row {odd + HEAD} of the sheet, a time of day or a "
            "duration: make a number of it"
        )
    if types <= {float, int}:
        numbers = [None if cell is None else float(cell) for cell in known]
        if all(number is not None and number.is_integer() and abs(number) <= 2**53 for number in numbers):
            return _series(name, [int(number or 0) for number in numbers], nw.Int64)
        return _series(name, numbers, nw.Float64)
    if types == {bool}:
        return _series(name, known, nw.Boolean)
    if types <= {*DATES}:
        moments = [None if cell is None else _moment(cell) for cell in known]
        return _series(name, moments, nw.Datetime("us"))
    return _series(name, [None if cell is None else _text(cell) for cell in known], nw.String)


def _series(name: str, cells: Sequence[Any], dtype: Any) -> Any:
    return nw.new_series(name, cells, dtype, backend=tables.library())


def _moment(cell: datetime.date) -> datetime.datetime:
    return cell if isinstance(cell, datetime.datetime) else datetime.datetime(cell.year, cell.month, cell.day)


def _text(cell: Any) -> str:
    """A cell of a column of text as one reads it: 12 and not 12.0."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)
