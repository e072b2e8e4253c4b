"""The one way in: a file is looked through by the reader of its kind, and every error names it."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.files import cells, delimited, objects, packed, tables
from xcid.files.messages import naming
from xcid.files.sources import Source, held

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def opened(path: Path) -> Source:
    """Look through a file; what kind it is, its extension says."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSED:
        raise InvalidFile(f"{path} is packed text, which is not read: unpack it first")
    if suffix not in OPENERS:
        raise InvalidFile(f"{path} is no table that can be read: the extensions are {', '.join(OPENERS)}")
    with naming(path):
        if not path.exists():
            raise InvalidFile(f"there is no file {path}")
        if not path.is_file() or not path.stat().st_size:
            raise InvalidFile(f"{path} is {'empty' if path.is_file() else 'no file'}: a table is needed")
        source = OPENERS[suffix](path)
        if not source.n_rows or not source.names:
            raise InvalidFile(f"{path} is empty: it has {source.n_rows} rows and {len(source.names)} columns")
        tables.check_names(path, source.names)
    return source


def joined(source: Source) -> Any:
    """Read all rows into a data frame; refuse cells that no model could be asked about."""
    with naming(source.path):
        frame = source.joined()
        cells.check(source, frame)
    return frame


def read(path: Path) -> Any:
    """Open a file and read all rows into a data frame."""
    return joined(opened(path))


def _packed(check: Callable[[Path], None], by_pyarrow: Callable[[Path], Source], by_polars: str) -> Any:
    """Open by pyarrow, which reads pieces, or else by a function of polars."""

    def open_packed(path: Path) -> Source:
        check(path)
        if importlib.util.find_spec("pyarrow") is not None:
            return by_pyarrow(path)
        return held(path, getattr(require("polars", extra="pyarrow"), by_polars)(path))

    return open_packed


_feather = _packed(packed.check_feather, packed.feather, "read_ipc")
OPENERS: dict[str, Callable[[Path], Source]] = {
    ".csv": delimited.opened,
    ".tsv": delimited.opened,
    ".parquet": _packed(packed.check_parquet, packed.parquet, "read_parquet"),
    ".feather": _feather,
    ".arrow": _feather,
    ".jsonl": objects.of_lines,
    ".ndjson": objects.of_lines,
    ".json": objects.of_list,
}
