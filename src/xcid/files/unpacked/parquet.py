"""Parquet: the headers of all pages, which say how much room each page needs.

The footer repeats these sizes, but no reader holds it to them. A page is unpacked into as many bytes as its own header
says.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any, NamedTuple

from xcid.files.unpacked.thrift import Reader

MARK = b"PAR1"
MOST_HEADER = 2**16  # bytes; statistics of long text make long headers
ROWS, GROUPS = 3, 4  # fields of the footer
COLUMNS = 1  # of a row group
CHUNK = 3  # of a column of a group: what is told of it
UNPACKED_SIZE, PACKED_SIZE, DATA, DICTIONARY = 6, 7, 9, 11  # of that
UNPACKED, PACKED = 2, 3  # of a page header


class Extent(NamedTuple):
    """How large a file is when it is read."""

    n_rows: int
    n_columns: int
    n_bytes: int


def in_parquet(file: IO[bytes]) -> Extent:
    """Find the rows, the columns and the bytes of all pages of a file."""
    footer = _footer(file)
    groups = [[one[CHUNK] for one in group[COLUMNS]] for group in footer[GROUPS]]
    n_bytes = sum(_chunk(file, chunk) for group in groups for chunk in group)
    return Extent(footer[ROWS], max(map(len, groups), default=0), n_bytes)


def _footer(file: IO[bytes]) -> dict[int, Any]:
    size = file.seek(0, 2)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != MARK or length + 8 > size:
        raise ValueError("the file has no footer")
    file.seek(size - 8 - length)
    return Reader(file.read(length)).struct()


def _chunk(file: IO[bytes], chunk: dict[int, Any]) -> int:
    """Bytes of the pages of one column in one group."""
    start = chunk.get(DICTIONARY) or chunk[DATA]
    pages = sum(_pages(file, start, start + chunk[PACKED_SIZE]))
    return max(pages, chunk[UNPACKED_SIZE])


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
