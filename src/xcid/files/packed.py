"""Parquet and Feather files by pyarrow; how much they unpack to is checked before anything is unpacked."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.files import messages, sources, tables, unpacked
from xcid.files.sources import Layout, Pieces, Source

Parts: TypeAlias = Iterator[tuple[int, Any]]  # Arrow tables of some rows each, with the position of the first
MOST_CELLS, CELLS_PER_BYTE = 2**24, 100  # of a Parquet file: one that exceeds both is refused
BUFFER = 2**20  # bytes of a Parquet column that are read ahead: without it a row group would be read at once


def check_parquet(path: Path) -> None:
    """Refuse a file that is no such thing, or that unpacks to too much."""
    messages.check_packed(path, messages.PARQUET, "Parquet")
    n_bytes = path.stat().st_size
    with path.open("rb") as file:
        extent = unpacked.in_parquet(file)
    n_cells = extent.n_rows * extent.n_columns
    if n_cells > MOST_CELLS and n_cells > CELLS_PER_BYTE * n_bytes:  # a few hundred bytes can unpack to gigabytes
        raise InvalidFile(f"{path} says it has {n_cells:,} cells in {n_bytes:,} bytes: refused, give a smaller table")
    tables.check_width(path, extent.n_columns)
    unpacked.check(path, n_bytes, extent.n_bytes)


def check_feather(path: Path) -> None:
    """Refuse a file that is no such thing, or that unpacks to too much."""
    messages.check_packed(path, messages.FEATHER, "Feather")
    with path.open("rb") as file:
        unpacked.check(path, path.stat().st_size, unpacked.in_feather(file))


def parquet(path: Path) -> Source:
    """Open a Parquet file, which is read by row groups."""
    schema, file = _parquet_file(path)
    n_rows = int(file.metadata.num_rows)
    return _source(path, schema, n_rows, lambda: _decoded(_parquet_file(path)[1].read(), schema, path), _parquet_parts)


def feather(path: Path) -> Source:
    """Open a Feather or Arrow file, which is read by record batches."""
    file = _feather_file(path)
    n_rows = sum(len(file.get_batch(at)) for at in range(file.num_record_batches))
    read_table = require("pyarrow.feather", extra="pyarrow").read_table
    return _source(path, file.schema, n_rows, lambda: read_table(path), _feather_parts)


def _source(
    path: Path, schema: Any, n_rows: int, joined: Callable[[], Any], parts: Callable[[Path, int], Any]
) -> Source:
    """A file that gives Arrow tables, all of it or some rows at a time."""
    tables.check_names(path, schema.names)

    def pieces(first: int, layout: Layout) -> Pieces:
        for start, table in parts(path, first):
            yield start, tables.columns(_frame(table), path)

    return Source(path, tables.names(_frame(schema.empty_table())), n_rows, lambda: _frame(joined()), pieces)


def _parquet_parts(path: Path, first: int) -> Parts:
    """Parts of row groups; groups before the first wanted row are not read."""
    arrow, (schema, file), start = require("pyarrow", extra="pyarrow"), _parquet_file(path), 0
    groups: list[int] = []
    for group in range(file.metadata.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        if start + size > first or groups:
            groups.append(group)
        else:
            start += size
    for batch in file.iter_batches(batch_size=sources.ROWS_AT_ONCE, row_groups=groups):
        yield start, _decoded(arrow.Table.from_batches([batch]), schema, path)
        start += len(batch)


def _feather_parts(path: Path, first: int) -> Parts:
    """Parts of record batches."""
    arrow, file, start = require("pyarrow", extra="pyarrow"), _feather_file(path), 0
    for at in range(file.num_record_batches):
        batch = file.get_batch(at)
        if start + len(batch) > first:
            for row in range(0, len(batch), sources.ROWS_AT_ONCE):
                yield start + row, arrow.Table.from_batches([batch.slice(row, sources.ROWS_AT_ONCE)])
        start += len(batch)


def _feather_file(path: Path) -> Any:
    arrow = require("pyarrow", extra="pyarrow")
    return arrow.ipc.open_file(arrow.memory_map(str(path)))


def _parquet_file(path: Path) -> tuple[Any, Any]:
    """The schema, and the file with its text coded until its size is known: a short code may repeat a long cell."""
    parquet = require("pyarrow.parquet", extra="pyarrow")
    schema = parquet.read_schema(path)
    coded = [field.name for field in schema if _is_text(field)]
    return schema, parquet.ParquetFile(path, buffer_size=BUFFER, read_dictionary=coded)


def _decoded(table: Any, schema: Any, path: Path) -> Any:
    """Text written out, where that does not take too much room."""
    compute = require("pyarrow.compute", extra="pyarrow")
    for field in filter(_is_text, schema):
        at = table.schema.get_field_index(field.name)
        column, n_bytes = table.column(at), 0
        for chunk in column.chunks if str(column.type).startswith("dictionary") else ():
            lengths = compute.binary_length(chunk.dictionary)
            n_bytes += compute.sum(compute.cast(lengths.take(chunk.indices), "int64")).as_py() or 0
        unpacked.check(f"column {field.name!r} of {path}", path.stat().st_size, n_bytes)
        table = table.set_column(at, field.name, column.cast(field.type))
    return table


def _is_text(field: Any) -> bool:
    return str(field.type) in ("string", "large_string", "binary")


def _frame(table: Any) -> Any:
    """An Arrow table as a frame of the library that is installed."""
    if tables.library() == "pandas":
        return table.to_pandas(date_as_object=False)
    return require("polars", extra="polars").from_arrow(table) if tables.library() == "polars" else table
