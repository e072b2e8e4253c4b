"""CSV and TSV files, looked through first: libraries fill up short lines, shift long ones or rename columns."""

from __future__ import annotations

import codecs
import csv
import importlib.util
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.io import dates, tables
from xcid.io.sources import (
    FALSE,
    MISSING,
    TRUE,
    ColumnKinds,
    Columns,
    Layout,
    Source,
    number,
    plain_numbers,
    text,
    with_comma,
)  # fmt: skip
from xcid.io.tables import ENCODING, WINDOWS, check_text

SEPARATORS = {".csv": ",", ".tsv": "\t"}
OTHERS = ",;\t|"
BLOCK = 2**20
ROWS_SEEN = 256  # at once


class Text(NamedTuple):
    """A file of text: what parts its cells, and how its letters are written."""

    path: Path
    separator: str
    encoding: str


def open_source(path: Path) -> Source:
    """Look through a file; refuse lines with different numbers of cells.

    Bytes are counted, which is quick and tells of most files that all of their lines are in order. Where it does not,
    the lines are read one by one, which finds the place of the error, if there is one.
    """
    check_text(path)
    file = _find_form(path)
    lines = _lines(file)
    _, names = next(lines, (1, []))
    if not names:
        _check_bytes(path)
        raise InvalidFile(f"{path} is empty: a line of column names and some rows are needed")
    n_rows = _n_rows(file, len(names))
    if n_rows is None:
        _check_bytes(path)
    tables.check_names(path, names)
    seen = ColumnKinds(file.separator, len(names))
    if n_rows is None or importlib.util.find_spec("pyarrow") is None:
        n_rows, checked = 0, (_of_width(path, line, cells, names) for line, cells in lines)
        while rows := list(islice(checked, ROWS_SEEN)):
            seen(dict(enumerate(zip(*rows, strict=True))))
            n_rows += len(rows)
    elif first := [cells for _, cells in islice(lines, ROWS_SEEN)]:
        seen(dict(enumerate(zip(*first, strict=True))))
        _see_all(file, names, seen)
    if not n_rows:
        raise InvalidFile(f"{path} has a line of column names and no rows")
    found = {names[at]: writings for at, writings in seen.dates.items() if writings != dates.WRITINGS}
    commas = frozenset(names[at] for at in seen.commas)
    joined = partial(_read_all, file, n_rows, {*found, *commas}, commas)
    again = lambda: islice(_lines(file), 1, None)  # noqa: E731
    source = text(path, tuple(names), n_rows, joined, again, partial(_columns, names, commas))
    zoned = frozenset(name for name, writings in found.items() if writings == {dates.ZONED})
    unclear = {names[at]: cell for at, cell in seen.unclear.items()}
    return replace(source, zoned=zoned, dates=found, commas=commas, unclear=unclear, encoding=file.encoding)


def _see_all(file: Text, names: list[str], seen: ColumnKinds) -> None:
    """See the cells of undecided columns, of a file that is in order."""
    if not seen.undecided:
        return
    arrow, csv = require("pyarrow", extra="pyarrow"), require("pyarrow.csv", extra="pyarrow")
    asked = {names[at]: at for at in seen.undecided}
    cells = csv.ConvertOptions(include_columns=list(asked), column_types=dict.fromkeys(asked, arrow.string()))
    lines = csv.ParseOptions(delimiter=file.separator, newlines_in_values=True)
    letters = csv.ReadOptions(encoding=_find_name(file))
    for batch in csv.open_csv(file.path, read_options=letters, parse_options=lines, convert_options=cells):
        if not seen.undecided:
            return
        left = {at: batch.column(name) for name, at in asked.items() if at in seen.undecided}
        seen({at: column.unique().to_pylist() for at, column in left.items()})


def _n_rows(text: Text, n_columns: int) -> int | None:
    """Rows of a file, of which each has as many cells; None where some line or byte needs a closer look."""
    n_rows, is_open, n_before, n_seps = -1, False, 0, 0  # the names are no row; bytes and cells of a line so far
    separator = text.separator
    with text.path.open("rb") as file:
        file.seek(3 if file.read(3) == codecs.BOM_UTF8 else 0)
        while block := file.read(BLOCK) + file.readline():
            if not _is_plain(block, text.encoding):
                return None
            letters = np.frombuffer(block, np.uint8)
            is_end, is_separator = letters == ord("\n"), letters == ord(separator)
            if is_open or b'"' in block:
                inside = _find_quoted(letters, is_open, separator)
                if inside is None:
                    return None
                is_open = bool(inside[-1])
                is_end &= ~inside
                is_separator &= ~inside
            ends, separators = np.flatnonzero(is_end), np.flatnonzero(is_separator)
            if not block.endswith(b"\n"):  # the last line
                if is_open:
                    return None
                ends = np.append(ends, len(block))
            if ends.size:
                counts = np.diff(np.searchsorted(separators, ends), prepend=0)
                lengths = np.diff(ends, prepend=-1) - 1
                is_blank = lengths - ((lengths > 0) & (letters[ends - 1] == ord("\r"))) == 0
                is_blank[0] &= not n_before
                counts[0], lengths[0] = counts[0] + n_seps, lengths[0] + n_before
                is_wrong = (counts != n_columns - 1) & ~is_blank | (lengths > csv.field_size_limit())
                if is_wrong.any() or (n_rows < 0 and is_blank[0]):
                    return None
                n_rows += int(np.count_nonzero(~is_blank))
                n_before, n_seps = len(block) - int(ends[-1]) - 1, int(np.count_nonzero(separators > ends[-1]))
            else:
                n_before, n_seps = n_before + len(block), n_seps + len(separators)
            n_before = max(0, n_before)
            if n_before > csv.field_size_limit():
                return None
    return None if is_open else n_rows


def _is_plain(block: bytes, encoding: str) -> bool:
    """Whether some lines are text without NUL, and end as lines do today."""
    if b"\x00" in block or (b"\r" in block and block.count(b"\r") != block.count(b"\r\n")):
        return False
    try:
        return block.isascii() or encoding == WINDOWS or bool(block.decode())
    except UnicodeDecodeError:
        return False


def _find_quoted(letters: Any, is_open: bool, separator: str) -> Any:
    """(n,) which bytes are in quotes, the first of them included; None where a quote is within a cell."""
    is_quote = letters == ord('"')
    inside = ((np.cumsum(is_quote, dtype=np.uint8) + np.uint8(is_open)) & 1).view(bool)
    places = np.flatnonzero(is_quote)
    before, behind = places[inside[places]], places[~inside[places]]
    marks = [ord(mark) for mark in (separator, "\n", '"')]
    is_fine = np.isin(letters[before[before > 0] - 1], marks).all()
    is_fine = is_fine and np.isin(letters[behind[behind < len(letters) - 1] + 1], [*marks, ord("\r")]).all()
    return inside if is_fine else None


def _of_width(path: Path, line: int, cells: list[str], names: list[str]) -> list[str]:
    """The cells of a row, as many as there are names."""
    if len(cells) != len(names):
        raise InvalidFile(
            f"line {line} of {path} has {len(cells)} cells, and the first line has {len(names)}: "
            "correct that line (a cell with a separator in it needs quotes)"
        )
    return cells


def _find_form(path: Path) -> Text:
    """What parts the cells, as the extension says or else the line of names, and which letters there are."""
    usual, encoding = SEPARATORS[path.suffix.lower()], tables.find_encoding(path)
    candidates = (usual, *(other for other in OTHERS if other != usual))
    widths = {separator: _width(Text(path, separator, encoding)) for separator in candidates}
    return Text(path, usual if widths[usual] > 1 else max(candidates, key=widths.__getitem__), encoding)


def _width(file: Text) -> int:
    """Number of cells in the first line; 0 where it cannot be read so, as quotes before another separator cannot."""
    try:
        return len(next(_lines(file), (1, []))[1])
    except InvalidFile:
        return 0


def _read_all(file: Text, n_rows: int, texts: set[str], commas: frozenset[str]) -> Any:
    """All rows, with the types that the library of data frames finds; some columns stay text for a closer look."""
    frame = READERS[tables.library()](file, texts)
    if (n_read := tables.size(frame)) != n_rows:
        raise InvalidFile(f"{file.path} has {n_rows} rows, but {n_read} are read from it: take out blank lines")
    return _without_commas(frame, commas)


def _without_commas(frame: Any, commas: frozenset[str]) -> Any:
    """The frame, with numbers for text where every cell is one with a decimal comma, or a whole one."""
    narwhal = nw.from_native(frame, eager_only=True)
    found = []
    for column in map(narwhal.get_column, sorted(commas)):
        holes, cells = column.is_null().to_list(), column.to_list()
        numbers = [None if hole else with_comma(cell) for hole, cell in zip(holes, cells, strict=True)]
        if not any(isinstance(one, str) for one in numbers):
            found.append(nw.new_series(column.name, numbers, nw.Float64, backend=column.implementation))
    return narwhal.with_columns(*found).to_native()


def _columns(names: list[str], commas: frozenset[str], rows: list[list[str]], layout: Layout) -> Columns:
    cells = dict(zip(names, zip(*rows, strict=True), strict=True))
    found: Columns = {}
    for name in layout.read:
        parse = layout.parser(name)
        if parse is number and name in commas:
            parse = with_comma
        found[name] = plain_numbers(cells[name]) if parse is number else None
        if found[name] is None:
            holes = ("",) if name == layout.roles.id else MISSING  # a row may be called NA
            found[name] = [None if text in holes else parse(text) for text in cells[name]]
    return found


def _lines(text: Text) -> Iterator[tuple[int, list[str]]]:
    """Cells of each row, that of the names first, with the line where it begins; blank lines are passed over."""
    start, path = 1, text.path
    try:
        with path.open(encoding=text.encoding, newline="") as file:
            reader = csv.reader(file, delimiter=text.separator, strict=True)
            for cells in reader:
                if cells or start == 1:
                    yield start, cells
                start = reader.line_num + 1
    except csv.Error as error:
        reason = "it begins a cell with a quote that never ends" if "unexpected end" in str(error) else error
        raise InvalidFile(f"line {start} of {path} cannot be read as a text table: {reason}") from error
    except UnicodeDecodeError as error:
        with path.open("rb") as bad:
            broken = ("\ufffd" in line.decode(errors="replace") for line in bad)
            line = next((at for at, is_broken in enumerate(broken, start=1) if is_broken), 1)
        raise InvalidFile(f"line {line} of {path} is not UTF-8 text ({error.reason}): save it as UTF-8") from error


def _check_bytes(path: Path) -> None:
    """Refuse NUL, which libraries cut cells at, drop or keep."""
    n_lines = n_bytes = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            at = block.find(b"\x00")
            if at >= 0:
                line = n_lines + block.count(b"\n", 0, at) + 1
                raise InvalidFile(f"line {line} of {path} has a NUL byte (byte {n_bytes + at}): take it out")
            n_lines, n_bytes = n_lines + block.count(b"\n"), n_bytes + len(block)


def _by_pandas(file: Text, texts: set[str]) -> Any:
    settings = {
        "index_col": False,
        "keep_default_na": False,
        "na_values": list(MISSING),
        "dtype": dict.fromkeys(texts, str),
        "low_memory": False,  # else the first 262,144 rows decide by themselves what they are
    }
    read = require("pandas", extra="pandas").read_csv
    return read(file.path, sep=file.separator, encoding=file.encoding, **settings)


def _by_polars(file: Text, texts: set[str]) -> Any:
    polars = require("polars", extra="polars")
    settings = {"null_values": list(MISSING), "infer_schema_length": None, "separator": file.separator}
    types = dict.fromkeys(texts, polars.String)
    return polars.read_csv(file.path, schema_overrides=types, encoding=_find_name(file), **settings)


def _by_pyarrow(file: Text, texts: set[str]) -> Any:
    csv, text = require("pyarrow.csv", extra="pyarrow"), require("pyarrow", extra="pyarrow").string()
    types = dict.fromkeys(texts, text)  # it would make dates of some of them by itself
    truths = {"true_values": list(TRUE), "false_values": list(FALSE)}  # it would take 0 and 1 for such beside others
    cells = csv.ConvertOptions(null_values=list(MISSING), strings_can_be_null=True, column_types=types, **truths)
    lines = csv.ParseOptions(delimiter=file.separator, newlines_in_values=True)
    letters = csv.ReadOptions(encoding=_find_name(file))
    return csv.read_csv(file.path, read_options=letters, parse_options=lines, convert_options=cells)


def _find_name(file: Text) -> str:
    """The encoding as polars and pyarrow call it, which pass over the mark in front by themselves."""
    return "utf8" if file.encoding == ENCODING else file.encoding


READERS = {"pandas": _by_pandas, "polars": _by_polars, "pyarrow": _by_pyarrow}
