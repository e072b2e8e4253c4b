"""Rows to explain in chunks: the same rows in the same chunk, whoever asks and however the file is cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from xcid.errors import InvalidData, InvalidFile
from xcid.files import sources, tables
from xcid.files.cells import fitted
from xcid.files.messages import naming
from xcid.files.sources import Columns, Layout, Pieces, Source
from xcid.frames import frame_of
from xcid.space import FeatureSpace


class Chunk(NamedTuple):
    """Some rows of a table, with their positions in its file."""

    number: int
    positions: range
    frame: Any

    @property
    def label(self) -> str:
        """Which rows these are."""
        return f"rows {self.positions[0]:,} to {self.positions[-1]:,}"


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """Rows of a source, by their positions in it, that are explained as the layout of the background has them."""

    source: Source
    layout: Layout
    positions: range

    def count(self, size: int) -> int:
        """Number of chunks of a size."""
        return -(-len(self.positions) // size)

    def __len__(self) -> int:
        return len(self.positions)

    def chunks(self, size: int, wanted: Sequence[int] | None = None) -> Iterator[Chunk]:
        """Chunks of a size, all of them or those with the wanted numbers, which rise."""
        numbers = range(self.count(size)) if wanted is None else wanted
        if self.positions.step < 0:
            return self._backwards(size, numbers)
        return self._cut(size, iter(numbers))

    def check(self, space: FeatureSpace) -> None:
        """Read all rows once and refuse the first that cannot be explained: better now than after hours."""
        for chunk in self.chunks(sources.ROWS_AT_ONCE):
            try:
                space.encode(chunk.frame, str(self.source.path))
            except InvalidData as error:
                raise self._blamed(space, chunk) or error from error

    def _of(self, number: int, size: int) -> range:
        return self.positions[number * size : (number + 1) * size]

    def _cut(self, size: int, numbers: Iterator[int]) -> Iterator[Chunk]:
        number = next(numbers, None)
        if number is None:
            return
        parts: list[Columns] = []
        for first, columns in self._pieces(self._of(number, size)[0]):
            end = first + len(next(iter(columns.values())))
            while number is not None:
                rows = self._of(number, size)
                here = [row for row in rows if first <= row < end]
                if here:
                    parts.append(self._fitted(columns, first, here))
                if rows[-1] >= end:
                    break
                yield Chunk(number, rows, self._frame(_joined(parts)))
                parts, number = [], next(numbers, None)
            if number is None:
                return
        raise InvalidFile(f"{self.source.path} ends before row {self._of(number, size)[-1]:,}: it has changed")

    def _pieces(self, first: int) -> Pieces:
        with naming(self.source.path):
            yield from self.source.pieces(first, self.layout)

    def _fitted(self, columns: Columns, first: int, rows: list[int]) -> Columns:
        """Some rows of a piece, as the background has them."""
        at = [row - first for row in rows]
        chosen = {name: _taken(columns[name], at) for name in self.layout.columns}
        return fitted(self.source, chosen, rows, self.layout)

    def _frame(self, columns: Columns) -> Any:
        zoned = [name for name, rule in self.layout.columns.items() if rule.zoned]
        return tables.in_utc(frame_of(columns, tables.library()), zoned)

    def _backwards(self, size: int, numbers: Sequence[int]) -> Iterator[Chunk]:
        """Rows in falling order, all in memory: files are read from front to back."""
        rising = replace(self, positions=self.positions[::-1])
        (everything,) = rising.chunks(len(rising))
        for number in numbers:
            rows = self._of(number, size)
            yield Chunk(number, rows, tables.part(everything.frame, [rising.positions.index(row) for row in rows]))

    def _blamed(self, space: FeatureSpace, chunk: Chunk) -> InvalidData | None:
        """The first row that is refused by itself, with its place in the file in place of its place in the chunk."""
        for at, position in enumerate(chunk.positions):
            try:
                space.encode(tables.part(chunk.frame, [at]), str(self.source.path))
            except InvalidData as error:
                return InvalidData(str(error).replace("in row 0", f"in {self.source.place(position)}"))
        return None


def _taken(column: Any, at: list[int]) -> Any:
    return column[at] if isinstance(column, np.ndarray) else [column[one] for one in at]


def _joined(parts: list[Columns]) -> Columns:
    cells = {name: [part[name] for part in parts] for name in parts[0]}
    return {
        name: np.concatenate(some) if isinstance(some[0], np.ndarray) else list(chain(*some))
        for name, some in cells.items()
    }
