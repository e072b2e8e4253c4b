"""Parquet and Feather files by pyarrow, all rows at once or some at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

from xcid._require import require
from xcid.io import arrow, sources, tables
from xcid.io.sources import Layout, Pieces, Source

Parts: TypeAlias = Iterator[tuple[int, Any]]  # Arrow tables of some rows each, with the position of the first


def parquet(path: Path, n_rows: int) -> Source:
    """Open a Parquet file, which is read by row groups."""
    schema, _ = arrow.parquet_file(path)
    joined = lambda: arrow.written_out(arrow.parquet_file(path)[1].read(), schema, path)  # noqa: E731
    return _source(path, schema, n_rows, joined, _parquet_parts)


def feather(path: Path, n_rows: int) -> Source:
    """Open a Feather or Arrow file, which is read by record batches."""
    schema = arrow.feather_file(path).schema
    joined = lambda: arrow.written_out(_table(_batches(path), schema), schema, path)  # noqa: E731
    return _source(path, schema, n_rows, joined, _feather_parts)


def _source(
    path: Path, schema: Any, n_rows: int, joined: Callable[[], Any], parts: Callable[[Path, int], Any]
) -> Source:
    """A file that gives Arrow tables, all of it or some rows at a time."""

    def pieces(first: int, layout: Layout) -> Pieces:
        for start, table in parts(path, first):
            yield start, tables.columns(_frame(table), path)

    empty = _frame(arrow.values(schema).empty_table())
    return Source(path, tables.names(empty), n_rows, lambda: _frame(joined()), pieces, zoned=tables.zoned(empty))


def _parquet_parts(path: Path, first: int) -> Parts:
    """Parts of row groups; groups before the first wanted row are not read."""
    (schema, file), start = arrow.parquet_file(path), 0
    groups: list[int] = []
    for group in range(file.metadata.num_row_groups):
        size = file.metadata.row_group(group).num_rows
        if start + size > first or groups:
            groups.append(group)
        else:
            start += size
    for batch in file.iter_batches(batch_size=sources.ROWS_AT_ONCE, row_groups=groups):
        yield start, arrow.written_out(_table([batch], batch.schema), arrow.values(schema), path)
        start += len(batch)


def _feather_parts(path: Path, first: int) -> Parts:
    """Parts of record batches."""
    start = 0
    for batch in _batches(path):
        if start + len(batch) > first:
            for row in range(0, len(batch), sources.ROWS_AT_ONCE):
                part = _table([batch.slice(row, sources.ROWS_AT_ONCE)], batch.schema)
                yield start + row, arrow.written_out(part, arrow.values(batch.schema), path)
        start += len(batch)


def _batches(path: Path) -> Iterator[Any]:
    """Record batches, each of which holds what its metadata say."""
    file = arrow.feather_file(path)
    for at in range(file.num_record_batches):
        batch = file.get_batch(at)
        arrow.check_views(batch, path)
        batch.validate(full=True)
        yield batch


def _table(batches: Iterable[Any], schema: Any) -> Any:
    return require("pyarrow", extra="pyarrow").Table.from_batches(batches, schema)


def _frame(table: Any) -> Any:
    """An Arrow table as a frame of the library that is installed."""
    if tables.library() == "pandas":
        return table.to_pandas(date_as_object=False)
    return require("polars", extra="polars").from_arrow(table) if tables.library() == "polars" else table
