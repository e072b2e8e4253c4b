"""Rows to explain in chunks: the same rows in the same chunk, whoever asks and however the file is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np

from xcid._check import MOST_SHOWN
from xcid.errors import InvalidData, InvalidFile
from xcid.io import sources, tables
from xcid.io.cells import fit_columns
from xcid.io.sources import Columns, Layout, Pieces, Source
from xcid.io.tables import naming
from xcid.table import FeatureSpace, encode_unseen, frame_of
from xcid.table.columns import is_missing


class Chunk(NamedTuple):
    """Some rows of a table, with their positions in its file, and what they are called there."""

    number: int
    positions: Sequence[int]
    frame: Any
    names: Any  # (n,) the cells of the column that names rows, or the positions

    @property
    def label(self) -> str:
        """Which rows these are."""
        return f"rows {self.positions[0]:,} to {self.positions[-1]:,}"


class Unseen(NamedTuple):
    """Rows with levels or missing cells that the reference data lack: how many, and the first such cell."""

    number: int
    total: int
    place: str  # of the row in its file
    named: str  # the same with the name of the row
    column: str
    level: Any  # None where the cell is missing

    def describe(self) -> str:
        """A note that shows the cell."""
        what = f"a missing {self.column}" if self.level is None else f"{self.column} {self.level!r:.{MOST_SHOWN}}"
        return self._note(self.named, what)

    def describe_redacted(self) -> str:
        """A note that shows neither the cell nor the name of the row."""
        return self._note(self.place, f"a value of {self.column}")

    def _note(self, place: str, what: str) -> str:
        if self.number == 1:
            return f"{place}: {what} is not in the reference data; the model decides whether it can take it"
        return (
            f"{self.number:,} of {self.total:,} rows hold levels or missing cells that the reference data lack, the "
            f"first of them {place}: {what}; the model decides whether it can take them"
        )


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a source, by their positions in it, that are explained as the layout of the reference data has them."""

    source: Source
    layout: Layout
    positions: Sequence[int]

    @property
    def are_rising(self) -> bool:
        """Whether the rows come in the order of the file."""
        if isinstance(self.positions, range):
            return self.positions.step > 0
        return all(first < second for first, second in pairwise(self.positions))

    def count(self, size: int) -> int:
        """Number of chunks of a size."""
        return -(-len(self.positions) // size)

    def __len__(self) -> int:
        return len(self.positions)

    def chunks(self, size: int, wanted: Sequence[int] | None = None) -> Iterator[Chunk]:
        """Chunks of a size, all of them or those with the wanted numbers, which rise."""
        numbers = range(self.count(size)) if wanted is None else wanted
        if not self.are_rising:
            return self._reorder_rows(size, numbers)
        return self._cut(size, iter(numbers))

    def check(self, space: FeatureSpace) -> Unseen | None:
        """Read all rows once and refuse the first that cannot be explained: better now than after hours.

        Give how many hold what the reference data do not have, and the first of them; None where none does.
        """
        n_unseen, first = 0, None
        for chunk in self.chunks(sources.ROWS_AT_ONCE):
            try:
                found = encode_unseen(space, chunk.frame, str(self.source.path))
            except InvalidData as error:
                raise self._find_refused(space, chunk) or error from error
            n_unseen += int(found.unseen.sum())
            if first is None and found.unseen.any():
                from xcid.table.unseen import first_unseen

                at = int(found.unseen.argmax())
                place, name = chunk.positions[at], None if self.layout.roles.id is None else chunk.names[at]
                first = self.source.place(place), self.source.place(place, name), *first_unseen(space, found)
        return None if first is None else Unseen(n_unseen, len(self), *first)

    def _of(self, number: int, size: int) -> Sequence[int]:
        return self.positions[number * size : (number + 1) * size]

    def _cut(self, size: int, numbers: Iterator[int]) -> Iterator[Chunk]:
        number = next(numbers, None)
        if number is None:
            return
        parts, names = list[Columns](), list[Any]()
        for first, columns in self._pieces(self._of(number, size)[0]):
            end = first + len(next(iter(columns.values())))
            while number is not None:
                rows = self._of(number, size)
                here = [row for row in rows if first <= row < end]
                if here:
                    parts.append(self._fit_piece(columns, first, here))
                    names += self._names(columns, first, here)
                if rows[-1] >= end:
                    break
                yield Chunk(number, rows, self._frame(_join_columns(parts)), np.array(names))
                parts, names, number = [], [], next(numbers, None)
            if number is None:
                return
        raise InvalidFile(f"{self.source.path} ends before row {self._of(number, size)[-1]:,}: it has changed")

    def _pieces(self, first: int) -> Pieces:
        with naming(self.source.path):
            yield from self.source.pieces(first, self.layout)

    def _fit_piece(self, columns: Columns, first: int, rows: list[int]) -> Columns:
        """Some rows of a piece, as the reference data have them."""
        at = [row - first for row in rows]
        chosen = {name: _take_cells(columns[name], at) for name in self.layout.columns}
        return fit_columns(self.source, chosen, rows, self.layout)

    def _names(self, columns: Columns, first: int, rows: list[int]) -> list[Any]:
        """What rows of a piece are called: text from the column that names them, or their positions."""
        if self.layout.roles.id is None:
            return rows
        cells = _take_cells(columns[self.layout.roles.id], [row - first for row in rows])
        return [_label(cell, row) for cell, row in zip(cells, rows, strict=True)]

    def _frame(self, columns: Columns) -> Any:
        zoned = [name for name, rule in self.layout.columns.items() if rule.zoned]
        return tables.in_utc(frame_of(columns, tables.library()), zoned)

    def _reorder_rows(self, size: int, numbers: Sequence[int]) -> Iterator[Chunk]:
        """Rows in any order, all in memory: files are read from front to back."""
        rising = replace(self, positions=tuple(sorted(self.positions)))
        (everything,) = rising.chunks(len(rising))
        place = {row: at for at, row in enumerate(rising.positions)}
        for number in numbers:
            rows = self._of(number, size)
            at = [place[row] for row in rows]
            yield Chunk(number, rows, tables.part(everything.frame, at), everything.names[at])

    def _find_refused(self, space: FeatureSpace, chunk: Chunk) -> InvalidData | None:
        """The first row that is refused by itself, with its place in the file in place of its place in the chunk."""
        for at, position in enumerate(chunk.positions):
            try:
                encode_unseen(space, tables.part(chunk.frame, [at]), str(self.source.path))
            except InvalidData as error:
                return error.at(self.source.place(position))
        return None


def names_of(source: Source, layout: Layout) -> list[str]:
    """What all rows of a source are called."""
    column = str(layout.roles.id)
    with naming(source.path):
        pieces = [columns[column] for _, columns in source.pieces(0, layout)]
    return [_label(cell, row) for row, cell in enumerate(chain.from_iterable(pieces))]


def _label(cell: Any, row: int) -> str:
    """What a row is called; a name that is missing is its place."""
    if is_missing(cell):
        return f"row {row}"
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def _take_cells(column: Any, at: list[int]) -> Any:
    return column[at] if isinstance(column, np.ndarray) else [column[one] for one in at]


def _join_columns(parts: list[Columns]) -> Columns:
    cells = {name: [part[name] for part in parts] for name in parts[0]}
    return {
        name: np.concatenate(some) if isinstance(some[0], np.ndarray) else list(chain(*some))
        for name, some in cells.items()
    }
