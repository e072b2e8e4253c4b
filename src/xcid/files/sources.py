"""A table in a file, however it is written: its columns, and its rows at once or some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from xcid.files import tables
from xcid.files.layout import Layout

Columns: TypeAlias = dict[str, Any]  # arrays or lists of cells, of one length
Pieces: TypeAlias = Iterator[tuple[int, Columns]]  # some rows each, with the position of the first
Lines: TypeAlias = Iterator[tuple[int | None, Any]]  # the cells of each row, with its line in the file
ROWS_AT_ONCE = 4096  # of a piece


@dataclass(frozen=True, slots=True, eq=False)
class Source:
    """A table that was looked through, and can be read as often as it is needed.

    Attributes
    ----------
    path : Path
    names : tuple of str
        Of the columns.
    n_rows : int
    joined : callable
        Gives all rows as a data frame, whose types follow from its cells.
    pieces : callable
        From the first wanted row and a layout to some rows at a time, up to the end. Pieces before that row may be
        left out.
    line : callable
        From a row to its line in a text file, counted from 1.
    """

    path: Path
    names: tuple[str, ...]
    n_rows: int
    joined: Callable[[], Any]
    pieces: Callable[[int, Layout], Pieces]
    line: Callable[[int], int | None] = lambda row: None

    def place(self, row: int) -> str:
        """Name a row by its position, as ``--rows`` does, and in a text file by its line."""
        line = self.line(row)
        return f"row {row}" if line is None else f"row {row} (line {line})"


def held(path: Path, frame: Any, line: Callable[[int], int | None] = lambda row: None) -> Source:
    """A table that is in memory already, in one piece."""

    def pieces(first: int, layout: Layout) -> Pieces:
        yield 0, tables.columns(frame, path)

    return Source(path, tables.names(frame), tables.size(frame), lambda: frame, pieces, line)


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
