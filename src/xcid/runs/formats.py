"""What a run writes: a chunk is packed where it is explained, and the packed chunks are joined to one file.

Packing is the slow part, so that it belongs to the workers; to join text is to copy bytes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from xcid._require import require
from xcid.files.formulas import defused
from xcid.files.lines import Columns, harmless, json_lines

LINES_OF_A_GROUP = 2**17  # of a Parquet file or a record batch: what one has to hold in memory to write it


class Format(NamedTuple):
    """How columns become bytes, and how the bytes of all chunks become a file."""

    pack: Callable[[Columns], bytes]
    join: Callable[[Path, Iterable[bytes]], None]


def _pack_csv(columns: Columns) -> bytes:
    text = io.StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(map(defused, columns))
    lines.writerows(harmless(columns))
    return text.getvalue().encode()


def _join_csv(path: Path, packed: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for number, part in enumerate(packed):
            file.write(part if number == 0 else part[part.index(b"\n") + 1 :])  # the names once


def _pack_lines(columns: Columns) -> bytes:
    return "".join(f"{line}\n" for line in json_lines(columns)).encode()


def _join_lines(path: Path, packed: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        file.writelines(packed)


def _join_array(path: Path, packed: Iterable[bytes]) -> None:
    with path.open("wb") as file:
        for number, part in enumerate(packed):
            file.write((b",\n" if number else b"[\n") + part.rstrip(b"\n").replace(b"\n", b",\n"))
        file.write(b"\n]\n")


def _pack_arrow(columns: Columns) -> bytes:
    arrow = require("pyarrow", extra="pyarrow")
    table = arrow.table({name: arrow.array(part.tolist()) for name, part in columns.items()})
    sink = arrow.BufferOutputStream()
    with arrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return bytes(sink.getvalue())


def _join_parquet(path: Path, packed: Iterable[bytes]) -> None:
    _join_tables(packed, lambda schema: require("pyarrow.parquet", extra="pyarrow").ParquetWriter(path, schema))


def _join_feather(path: Path, packed: Iterable[bytes]) -> None:
    _join_tables(packed, lambda schema: require("pyarrow", extra="pyarrow").ipc.new_file(path, schema))


def _join_tables(packed: Iterable[bytes], open_file: Callable[[Any], Any]) -> None:
    groups = _groups(packed)
    first = next(groups)
    with open_file(first.schema) as file:
        file.write_table(first)
        for group in groups:
            file.write_table(group.cast(first.schema))


def _groups(packed: Iterable[bytes]) -> Iterator[Any]:
    """Tables of many chunks each: a file of very small groups is slow to read."""
    arrow = require("pyarrow", extra="pyarrow")
    waiting: list[Any] = []
    for part in packed:
        waiting.append(arrow.ipc.open_stream(part).read_all())
        if sum(map(len, waiting)) >= LINES_OF_A_GROUP:
            yield arrow.concat_tables(waiting).combine_chunks()
            waiting = []
    if waiting:
        yield arrow.concat_tables(waiting).combine_chunks()


_feather = Format(_pack_arrow, _join_feather)
FORMATS = {
    ".csv": Format(_pack_csv, _join_csv),
    ".parquet": Format(_pack_arrow, _join_parquet),
    ".feather": _feather,
    ".arrow": _feather,
    ".json": Format(_pack_lines, _join_array),
    ".jsonl": Format(_pack_lines, _join_lines),
}
