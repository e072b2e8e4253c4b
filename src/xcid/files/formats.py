"""What a table is written as: columns are packed to bytes where they are made, and packed pieces joined to a file.

Packing is the slow part, which the workers of a large run do; to join text is to copy bytes.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeAlias

from xcid._require import require
from xcid.files.formulas import defused

Columns: TypeAlias = Mapping[str, Any]  # arrays of one length
Add: TypeAlias = Callable[[bytes], Any]
LINES_OF_A_GROUP = 2**17  # of a Parquet file or a record batch: what one has to hold in memory to write it


class Format(NamedTuple):
    """How columns become bytes; and for a file to write to, how to add packed pieces to it."""

    pack: Callable[[Columns], bytes]
    joining: Callable[[Any], contextlib.AbstractContextManager[Add]]


def _lines(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """The cells of each line; None for a number that is none."""
    return zip(*(map(_or_missing, part.tolist()) for part in columns.values()), strict=True)


def _or_missing(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell


def _pack_csv(columns: Columns) -> bytes:
    """Lines for files that spreadsheets open: text that would be a formula is marked."""
    text = io.StringIO(newline="")
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(map(defused, columns))
    lines.writerows(map(defused, line) for line in _lines(columns))
    return text.getvalue().encode()


@contextlib.contextmanager
def _joining_csv(file: Any) -> Iterator[Add]:
    """Write the names once."""
    is_first = True

    def add(part: bytes) -> None:
        nonlocal is_first
        file.write(part if is_first else part[part.index(b"\n") + 1 :])
        is_first = False

    yield add


def _pack_json(columns: Columns) -> bytes:
    """One object a line, in strict JSON."""
    objects = (dict(zip(columns, line, strict=True)) for line in _lines(columns))
    return "".join(f"{json.dumps(one, ensure_ascii=False, allow_nan=False)}\n" for one in objects).encode()


@contextlib.contextmanager
def _joining_lines(file: Any) -> Iterator[Add]:
    yield file.write


@contextlib.contextmanager
def _joining_array(file: Any) -> Iterator[Add]:
    """Write one list of all objects."""
    mark = b"["

    def add(part: bytes) -> None:
        nonlocal mark
        file.write(mark + b"\n" + part.rstrip(b"\n").replace(b"\n", b",\n"))
        mark = b","

    yield add
    file.write(b"[]\n" if mark == b"[" else b"\n]\n")


def _pack_arrow(columns: Columns) -> bytes:
    cells = {name: part.tolist() for name, part in columns.items()}
    sink = io.BytesIO()
    if not _has_pyarrow():
        _polars().DataFrame(cells).write_ipc_stream(sink)
        return sink.getvalue()
    arrow = require("pyarrow", extra="pyarrow")
    table = arrow.table(cells)
    with arrow.ipc.new_stream(sink, table.schema) as stream:
        stream.write_table(table)
    return sink.getvalue()


def _joining_arrow(opened: Callable[[Any, Any], Any], method: str) -> Callable[[Any], Any]:
    """Add by pyarrow to an opened file, in groups of many pieces; by a method of polars where pyarrow is missing."""

    @contextlib.contextmanager
    def joining(file: Any) -> Iterator[Add]:
        waiting: list[Any] = []
        if not _has_pyarrow():
            yield lambda part: waiting.append(_polars().read_ipc_stream(part))
            getattr(_polars().concat(waiting), method)(file)
            return
        arrow = require("pyarrow", extra="pyarrow")
        with contextlib.ExitStack() as stack:
            outs: list[Any] = []

            def flush() -> None:
                group = arrow.concat_tables(waiting).combine_chunks()
                waiting.clear()
                if not outs:
                    outs.extend((stack.enter_context(opened(file, group.schema)), group.schema))
                outs[0].write_table(group.cast(outs[1]))

            def add(part: bytes) -> None:
                waiting.append(arrow.ipc.open_stream(part).read_all())
                if sum(map(len, waiting)) >= LINES_OF_A_GROUP:  # a file of very small groups is slow to read
                    flush()

            yield add
            if waiting:
                flush()

    return joining


def _parquet_file(file: Any, schema: Any) -> Any:
    return require("pyarrow.parquet", extra="pyarrow").ParquetWriter(file, schema)


def _feather_file(file: Any, schema: Any) -> Any:
    return require("pyarrow", extra="pyarrow").ipc.new_file(file, schema)


def _has_pyarrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def _polars() -> Any:
    return require("polars", extra="pyarrow")


_feather = Format(_pack_arrow, _joining_arrow(_feather_file, "write_ipc"))
FORMATS = {
    ".csv": Format(_pack_csv, _joining_csv),
    ".parquet": Format(_pack_arrow, _joining_arrow(_parquet_file, "write_parquet")),
    ".feather": _feather,
    ".arrow": _feather,
    ".json": Format(_pack_json, _joining_array),
    ".jsonl": Format(_pack_json, _joining_lines),
}
