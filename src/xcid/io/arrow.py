"""Arrow tables from Parquet and Feather files: what they hold and how large they get is checked before they are read.

A file is always opened by its name: pyarrow reads Parquet from an open file in a thread that may outlive the process.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.io import messages, tables, unpacked
from xcid.io.messages import MOST_SHOWN

BUFFER = 2**20  # bytes of a Parquet column that are read ahead: without it a row group would be read at once
TEXT = ("string", "large_string", "string_view")
NESTED = ("list", "large_list", "fixed_size_list", "struct", "map")
KNOWN = ("integer", "floating", "boolean", "date", "timestamp", "null", *TEXT)  # what cells can be, as pyarrow says


def _check(mark: bytes, kind: str, measure: Callable[[IO[bytes]], unpacked.Extent], path: Path) -> int:
    """Refuse a file that is no such thing, or that unpacks to too much; its number of rows."""
    messages.check_packed(path, mark, kind)
    with path.open("rb") as file:
        extent = measure(file)
    tables.check_width(path, extent.n_columns)
    unpacked.check(path, path.stat().st_size, extent.size)
    return extent.n_rows


check_parquet = partial(_check, messages.PARQUET, "Parquet", unpacked.in_parquet)
check_feather = partial(_check, messages.FEATHER, "Feather", unpacked.in_feather)


def itself(kind: Any) -> Any:
    """What a cell of a plain column is."""
    return kind


def listed(kind: Any) -> Any:
    """What a cell of a column is, or the cells of its lists are."""
    return kind.value_type if _is(kind, "list") else kind


def parquet_file(path: Path, inner: Callable[[Any], Any] = itself) -> tuple[Any, Any]:
    """The schema, and the file with its text coded until its size is known: a short code may repeat a long cell."""
    open_file = require("pyarrow.parquet", extra="pyarrow").ParquetFile
    file = open_file(path)
    schema = check_schema(path, file.schema_arrow, inner)
    coded = [file.schema.column(at).path for at, field in enumerate(schema) if _is(inner(field.type), *TEXT)]
    return schema, open_file(path, buffer_size=BUFFER, read_dictionary=coded)


def feather_file(path: Path) -> Any:
    """The file, whose schema holds what can be read."""
    arrow = require("pyarrow", extra="pyarrow")
    file = arrow.ipc.open_file(arrow.memory_map(str(path)))
    check_schema(path, file.schema)
    return file


def check_schema(path: Path, schema: Any, inner: Callable[[Any], Any] = itself) -> Any:
    """Refuse kinds of columns that no model could be asked about: some of them unpack from nothing to anything."""
    tables.check_names(path, schema.names)
    for field in schema:
        if not _is(_value(inner(field.type)), *KNOWN):
            is_nested = _is(field.type, *NESTED)
            reason = "has lists or objects in its cells" if is_nested else "is of a type that no feature has"
            advice = "flatten it" if is_nested else "make numbers, dates or text of it"
            raise InvalidFile(f"column {field.name!r} of {path} {reason} ({field.type!s:.{MOST_SHOWN}}): {advice}")
    return schema


def values(schema: Any) -> Any:
    """The schema without codes."""
    arrow = require("pyarrow", extra="pyarrow")
    fields = [arrow.field(field.name, _value(field.type)) for field in schema]
    return arrow.schema(fields, metadata=schema.metadata)  # pandas says there which columns are its index


def written_out(table: Any, schema: Any, path: Path) -> Any:
    """A table with columns as the schema has them, where that does not take too much room and all text is text."""
    n_letters, n_bytes, columns = 0, path.stat().st_size, []
    for at, field in enumerate(schema):
        column, name = table.column(at), f"column {field.name!r} of {path}"
        with messages.naming(name):
            n_letters += sum(map(_n_letters, column.chunks))
            unpacked.check(f"{name}, with those before it," if at else name, n_bytes, n_letters)
            column = column.cast(_plain(column.type)).cast(_plain(field.type))
            column.validate(full=True)
        columns.append(column)
    made = require("pyarrow", extra="pyarrow").Table.from_arrays(columns, names=schema.names)
    return made.replace_schema_metadata(table.schema.metadata)


def check_views(batch: Any, path: Path) -> None:
    """Refuse views that repeat too much text before any of it is looked through."""
    n_letters = 0
    for name, column in zip(batch.schema.names, batch.columns, strict=True):
        if _is(column.type, "string_view"):
            n_letters += int(_lengths(column).sum())
            unpacked.check(f"column {name!r} of {path}", path.stat().st_size, n_letters)


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


def _n_letters(part: Any) -> int:
    """Bytes of text when each cell is written out."""
    if _is(part.type, "list"):
        return _n_letters(part.flatten())
    if not _is(part.type, "dictionary"):
        return int(_lengths(part).sum())
    codes = part.indices.drop_null().to_numpy(zero_copy_only=False).astype(np.uint64)
    lengths = _lengths(part.dictionary)
    if codes.size and codes.max() >= lengths.size:
        raise ValueError(f"a cell has the code {codes.max()}, and there are {lengths.size} levels")
    return int(lengths[codes].sum())


def _lengths(part: Any) -> Any:
    """(n,) bytes of each cell of text, and none of other cells."""
    compute = require("pyarrow.compute", extra="pyarrow")
    if _is(part.type, "string_view"):  # each view begins with the length
        return np.frombuffer(part.buffers()[1] or b"", "<i4").reshape(-1, 4)[part.offset :][: len(part), 0].astype(int)
    if _is(part.type, *TEXT):
        return compute.binary_length(part).fill_null(0).to_numpy(zero_copy_only=False).astype(int)
    return np.zeros(len(part), dtype=int)
