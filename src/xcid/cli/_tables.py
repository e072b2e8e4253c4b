"""Tables from files, by whichever library of data frames is installed."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from xcid._require import require
from xcid.cli import _csv
from xcid.errors import InvalidData, InvalidFile, XcidError
from xcid.io import frame_of
from xcid.space import Backend

LIBRARIES: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")
MOST_CELLS, CELLS_PER_BYTE = 2**24, 100  # of a Parquet file: one that exceeds both is refused
MOST_BYTES, BYTES_PER_BYTE = 2**20, 1_000  # likewise, of what it unpacks to


def read(path: Path) -> Any:
    """Read a data frame; what kind of file it is, its extension says."""
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidFile(f"{path} is no table that can be read: the extensions are {', '.join(READERS)}")
    if not path.exists():
        raise InvalidFile(f"there is no file {path}")
    if not path.is_file() or not path.stat().st_size:
        raise InvalidFile(f"{path} is {'empty' if path.is_file() else 'no file'}: a table is needed")
    try:
        frame = reader(path)
        narwhal = nw.from_native(frame, eager_only=True)
    except XcidError:
        raise
    except Exception as error:  # every library fails in its own way
        raise InvalidFile(f"{path} cannot be read: {type(error).__name__}: {error}") from error
    if not len(narwhal) or not narwhal.columns:
        raise InvalidFile(f"{path} is empty: it has {len(narwhal)} rows and {len(narwhal.columns)} columns")
    return frame


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
        encoding=_csv.ENCODING,
        index_col=False,
        keep_default_na=False,
        na_values=list(_csv.MISSING),
    )


def _by_polars(path: Path, separator: str) -> Any:
    return require("polars", extra="polars").read_csv(
        path, separator=separator, null_values=list(_csv.MISSING), infer_schema_length=None
    )


def _by_pyarrow(path: Path, separator: str) -> Any:
    csv = require("pyarrow.csv", extra="pyarrow")
    cells = csv.ConvertOptions(null_values=list(_csv.MISSING), strings_can_be_null=True)
    lines = csv.ParseOptions(delimiter=separator, newlines_in_values=True)
    return csv.read_csv(path, parse_options=lines, convert_options=cells)


TEXT_READERS: dict[Backend, Callable[[Path, str], Any]] = {
    "pandas": _by_pandas,
    "polars": _by_polars,
    "pyarrow": _by_pyarrow,
}


def _text(separator: str) -> Callable[[Path], Any]:
    def read_text(path: Path) -> Any:
        n_rows = _csv.check(path, separator)
        frame = TEXT_READERS[library()](path, separator)
        if size(frame) != n_rows:
            raise InvalidFile(f"{path} has {n_rows} rows, but {size(frame)} are read from it: take out blank lines")
        return frame

    return read_text


def _parquet(path: Path) -> Any:
    if importlib.util.find_spec("pyarrow") is not None:
        meta = require("pyarrow.parquet", extra="pyarrow").read_metadata(path)
        groups = (meta.row_group(at) for at in range(meta.num_row_groups))
        unpacked = sum(group.column(at).total_uncompressed_size for group in groups for at in range(group.num_columns))
        _check_size(path, meta.num_rows * meta.num_columns, unpacked)
        if library() == "pandas":
            return require("pandas", extra="pandas").read_parquet(path)
        if library() == "pyarrow":
            return require("pyarrow.parquet", extra="pyarrow").read_table(path)
    polars = require("polars", extra="pyarrow")
    lazy = polars.scan_parquet(path)
    _check_size(path, lazy.select(polars.len()).collect().item() * len(lazy.collect_schema()), 0)
    return polars.read_parquet(path)


def _check_size(path: Path, n_cells: int, unpacked: int) -> None:
    """A few hundred bytes of Parquet can unpack to gigabytes."""
    n_bytes = path.stat().st_size
    if n_cells > MOST_CELLS and n_cells > CELLS_PER_BYTE * n_bytes:
        raise InvalidFile(f"{path} says it has {n_cells:,} cells in {n_bytes:,} bytes: refused, give a smaller table")
    if unpacked > MOST_BYTES and unpacked > BYTES_PER_BYTE * n_bytes:
        raise InvalidFile(
            f"{path} unpacks from {n_bytes:,} to {unpacked:,} bytes: refused, write it without compression"
        )


def _feather(path: Path) -> Any:
    if importlib.util.find_spec("pyarrow") is not None and library() != "polars":
        if library() == "pandas":
            return require("pandas", extra="pandas").read_feather(path)
        return require("pyarrow.feather", extra="pyarrow").read_table(path)
    return require("polars", extra="pyarrow").read_ipc(path)


def _json_lines(path: Path) -> Any:
    records = []
    for number, line in enumerate(path.read_text(encoding=_csv.ENCODING).splitlines(), start=1):
        if line.strip():
            records.append(_object(path, f"line {number}", line))
    return _frame_of_records(path, records)


def _json(path: Path) -> Any:
    found = json.loads(path.read_text(encoding=_csv.ENCODING))
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise InvalidFile(f"{path} is no list of objects, one for each row")
    return _frame_of_records(path, found)


def _object(path: Path, where: str, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text)
    except json.JSONDecodeError as error:
        raise InvalidFile(f"{where} of {path} is not JSON: {error}") from error
    if not isinstance(record, dict):
        raise InvalidFile(f"{where} of {path} is no object with the cells of a row by name")
    return record


def _frame_of_records(path: Path, records: list[dict[str, Any]]) -> Any:
    """A key that an object does not have is a missing cell."""
    names = list(dict.fromkeys(name for record in records for name in record))
    nested = [name for name in names if any(isinstance(record.get(name), list | dict) for record in records)]
    if nested:
        raise InvalidFile(f"the columns {nested} of {path} have lists or objects in their cells: flatten them")
    if not names:
        raise InvalidFile(f"{path} is empty: it has {len(records)} rows and no columns")
    return frame_of({name: [record.get(name) for record in records] for name in names}, library())


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
