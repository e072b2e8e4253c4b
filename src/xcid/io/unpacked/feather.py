"""Feather (Arrow's file format): each packed buffer begins with the number of bytes that it unpacks to.

Where the buffers are, FlatBuffers say at the end of the file and in front of each block of rows.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import IO

from xcid.io.unpacked.extent import Extent

MARK = b"ARROW1"
BLOCK = struct.Struct("<qixxxxq")  # offset, bytes of metadata, bytes of buffers
PLACE = struct.Struct("<qq")  # offset, bytes
DICTIONARIES, BATCHES = 2, 3  # fields of the footer
HEADER_TYPE, HEADER = 1, 2  # of a message
DICTIONARY_BATCH = 2
LENGTH, NODES, BUFFERS, COMPRESSION = 0, 1, 2, 3  # of a block of rows
STORED = -1  # the buffer is not packed


def in_feather(file: IO[bytes]) -> Extent:
    """Find the rows, the columns and the bytes of all buffers of a file; every block of rows uses all dictionaries."""
    size = file.seek(0, 2)
    if size < 2 * len(MARK) + 6:
        raise ValueError("the file is too short")
    file.seek(size - len(MARK) - 4)
    length = struct.unpack("<i", file.read(4))[0]
    if not 0 < length <= size:
        raise ValueError("the footer has no size")
    file.seek(size - len(MARK) - 4 - length)
    footer = _Table.root(file.read(length))
    levels, blocks = list(footer.structs(DICTIONARIES, BLOCK)), list(footer.structs(BATCHES, BLOCK))
    if sum(max(0, n_metadata) for _, n_metadata, _ in levels + blocks) > size:  # else some are read again and again
        raise ValueError("the blocks of the file overlap")
    coded, parts = ([_block(file, *block) for block in some] for some in (levels, blocks))
    n_bytes = sum(part.n_bytes for part in parts) + sum(part.n_bytes for part in coded) * max(1, len(parts))
    n_columns = max((part.n_columns for part in parts), default=0)
    return Extent(sum(part.n_rows for part in parts), n_columns, n_bytes, sum(part.n_cells for part in coded + parts))


def _block(file: IO[bytes], offset: int, n_metadata: int, n_body: int) -> Extent:
    file.seek(offset)
    metadata = file.read(max(0, n_metadata))
    skipped = 8 if metadata[:4] == b"\xff\xff\xff\xff" else 4  # older files have no mark of continuation
    message = _Table.root(metadata[skipped:])
    rows = message.table(HEADER)
    if rows is not None and message.byte(HEADER_TYPE) == DICTIONARY_BATCH:
        rows = rows.table(1)
    if rows is None:
        return Extent(0, 0, 0, 0)
    n_rows, nodes, buffers = rows.long(LENGTH), list(rows.structs(NODES, PLACE)), list(rows.structs(BUFFERS, PLACE))
    if min([n_rows, *(n_cells for n_cells, _ in nodes), *(n_bytes for _, n_bytes in buffers)]) < 0:
        raise ValueError("a block of the file has no size")
    is_packed = rows.table(COMPRESSION) is not None
    n_bytes = sum(_buffer(file, offset + n_metadata + start, size, is_packed) for start, size in buffers)
    return Extent(n_rows, len(nodes), n_bytes, sum(max(n_rows, n_cells) for n_cells, _ in nodes))


def _buffer(file: IO[bytes], start: int, n_bytes: int, is_packed: bool) -> int:
    if not is_packed or not n_bytes:
        return n_bytes
    file.seek(start)
    said = struct.unpack("<q", file.read(8))[0]
    return n_bytes if said == STORED else max(said, 0)


class _Table:
    """A table of FlatBuffers."""

    def __init__(self, data: bytes, at: int) -> None:
        self.data, self.at = data, at
        self.names = at - struct.unpack_from("<i", data, at)[0]
        if not 0 <= self.names < len(data):
            raise ValueError("the metadata of the file are damaged")

    @classmethod
    def root(cls, data: bytes) -> _Table:
        return cls(data, struct.unpack_from("<I", data, 0)[0])

    def _place(self, field: int) -> int | None:
        n_bytes = struct.unpack_from("<H", self.data, self.names)[0]
        entry = 4 + 2 * field
        offset = struct.unpack_from("<H", self.data, self.names + entry)[0] if entry + 2 <= n_bytes else 0
        return self.at + offset if offset else None

    def byte(self, field: int) -> int:
        place = self._place(field)
        return 0 if place is None else self.data[place]

    def long(self, field: int) -> int:
        place = self._place(field)
        return 0 if place is None else int(struct.unpack_from("<q", self.data, place)[0])

    def table(self, field: int) -> _Table | None:
        place = self._place(field)
        return None if place is None else _Table(self.data, place + struct.unpack_from("<I", self.data, place)[0])

    def structs(self, field: int, shape: struct.Struct) -> Iterator[tuple[int, ...]]:
        place = self._place(field)
        if place is None:
            return
        start = place + struct.unpack_from("<I", self.data, place)[0]
        count = struct.unpack_from("<I", self.data, start)[0]
        if count * shape.size > len(self.data):
            raise ValueError("the metadata of the file are damaged")
        for at in range(count):
            yield shape.unpack_from(self.data, start + 4 + at * shape.size)
