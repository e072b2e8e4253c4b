"""Parquet and Feather files by pyarrow, all rows at once or some at a time.

What a file holds and how many cells it has is checked before it is read. Its text is counted batch by batch, before it
is written out, and reading ends where it gets too much: what a file says of the size of its text may be a lie.

A file is always opened by its name: pyarrow reads Parquet from an open file in a thread that may outlive the process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from xcid._check import MOST_SHOWN
from xcid._require import require
from xcid.errors import InvalidFile
from xcid.io import sources, tables
from xcid.io.sources import Layout, Pieces, Source

BUFFER = 2**20  # bytes of a Parquet column that are read ahead: without it a row group would be read at once
ROWS_OF_A_BATCH = 2**14  # of a Parquet file that is read at once
TEXT = ("string", "large_string", "string_view")
NESTED = ("list", "large_list", "fixed_size_list", "struct", "map")
KNOWN = ("integer", "floating", "boolean", "date", "timestamp", "null", *TEXT)  # what cells can be, as pyarrow says


def open_parquet(path: Path) -> Source:
    """Open a Parquet file, which is read by row groups."""
    schema, file = parquet_file(path)

    def parts(first: int) -> Iterator[tuple[int, Any]]:
        start, groups = 0, list[int]()
        for group in range(file.metadata.num_row_groups):  # those before the first wanted row are not read
            size = file.metadata.row_group(group).num_rows
            if start + size > first or groups:
                groups.append(group)
            else:
                start += size
        for batch in parquet_file(path)[1].iter_batches(batch_size=sources.ROWS_AT_ONCE, row_groups=groups):
            yield start, batch
            start += len(batch)

    return _source(path, schema, file.metadata.num_rows, lambda: read_parquet(path)[1], parts)


def open_feather(path: Path) -> Source:
    """Open a Feather or Arrow file, which is read by record batches."""
    schema, n_rows = _feather_file(path).schema, 0
    tables.check_cells(path, 1, len(schema.names))
    for batch in _feather_batches(path, [0]):  # there is no other way to their number of rows
        n_rows += len(batch)
        tables.check_cells(path, n_rows, len(schema.names))

    def parts(first: int) -> Iterator[tuple[int, Any]]:
        start = 0
        for batch in _feather_batches(path):
            if start + len(batch) > first:
                for row in range(0, len(batch), sources.ROWS_AT_ONCE):
                    yield start + row, batch.slice(row, sources.ROWS_AT_ONCE)
            start += len(batch)

    return _source(path, schema, n_rows, lambda: _written_out(_feather_batches(path), schema, schema, path), parts)


def read_parquet(path: Path, inner: Callable[[Any], Any] = lambda kind: kind) -> tuple[Any, Any]:
    """The schema and all rows; ``inner`` gives the type that cells must be of for the type of a column."""
    schema, file = parquet_file(path, inner)
    batches = file.iter_batches(batch_size=ROWS_OF_A_BATCH)
    return schema, _written_out(batches, file.schema_arrow, schema, path)


def parquet_file(path: Path, inner: Callable[[Any], Any] = lambda kind: kind) -> tuple[Any, Any]:
    """The schema, and the file with its text coded until its size is known: a short code may repeat a long cell."""
    open_file = require("pyarrow.parquet", extra="pyarrow").ParquetFile
    file = open_file(path)
    said = file.metadata  # of groups only: those of a column end the process where they are damaged
    groups = [said.row_group(at) for at in range(said.num_row_groups)]
    n_rows = max(said.num_rows, sum(max(0, group.num_rows) for group in groups))
    schema = check_schema(path, file.schema_arrow, inner)
    tables.check_cells(path, n_rows, said.num_columns, sum(max(0, group.total_byte_size) for group in groups))
    coded = [file.schema.column(at).path for at, field in enumerate(schema) if _is(inner(field.type), *TEXT)]
    return schema, open_file(path, buffer_size=BUFFER, read_dictionary=coded)


def read_feather(path: Path) -> Any:
    """All rows of a file as an Arrow table, whose codes stay codes."""
    schema, n_rows = _feather_file(path).schema, 0
    batches = list[Any]()
    for batch in _feather_batches(path):
        n_rows += len(batch)
        tables.check_cells(path, n_rows, len(schema.names))
        batches.append(batch)
    return require("pyarrow", extra="pyarrow").Table.from_batches(_count_bytes(batches, path), schema)


def list_values(kind: Any) -> Any:
    """What a cell of a column is, or the cells of its lists, which may hold lists, are."""
    return list_values(kind.value_type) if _is(kind, "list") else kind


def check_schema(path: Path, schema: Any, inner: Callable[[Any], Any] = lambda kind: kind) -> Any:
    """Refuse kinds of columns that no model could take: some of them unpack from nothing to anything."""
    tables.check_names(path, schema.names)
    for field in schema:
        if not _is(_value(inner(field.type)), *KNOWN):
            is_nested = _is(field.type, *NESTED)
            reason = "has lists or objects in its cells" if is_nested else "is of a type that no feature has"
            advice = "flatten it" if is_nested else "make numbers, dates or text of it"
            raise InvalidFile(f"column {field.name!r} of {path} {reason} ({field.type!s:.{MOST_SHOWN}}): {advice}")
    return schema


def _source(
    path: Path, schema: Any, n_rows: int, joined: Callable[[], Any], parts: Callable[[int], Iterator[tuple[int, Any]]]
) -> Source:
    """A file that gives Arrow tables, all of it or some rows at a time."""
    values = [field.with_type(_value(field.type)) for field in schema]
    plain = require("pyarrow", extra="pyarrow").schema(values, metadata=schema.metadata)  # pandas has its index there

    def pieces(first: int, layout: Layout) -> Pieces:
        for start, batch in parts(first):
            yield start, tables.columns(_frame(_written_out([batch], batch.schema, plain, path)), path)

    def frame() -> Any:
        table = joined()
        if len(table) != n_rows:
            raise InvalidFile(f"{path} is damaged: it says that it has {n_rows:,} rows, and {len(table):,} are read")
        return _frame(table)

    empty = _frame(plain.empty_table())
    return Source(path, tables.names(empty), n_rows, frame, pieces, zoned=tables.find_zoned(empty))


def _feather_file(path: Path, columns: list[int] | None = None) -> Any:
    arrow = require("pyarrow", extra="pyarrow")
    file = arrow.ipc.open_file(arrow.memory_map(str(path)), options=arrow.ipc.IpcReadOptions(included_fields=columns))
    check_schema(path, file.schema)
    return file


def _feather_batches(path: Path, columns: list[int] | None = None) -> Iterator[Any]:
    """Record batches, or some columns of them, each of which has the buffers that it says it has."""
    file = _feather_file(path, columns)
    for at in range(file.num_record_batches):
        batch = file.get_batch(at)
        batch.validate()
        yield batch


def _written_out(batches: Iterable[Any], coded: Any, schema: Any, path: Path) -> Any:
    """A table with columns as the schema has them, where that does not take too much room and all text is text."""
    arrow = require("pyarrow", extra="pyarrow")
    table = arrow.Table.from_batches(_count_bytes(batches, path), coded)
    columns = []
    for at, field in enumerate(schema):
        with tables.naming(f"column {field.name!r} of {path}"):
            column = table.column(at)
            column.validate(full=True)
            column = column.cast(_plain(column.type))
            column = column if column.type == field.type else column.combine_chunks().cast(_plain(field.type))
        columns.append(column)
    made = arrow.Table.from_arrays(columns, names=schema.names)
    return made.replace_schema_metadata(schema.metadata)


def _count_bytes(batches: Iterable[Any], path: Path) -> Iterator[Any]:
    """Batches; refuse those that, with all before them, take too much room when each cell is written out."""
    n_written, n_bytes = 0, path.stat().st_size
    for batch in batches:
        for at, (name, column) in enumerate(zip(batch.schema.names, batch.columns, strict=True)):
            where = f"column {name!r} of {path}"
            with tables.naming(where):
                n_written += _n_written(column)
            tables.check_size(f"{where}, with those before it," if at else where, n_bytes, n_written)
        yield batch


def _is(kind: Any, *names: str) -> bool:
    types = require("pyarrow", extra="pyarrow").types
    return any(getattr(types, f"is_{name}")(kind) for name in names)


def _value(kind: Any) -> Any:
    """What a code stands for."""
    return kind.value_type if _is(kind, "dictionary") else kind


def _plain(kind: Any) -> Any:
    """The type without views, which few functions of pyarrow know."""
    arrow = require("pyarrow", extra="pyarrow")
    if not _is(_value(kind), "string_view"):
        return kind
    text = arrow.large_string()
    return arrow.dictionary(kind.index_type, text, kind.ordered) if _is(kind, "dictionary") else text


def _n_written(part: Any) -> int:
    """Bytes of text when each cell is written out, and of the cells of lists."""
    if _is(part.type, "list"):
        cells = part.flatten()
        return tables.CELL * len(cells) + _n_written(cells)
    if not _is(part.type, "dictionary"):
        return int(_lengths(part).sum())
    codes = part.indices.drop_null().to_numpy(zero_copy_only=False).astype(np.uint64)
    lengths = _lengths(part.dictionary)
    if codes.size and codes.max() >= lengths.size:
        raise ValueError(f"a cell has the code {codes.max()}, and there are {lengths.size} levels")
    return int(lengths[codes].sum())


def _lengths(part: Any) -> Any:
    """(n,) bytes of each cell of text, and none of other cells."""
    if _is(part.type, "string_view"):  # each view begins with the length
        return np.frombuffer(part.buffers()[1] or b"", "<i4").reshape(-1, 4)[part.offset :][: len(part), 0].astype(int)
    if _is(part.type, *TEXT):
        compute = require("pyarrow.compute", extra="pyarrow")
        return compute.binary_length(part).fill_null(0).to_numpy(zero_copy_only=False).astype(int)
    return np.zeros(len(part), dtype=int)


def _frame(table: Any) -> Any:
    """An Arrow table as a frame of the library that is installed."""
    if tables.library() == "pandas":
        return table.to_pandas(date_as_object=False)
    return require("polars", extra="polars").from_arrow(table) if tables.library() == "polars" else table
