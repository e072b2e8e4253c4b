"""A table in a file, however it is written: what its columns must be, and its rows at once or some at a time.

What the columns must be, the reference data decide, not the rows that a piece happens to have.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

import narwhals.stable.v2 as nw
import numpy as np

from xcid._check import describe_differences, meant, shown
from xcid.errors import InvalidData
from xcid.io import dates, tables
from xcid.io.dates import Writing
from xcid.table import FeatureSpace

Kind: TypeAlias = Literal["number", "whole number", "date", "level"]
TRUE, FALSE = ("True", "TRUE", "true"), ("False", "FALSE", "false")  # as pandas reads them
Columns: TypeAlias = dict[str, Any]  # arrays or lists of cells, of one length
Pieces: TypeAlias = Iterator[tuple[int, Columns]]  # some rows each, with the position of the first
Lines: TypeAlias = Iterator[tuple[int | None, Any]]  # the cells of each row, with its line in the file
ROWS_AT_ONCE = 4096  # of a piece
MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL")  # the same for all libraries
WITH_COMMAS = ";"  # what parts cells where numbers may have decimal commas
MARKED = {mark: re.compile(rf"[-+]?\d*[{mark}]\d+([eE][-+]?\d+)?", re.ASCII) for mark in ",."}
OPEN = {mark: re.compile(rf"[-+]?([1-9]\d{{0,2}})?[{mark}]\d{{3}}", re.ASCII) for mark in ",."}  # may be thousands


class Roles(NamedTuple):
    """Columns that are no features, and those that are dates, however they are written."""

    target: str | None = None
    weights: str | None = None
    id: str | None = None  # what names the rows
    drop: tuple[str, ...] = ()
    dates: tuple[str, ...] = ()
    found: tuple[str, ...] = ()  # dates that nobody asked for

    @property
    def all_dates(self) -> tuple[str, ...]:
        """Names of columns that are read as dates."""
        return (*self.dates, *self.found)

    @property
    def left_out(self) -> tuple[str | None, ...]:
        """Names of columns that are no features."""
        return (self.target, self.weights, self.id, *self.drop)


class Rule(NamedTuple):
    """What the cells of a column must be."""

    kind: Kind
    levels: tuple[Any, ...]
    zoned: bool = False  # whether its times have a time zone
    writing: Writing | None = None  # of its dates, where the reference data are text
    day_first: bool = False  # where rows leave that open, since it was asked for

    def choose_writing(self, found: frozenset[Writing]) -> Writing:
        """The writing of dates that may have some: as their file tells, the reference data have them, or was asked."""
        usual = self.writing or (dates.ZONED if self.zoned else dates.ISO)
        is_open = len(found) > 1 and usual not in {*found, *dates.MONTH_FIRST.values()}
        return dates.day_first(found) if is_open and self.day_first else dates.choose_writing(found, usual)


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of rows to explain; those that are no features may be among them, and are left out."""

    columns: dict[str, Rule]
    roles: Roles

    @classmethod
    def of(cls, background: Any, space: FeatureSpace, roles: Roles, writings: Mapping[str, Writing]) -> Layout:
        """The layout of reference data that have none of the columns that are left out."""
        types = nw.from_native(background, eager_only=True).schema
        columns = {}
        for column, dtype in zip(space.columns, types.values(), strict=True):
            number: Kind = "whole number" if dtype.is_integer() else "number"
            kind: Kind = "level" if column.levels else "date" if column.unit else number
            columns[column.name] = Rule(
                kind, column.levels, column.zoned, writings.get(column.name), column.name in roles.dates
            )
        return cls(columns, roles)

    @property
    def read(self) -> tuple[str, ...]:
        """Names of the columns that are read: the features, and what names the rows."""
        return (*self.columns, *([] if self.roles.id is None else [self.roles.id]))

    def check_names(self, path: Path, names: Sequence[str]) -> None:
        """Refuse a table with other columns."""
        if self.roles.id is not None and self.roles.id not in names:
            asked = f"{self.roles.id!r}{meant(self.roles.id, names)}"
            raise InvalidData(f"{path} has no column {asked} to name its rows by; its columns are {shown(names)}")
        found = [name for name in names if name not in self.roles.left_out]
        if not found:
            raise InvalidData(f"no feature is left in {path}: its columns are {shown(names)}, and all are left out")
        missed = [name for name in self.columns if name not in found]
        extra = [name for name in found if name not in self.columns]
        if missed or extra:
            raise InvalidData(
                f"{path} has {len(found)} columns and the reference data have {len(self.columns)}: "
                f"{describe_differences(missed, extra)}; --target, --id and --drop leave columns out"
            )

    def parser(self, name: str) -> Callable[[str], Any]:
        """From the text of a cell to what it stands for; text that cannot be that stays text, and is refused later."""
        if name == self.roles.id:
            return str
        rule = self.columns[name]
        level = type(rule.levels[0]) if rule.levels else float
        if rule.kind == "date" or level is str:
            return str
        return _truth if level is bool else number


def number(text: str) -> Any:
    """The number that a text is, as all libraries read it; else the text.

    Examples
    --------
    >>> number("1e3"), number(" 2.5"), number("1_000"), number("many")
    (1000.0, 2.5, '1_000', 'many')
    """
    try:
        value = float(text)
    except ValueError:
        return text
    is_python_only = "_" in text or value != value or not text.isascii()
    return text if is_python_only else value


def with_comma(text: str) -> Any:
    """The number that a text is, which may have a decimal comma; else the text.

    Examples
    --------
    >>> with_comma("40340,74"), with_comma("12"), with_comma("1,2,3")
    (40340.74, 12.0, '1,2,3')
    """
    return number(text.replace(",", ".")) if MARKED[","].fullmatch(text) else number(text)


def plain_numbers(texts: tuple[str, ...]) -> Any:
    """A column of plain numbers at once; None where some cell needs a closer look."""
    try:
        values = np.array(list(map(float, texts)))
    except ValueError:
        return None
    together = "".join(texts)
    is_plain = together.isascii() and "_" not in together and not np.isnan(values).any()
    return values if is_plain else None


def _truth(text: str) -> Any:
    return True if text in TRUE else False if text in FALSE else text


class ColumnKinds:
    """What columns can be, as far as their cells were seen: dates of some writing, numbers with decimal commas."""

    def __init__(self, separator: str, n_columns: int) -> None:
        self.dates = dict.fromkeys(range(n_columns), dates.WRITINGS)  # until a cell is none
        self.without = {mark: set(range(n_columns if separator == WITH_COMMAS else 0)) for mark in MARKED}
        self.open = {mark: dict.fromkeys(some, "") for mark, some in self.without.items()}  # with a number, if any

    @property
    def undecided(self) -> list[int]:
        """Columns that have to be looked through to the end."""
        return sorted(self.without["."].union(self.dates, self.open["."]))

    def __call__(self, columns: Mapping[int, Collection[str]]) -> None:
        """See some cells of each undecided column."""
        for at in tuple(self.dates):
            self.dates[at] = dates.find_shared_writings(set(columns[at]).difference(MISSING), self.dates[at])
            if not self.dates[at]:
                del self.dates[at]
        for mark, some in self.without.items():
            found = {at: _find_numbers(mark, columns[at]) for at in columns if at in some or at in self.open[mark]}
            some -= {at for at, numbers in found.items() if numbers}
            self.open[mark] = {
                at: cell or next((one for one in found.get(at, []) if one.lstrip("+-")[0] != mark), "")
                for at, cell in self.open[mark].items()
                if all(map(OPEN[mark].fullmatch, found.get(at, [])))
            }

    @property
    def commas(self) -> set[int]:
        """Columns with decimal commas, and without decimal points."""
        return self.without["."] - self.without[","]

    @property
    def unclear(self) -> dict[int, str]:
        """A cell of each column whose marks may all part thousands: points, or commas if only points part decimals."""
        points = self.without[","] - self.without["."]
        marks = ".," if points.difference(self.open["."]) and self.commas.issubset(self.open[","]) else "."
        return {at: cell for mark in marks for at, cell in self.open[mark].items() if cell}


def _find_numbers(mark: str, texts: Collection[str]) -> list[str]:
    """The numbers with a decimal comma, or a decimal point."""
    return [text for text in texts if MARKED[mark].fullmatch(text)] if mark in "".join(texts) else []


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table that was looked through, and can be read as often as it is needed."""

    path: Path
    names: tuple[str, ...]  # of the columns
    n_rows: int
    joined: Callable[[], Any]  # all rows as a data frame, whose types follow from its cells
    pieces: Callable[[int, Layout], Pieces]  # from the piece with some row, or an earlier one, up to the end
    line: Callable[[int], int | None] = lambda row: None  # of a row in a text file, counted from 1
    zoned: frozenset[str] = frozenset()  # columns whose times have a time zone; cells have them in UTC
    dates: Mapping[str, frozenset[Writing]] = field(
        default_factory=dict
    )  # columns of text that are dates, if it is one
    commas: frozenset[str] = frozenset()  # columns of text whose numbers have decimal commas
    unclear: Mapping[str, str] = field(default_factory=dict)  # columns whose marks may part thousands, with a cell
    encoding: str = ""  # of a text file

    def place(self, row: int, name: object = None) -> str:
        """Name a row by its position, as ``--rows`` does, or by its name; and in a text file by its line."""
        line, called = self.line(row), f"row {row if name is None else name}"
        return called if line is None else f"{called} (line {line})"


def hold_frame(path: Path, frame: Any, line: Callable[[int], int | None] = lambda row: None) -> Source:
    """A table that is in memory already, in one piece."""

    def pieces(first: int, layout: Layout) -> Pieces:
        yield 0, tables.columns(frame, path)

    return Source(path, tables.names(frame), tables.size(frame), lambda: frame, pieces, line, tables.find_zoned(frame))


def text(
    path: Path,
    names: tuple[str, ...],
    n_rows: int,
    joined: Callable[[], Any],
    lines: Callable[[], Lines],
    columns: Callable[[list[Any], Layout], Columns],
) -> Source:
    """A text file, line by line; what its lines hold becomes columns as the layout wants them."""

    def pieces(first: int, layout: Layout) -> Pieces:
        rows = (row for _, row in islice(lines(), first, None))
        while part := list(islice(rows, ROWS_AT_ONCE)):
            yield first, columns(part, layout)
            first += len(part)

    return Source(path, names, n_rows, joined, pieces, lambda row: next(islice(lines(), row, None))[0])
