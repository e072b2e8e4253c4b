"""Rows of a file in chunks: the same rows in the same chunk, whoever asks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals.stable.v2 as nw

from xcid.errors import InvalidFile


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Some rows of a table.

    Attributes
    ----------
    number : int
    positions : range
        Of the rows in their file.
    frame : data frame
    """

    number: int
    positions: range
    frame: Any

    @property
    def words(self) -> str:
        """Which rows these are."""
        return f"rows {self.positions[0]:,} to {self.positions[-1]:,}"


def count(positions: range, size: int) -> int:
    """Number of chunks of a size."""
    return -(-len(positions) // size)


def rows_of(number: int, positions: range, size: int) -> range:
    """Positions of the rows of a chunk."""
    return positions[number * size : (number + 1) * size]


def cut(
    frames: Iterable[tuple[int, Any]], positions: range, size: int, wanted: Sequence[int], what: str
) -> Iterator[Chunk]:
    """Cut frames, each with the position of its first row, into the wanted chunks, in order.

    Parameters
    ----------
    frames : iterable of (int, data frame)
        One after the other, up to the last wanted row at least.
    positions : range
        Rows that are explained, rising.
    size : int
        Rows of a chunk.
    wanted : sequence of int
        Numbers of chunks, rising.
    what : str
        Name of the table.
    """
    numbers, parts = iter(wanted), []
    number = next(numbers, None)
    for first, frame in frames:
        narwhal = nw.from_native(frame, eager_only=True)
        end = first + len(narwhal)
        while number is not None:
            rows = rows_of(number, positions, size)
            here = [row - first for row in rows if first <= row < end]
            if here:
                parts.append(narwhal[here])
            if rows[-1] >= end:
                break
            yield Chunk(number, rows, nw.concat(parts).to_native() if len(parts) > 1 else parts[0].to_native())
            parts, number = [], next(numbers, None)
        if number is None:
            return
    if number is not None:
        raise InvalidFile(f"{what} ends before row {rows_of(number, positions, size)[-1]:,}: it has changed")
