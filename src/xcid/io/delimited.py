"""CSV and TSV files, looked through first: libraries fill up short lines, shift long ones or rename columns."""

from __future__ import annotations

import codecs
import csv
import importlib.util
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.io import dates, tables
from xcid.io.sources import FALSE, MARKED, TRUE, Columns, Layout, Source, number, plain_numbers, text, with_comma
from xcid.io.tables import check_text

SEPARATORS = {".csv": ",", ".tsv": "\t"}
ENCODING = "utf-8-sig"  # with or without the mark that some programs put in front
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")  # the same for all libraries
OTHERS = ",;\t|"
WITH_COMMAS = ";"  # what parts cells where numbers may have decimal commas
BLOCK = 2**20
ROWS_SEEN = 256  # at once


class ColumnKinds:
    """What columns can be, as far as their cells were seen: dates of some writing, numbers with decimal commas."""

    def __init__(self, separator: str, n_columns: int) -> None:
        self.dates = dict.fromkeys(range(n_columns), dates.WRITINGS)  # until a cell is none
        self.without = {mark: set(range(n_columns if separator == WITH_COMMAS else 0)) for mark in MARKED}

    @property
    def undecided(self) -> list[int]:
        """Columns that have to be looked through to the end."""
        return sorted(self.without["."].union(self.dates))

    def __call__(self, columns: Mapping[int, Collection[str]]) -> None:
        """See some cells of each undecided column."""
        for at in tuple(self.dates):
            self.dates[at] = dates.find_shared_writings(set(columns[at]).difference(MISSING), self.dates[at])
            if not self.dates[at]:
                del self.dates[at]
        for mark, some in self.without.items():
            some -= {at for at in some if at in columns and _has_number(mark, columns[at])}

    @property
    def commas(self) -> set[int]:
        """Columns with decimal commas, and without decimal points."""
        return self.without["."] - self.without[","]


def _has_number(mark: str, texts: Collection[str]) -> bool:
    """Whether some text is a number with a decimal comma, or a decimal point."""
    return mark in "".join(texts) and any(map(MARKED[mark].fullmatch, texts))


def open_source(path: Path) -> Source:
    """Look through a file; refuse lines with different numbers of cells.

    Bytes are counted, which is quick and tells of most files that all of their lines are in order. Where it does not,
    the lines are read one by one, which finds the place of the error, if there is one.
    """
    check_text(path)
    separator = separated_by(path)
    lines = _lines(path, separator)
    _, names = next(lines, (1, []))
    if not names:
        _check_bytes(path)
        raise InvalidFile(f"{path} is empty: a line of column names and some rows are needed")
    n_rows = _n_rows(path, separator, len(names))
    if n_rows is None:
        _check_bytes(path)
    tables.check_names(path, names)
    seen = ColumnKinds(separator, len(names))
    if n_rows is None or importlib.util.find_spec("pyarrow") is None:
        n_rows, checked = 0, (_of_width(path, line, cells, names) for line, cells in lines)
        while rows := list(islice(checked, ROWS_SEEN)):
            seen(dict(enumerate(zip(*rows, strict=True))))
            n_rows += len(rows)
    elif first := [cells for _, cells in islice(lines, ROWS_SEEN)]:
        seen(dict(enumerate(zip(*first, strict=True))))
        _see_all(path, separator, names, seen)
    if not n_rows:
        raise InvalidFile(f"{path} has a line of column names and no rows")
    found = {names[at]: writings for at, writings in seen.dates.items() if writings != dates.WRITINGS}
    commas = frozenset(names[at] for at in seen.commas)
    joined = partial(_read_all, path, separator, n_rows, {*found, *commas}, commas)
    again = lambda: islice(_lines(path, separator), 1, None)  # noqa: E731
    source = text(path, tuple(names), n_rows, joined, again, partial(_columns, names, commas))
    zoned = frozenset(name for name, writings in found.items() if writings == {dates.ZONED})
    return replace(source, zoned=zoned, dates=found, commas=commas)


def _see_all(path: Path, separator: str, names: list[str], seen: ColumnKinds) -> None:
    """See the cells of undecided columns, of a file that is in order."""
    if not seen.undecided:
        return
    arrow, csv = require("pyarrow", extra="pyarrow"), require("pyarrow.csv", extra="pyarrow")
    asked = {names[at]: at for at in seen.undecided}
    cells = csv.ConvertOptions(include_columns=list(asked), column_types=dict.fromkeys(asked, arrow.string()))
    lines = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    for batch in csv.open_csv(path, parse_options=lines, convert_options=cells):
        if not seen.undecided:
            return
        left = {at: batch.column(name) for name, at in asked.items() if at in seen.undecided}
        seen({at: column.unique().to_pylist() for at, column in left.items()})


def _n_rows(path: Path, separator: str, n_columns: int) -> int | None:
    """Rows of a file, of which each has as many cells; None where some line or byte needs a closer look."""
    n_rows, is_open, n_before, n_seps = -1, False, 0, 0  # the names are no row; bytes and cells of a line so far
    with path.open("rb") as file:
        file.seek(3 if file.read(3) == codecs.BOM_UTF8 else 0)
        while block := file.read(BLOCK) + file.readline():
            if not _is_plain(block):
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


def _is_plain(block: bytes) -> bool:
    """Whether some lines are UTF-8 without NUL, and end as lines do today."""
    if b"\x00" in block or (b"\r" in block and block.count(b"\r") != block.count(b"\r\n")):
        return False
    try:
        return block.isascii() or bool(block.decode())
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


def separated_by(path: Path) -> str:
    """What parts the cells: as the extension says, or else what parts the line of names."""
    usual = SEPARATORS[path.suffix.lower()]
    candidates = (usual, *(other for other in OTHERS if other != usual))
    widths = {separator: _width(path, separator) for separator in candidates}
    return usual if widths[usual] > 1 else max(candidates, key=widths.__getitem__)


def _width(path: Path, separator: str) -> int:
    """Number of cells in the first line; 0 where it cannot be read so, as quotes before another separator cannot."""
    try:
        return len(next(_lines(path, separator), (1, []))[1])
    except InvalidFile:
        return 0


def _read_all(path: Path, separator: str, n_rows: int, texts: set[str], commas: frozenset[str]) -> Any:
    """All rows, with the types that the library of data frames finds; some columns stay text for a closer look."""
    frame = READERS[tables.library()](path, separator, texts)
    if tables.size(frame) != n_rows:
        raise InvalidFile(f"{path} has {n_rows} rows, but {tables.size(frame)} are read from it: take out blank lines")
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


def _lines(path: Path, separator: str) -> Iterator[tuple[int, list[str]]]:
    """Cells of each row, that of the names first, with the line where it begins; blank lines are passed over."""
    start = 1
    try:
        with path.open(encoding=ENCODING, newline="") as file:
            reader = csv.reader(file, delimiter=separator, strict=True)
            for cells in reader:
                if cells or start == 1:
                    yield start, cells
                start = reader.line_num + 1
    except csv.Error as error:
        reason = "it begins a cell with a quote that never ends" if "unexpected end" in str(error) else error
        raise InvalidFile(f"line {start} of {path} cannot be read as a text table: {reason}") from error
    except UnicodeDecodeError as error:
        with path.open("rb") as bad:
            broken = ("\ufffd" in text.decode(errors="replace") for text in bad)
            line = next((at for at, is_broken in enumerate(broken, start=1) if is_broken), 1)
        advice = "save it as UTF-8; text of Windows: iconv -f cp1252 -t utf-8 OLD > NEW"
        raise InvalidFile(f"line {line} of {path} is not UTF-8 text ({error.reason}): {advice}") from error


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


def _by_pandas(path: Path, separator: str, texts: set[str]) -> Any:
    settings = {
        "index_col": False,
        "keep_default_na": False,
        "na_values": list(MISSING),
        "dtype": dict.fromkeys(texts, str),
        "low_memory": False,  # else the first 262,144 rows decide by themselves what they are
    }
    return require("pandas", extra="pandas").read_csv(path, sep=separator, encoding=ENCODING, **settings)


def _by_polars(path: Path, separator: str, texts: set[str]) -> Any:
    polars = require("polars", extra="polars")
    settings = {"null_values": list(MISSING), "infer_schema_length": None}
    return polars.read_csv(path, separator=separator, schema_overrides=dict.fromkeys(texts, polars.String), **settings)


def _by_pyarrow(path: Path, separator: str, texts: set[str]) -> Any:
    csv, text = require("pyarrow.csv", extra="pyarrow"), require("pyarrow", extra="pyarrow").string()
    types = dict.fromkeys(texts, text)  # it would make dates of some of them by itself
    truths = {"true_values": list(TRUE), "false_values": list(FALSE)}  # it would take 0 and 1 for such beside others
    cells = csv.ConvertOptions(null_values=list(MISSING), strings_can_be_null=True, column_types=types, **truths)
    lines = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    return csv.read_csv(path, parse_options=lines, convert_options=cells)


READERS = {"pandas": _by_pandas, "polars": _by_polars, "pyarrow": _by_pyarrow}
