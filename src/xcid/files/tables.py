"""Tables from files, by whichever library of data frames is installed."""

from __future__ import annotations

import contextlib
import importlib.util
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from xcid._require import require
from xcid.errors import InvalidData, InvalidFile, XcidError
from xcid.files import cells, delimited, objects, signatures, unpacked
from xcid.frames import frame_of
from xcid.space import Backend

PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
LIBRARIES: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
MOST_CELLS, CELLS_PER_BYTE = 2**24, 100  # of a Parquet file: one that exceeds both is refused


def read(path: Path) -> Any:
    """Read a data frame; what kind of file it is, its extension says."""
    reader = READERS.get(path.suffix.lower())
    if path.suffix.lower() in PACKED:
        raise InvalidFile(f"{path} is packed text, which is not read: unpack it first")
    if reader is None:
        raise InvalidFile(f"{path} is no table that can be read: the extensions are {', '.join(READERS)}")
    with _named(path):
        _check_file(path)
        frame = reader(path)
        narwhal = nw.from_native(frame, eager_only=True)
        if not len(narwhal) or not narwhal.columns:
            raise InvalidFile(f"{path} is empty: it has {len(narwhal)} rows and {len(narwhal.columns)} columns")
        cells.check(path, narwhal)
        return frame


@contextlib.contextmanager
def _named(path: Path) -> Iterator[None]:
    """Every library fails in its own way: say which file it was."""
    try:
        yield
    except (XcidError, MemoryError):
        raise
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or delimited.short(error)}") from error
    except Exception as error:
        raise InvalidFile(f"{path} cannot be read: {type(error).__name__}: {delimited.short(error)}") from error


def _check_file(path: Path) -> None:
    if not path.exists():
        raise InvalidFile(f"there is no file {path}")
    if not path.is_file() or not path.stat().st_size:
        raise InvalidFile(f"{path} is {'empty' if path.is_file() else 'no file'}: a table is needed")


def without(frame: Any, column: str | None) -> Any:
    """The frame without a column, if it has it; something must be left."""
    narwhal = nw.from_native(frame, eager_only=True)
    if column is None or column not in narwhal.columns:
        return frame
    if len(narwhal.columns) == 1:
        raise InvalidData(f"there is no column but the target {column!r}: features are needed")
    return narwhal.drop(column).to_native()


def check_columns(frame: Any, known: Any) -> None:
    """Refuse columns that the model was not fitted on, where it knows: one of them may be the target."""
    extra = [name for name in nw.from_native(frame, eager_only=True).columns if known is not None and name not in known]
    if extra:
        raise InvalidData(
            f"the background has the columns {extra}, which the model was not fitted on: if one of them is the target, "
            f"say so with --target {extra[0]}"
        )


def column_of(frame: Any, name: str) -> nw.Series[Any]:
    """One column."""
    narwhal = nw.from_native(frame, eager_only=True)
    if name not in narwhal.columns:
        raise InvalidData(f"there is no target column {name!r}; the columns are {narwhal.columns}")
    return narwhal.get_column(name)


def part(frame: Any, positions: range | list[int]) -> Any:
    """Some rows of a frame."""
    return nw.from_native(frame, eager_only=True)[list(positions)].to_native()


def size(frame: Any) -> int:
    """Number of rows."""
    return len(nw.from_native(frame, eager_only=True))


def library() -> Backend:
    """The first library of data frames that is installed."""
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    require("pandas", extra="pandas")  # says how to get it
    return "pandas"


def _by_pandas(path: Path, separator: str) -> Any:
    return require("pandas", extra="pandas").read_csv(
        path,
        sep=separator,
        encoding=delimited.ENCODING,
        index_col=False,
        keep_default_na=False,
        na_values=list(delimited.MISSING),
    )


def _by_polars(path: Path, separator: str) -> Any:
    return require("polars", extra="polars").read_csv(
        path, separator=separator, null_values=list(delimited.MISSING), infer_schema_length=None
    )


def _by_pyarrow(path: Path, separator: str) -> Any:
    csv = require("pyarrow.csv", extra="pyarrow")
    cells = csv.ConvertOptions(null_values=list(delimited.MISSING), strings_can_be_null=True)
    lines = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    return csv.read_csv(path, parse_options=lines, convert_options=cells)


TEXT_READERS: dict[Backend, Callable[[Path, str], Any]] = {
    "pandas": _by_pandas,
    "polars": _by_polars,
    "pyarrow": _by_pyarrow,
}


def _text(separator: str) -> Callable[[Path], Any]:
    def read_text(path: Path) -> Any:
        n_rows = delimited.check(path, separator)
        frame = TEXT_READERS[library()](path, separator)
        if size(frame) != n_rows:
            raise InvalidFile(f"{path} has {n_rows} rows, but {size(frame)} are read from it: take out blank lines")
        return frame

    return read_text


def guard(path: Path) -> None:
    """Refuse a packed table that is no such thing, or that unpacks to too much."""
    suffix = path.suffix.lower()
    if suffix == ".parquet":
        signatures.check_packed(path, signatures.PARQUET, "Parquet")
        with _named(path), path.open("rb") as file:
            extent = unpacked.in_parquet(file)
        _check_cells(path, extent.n_rows * extent.n_columns)
        delimited.check_width(path, extent.n_columns)
        unpacked.check(path, path.stat().st_size, extent.n_bytes)
    elif suffix in (".feather", ".arrow"):
        signatures.check_packed(path, signatures.FEATHER, "Feather")
        with _named(path), path.open("rb") as file:
            unpacked.check(path, path.stat().st_size, unpacked.in_feather(file))


def _parquet(path: Path) -> Any:
    guard(path)
    if importlib.util.find_spec("pyarrow") is not None:
        table = _checked_parquet(path)
        if library() == "pandas":
            return table.to_pandas(date_as_object=False)
        if library() == "pyarrow":
            return table
        return require("polars", extra="polars").from_arrow(table)
    polars = require("polars", extra="pyarrow")
    return polars.read_parquet(path)


def _checked_parquet(path: Path) -> Any:
    """Read a table whose text stays coded until its size is known: one long cell may be repeated in a few bytes."""
    arrow, parquet = require("pyarrow", extra="pyarrow"), require("pyarrow.parquet", extra="pyarrow")
    schema, n_packed = parquet.read_schema(path), path.stat().st_size
    _check_repeated(path, schema.names)
    coded = [field.name for field in schema if field.type in (arrow.string(), arrow.large_string(), arrow.binary())]
    table = parquet.read_table(path, read_dictionary=coded)
    for name in coded:
        at = table.schema.get_field_index(name)
        unpacked.check(f"column {name!r} of {path}", n_packed, _decoded(table.column(at)))
        table = table.set_column(at, name, table.column(at).cast(schema.field(name).type))
    return table


def _decoded(column: Any) -> int:
    """Bytes of coded text when it is written out."""
    compute = require("pyarrow.compute", extra="pyarrow")
    total = 0
    for chunk in column.chunks if str(column.type).startswith("dictionary") else ():
        lengths = compute.binary_length(chunk.dictionary)
        total += compute.sum(compute.cast(lengths.take(chunk.indices), "int64")).as_py() or 0
    return total


def _check_cells(path: Path, n_cells: int) -> None:
    """A few hundred bytes of Parquet can unpack to gigabytes."""
    n_bytes = path.stat().st_size
    if n_cells > MOST_CELLS and n_cells > CELLS_PER_BYTE * n_bytes:
        raise InvalidFile(f"{path} says it has {n_cells:,} cells in {n_bytes:,} bytes: refused, give a smaller table")


def _check_repeated(path: Path, names: list[str]) -> None:
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise InvalidFile(f"the columns {delimited.shown(repeated)} of {path} appear more than once: rename them")


def _feather(path: Path) -> Any:
    guard(path)
    if importlib.util.find_spec("pyarrow") is not None and library() != "polars":
        table = require("pyarrow.feather", extra="pyarrow").read_table(path)
        _check_repeated(path, table.column_names)
        return table.to_pandas(date_as_object=False) if library() == "pandas" else table
    return require("polars", extra="pyarrow").read_ipc(path)


def _json_lines(path: Path) -> Any:
    return frame_of(objects.of_lines(path), library())


def _json(path: Path) -> Any:
    return frame_of(objects.of_list(path), library())


READERS: dict[str, Callable[[Path], Any]] = {
    ".csv": _text(","),
    ".tsv": _text("\t"),
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _feather,
    ".jsonl": _json_lines,
    ".ndjson": _json_lines,
    ".json": _json,
}
