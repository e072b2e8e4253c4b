"""Parquet: the headers of all pages, which say how much room each page needs.

The footer repeats these sizes, but no reader holds it to them. A page is unpacked into as many bytes as its own header
says. Both are written in Thrift's compact protocol; pyarrow reads that too, but a footer that is damaged in some places
ends the whole process there.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from xcid.io.unpacked.extent import Extent

MARK = b"PAR1"
MOST_HEADER = 2**16  # bytes; statistics of long text make long headers
SCHEMA, ROWS, GROUPS = 2, 3, 4  # fields of the footer
CHILDREN = 5  # of an element of the schema
COLUMNS, GROUP_ROWS = 1, 3  # of a row group
CHUNK = 3  # of a column of a group: its metadata
CELLS, UNPACKED_SIZE, PACKED_SIZE, DATA, DICTIONARY = 5, 6, 7, 9, 11  # of that
UNPACKED, PACKED = 2, 3  # of a page header
TRUE, FALSE, BYTE, DOUBLE, BINARY, LIST, SET, MAP, STRUCT = 1, 2, 3, 7, 8, 9, 10, 11, 12  # kinds of values in Thrift
MOST_DEPTH = 32


def in_parquet(file: IO[bytes]) -> Extent:
    """Find the rows, the columns and the bytes of all pages of a file."""
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MARK or length + 8 > size:
        raise ValueError("the file has no footer")
    file.seek(size - 8 - length)
    footer = Reader(file.read(length)).struct()
    _check_depth(footer[SCHEMA])
    groups = [(group[GROUP_ROWS], [one[CHUNK] for one in group[COLUMNS]]) for group in footer[GROUPS]]
    chunks = [(n_rows, chunk) for n_rows, group in groups for chunk in group]
    if sum(max(0, chunk[PACKED_SIZE]) for _, chunk in chunks) > size:  # else a few bytes are read again and again
        raise ValueError("the columns of the file overlap")
    n_rows = max(footer[ROWS], sum(max(0, n_rows) for n_rows, _ in groups))
    n_columns = max(len(footer[SCHEMA]) - 1, *(len(group) for _, group in groups), 0)
    n_cells = max(n_rows * n_columns, sum(max(n_rows, chunk[CELLS]) for n_rows, chunk in chunks))
    return Extent(footer[ROWS], n_columns, sum(_chunk(file, chunk) for _, chunk in chunks), n_cells)


def _check_depth(elements: list[dict[int, Any]]) -> None:
    """Refuse columns within columns within columns: libraries follow them until their stack ends."""
    open_ends: list[int] = []  # elements that are still to come, at each depth
    for element in elements:
        while open_ends and not open_ends[-1]:
            open_ends.pop()
        if open_ends:
            open_ends[-1] -= 1
        open_ends.append(element.get(CHILDREN) or 0)
        if len(open_ends) > MOST_DEPTH:
            raise ValueError("its columns are nested too deep: flatten them")


def _chunk(file: IO[bytes], chunk: dict[int, Any]) -> int:
    """Bytes of the pages of one column in one group."""
    start = chunk.get(DICTIONARY) or chunk[DATA]
    pages = sum(_pages(file, start, start + chunk[PACKED_SIZE]))
    return max(pages, int(chunk[UNPACKED_SIZE]))


def _pages(file: IO[bytes], start: int, end: int) -> Iterator[int]:
    """Bytes that each page between two places unpacks to."""
    while start < end:
        file.seek(start)
        reader = Reader(file.read(min(MOST_HEADER, end - start)))
        header = reader.struct()
        if header[PACKED] < 0 or header[UNPACKED] < 0:
            raise ValueError(f"the page at byte {start} has no size")
        yield header[UNPACKED]
        start += reader.at + header[PACKED]


class Reader:
    """Reads values from the beginning of some bytes; ``at`` is the place behind what was read."""

    def __init__(self, data: bytes) -> None:
        self.data, self.at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read values by the number of their field: whole numbers, structs and lists; None for all else."""
        found: dict[int, Any] = {}
        number = 0
        while kind := (head := self._byte()) & 0x0F:
            number = number + (head >> 4) if head >> 4 else self._signed()
            found[number] = self._value(kind, depth + 1)
        return found

    def _value(self, kind: int, depth: int) -> Any:
        if depth > MOST_DEPTH or kind == MAP or kind > STRUCT:
            raise ValueError("the metadata are nested too deep, or hold fields of an unknown kind")
        if kind == STRUCT:
            return self.struct(depth)
        if kind in (LIST, SET):
            return self._list(depth)
        if kind in (TRUE, FALSE):
            return None
        if kind in (BINARY, DOUBLE, BYTE):
            length = self._plain() if kind == BINARY else 8 if kind == DOUBLE else 1
            self.at += length
            return None
        return self._signed()

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._plain()
        if count > len(self.data) - self.at:  # each takes a byte at least
            raise ValueError("the metadata hold a list without end")
        kind = BYTE if head & 0x0F in (TRUE, FALSE) else head & 0x0F
        return [self._value(kind, depth + 1) for _ in range(count)]

    def _byte(self) -> int:
        if not 0 <= self.at < len(self.data):
            raise ValueError("the metadata have no end")
        self.at += 1
        return self.data[self.at - 1]

    def _plain(self) -> int:
        """A number in groups of seven bits."""
        value = shift = 0
        while (byte := self._byte()) & 0x80:
            value, shift = value | (byte & 0x7F) << shift, shift + 7
            if shift > 63:
                raise ValueError("the metadata hold a number without end")
        return value | byte << shift

    def _signed(self) -> int:
        value = self._plain()
        return (value >> 1) ^ -(value & 1)
