"""The one way into a table: a file that is looked through first, and then read at once or some rows at a time."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.files import packed, tables
from xcid.files.delimited import Delimited
from xcid.files.layout import Layout, Pieces
from xcid.files.messages import naming
from xcid.files.objects import Objects

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")


class Source(Protocol):
    """A table in a file."""

    @property
    def path(self) -> Path:
        """The file."""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def joined(self) -> Any:
        """All rows as a data frame, whose types follow from its cells."""

    def pieces(self, first: int, layout: Layout) -> Pieces:
        """Some rows at a time, up to the end; pieces before the first wanted row may be left out."""

    def line(self, row: int) -> int | None:
        """Line of a row in a text file, counted from 1."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A table that is in memory already."""

    path: Path
    frame: Any
    line: Callable[[int], int | None] = lambda row: None

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns."""
        return tables.names(self.frame)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return tables.size(self.frame)

    def joined(self) -> Any:
        """The frame."""
        return self.frame

    def pieces(self, first: int, layout: Layout) -> Pieces:
        """All rows at once."""
        yield 0, tables.columns(self.frame, self.path)


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


def place(source: Source, row: int) -> str:
    """Name a row by its position, as ``--rows`` does, and in a text file by its line."""
    line = source.line(row)
    return f"row {row}" if line is None else f"row {row} (line {line})"


def _parquet(path: Path) -> Source:
    packed.check_parquet(path)
    return packed.Parquet.opened(path) if _has_pyarrow() else Held(path, _polars().read_parquet(path))


def _feather(path: Path) -> Source:
    packed.check_feather(path)
    return packed.Feather.opened(path) if _has_pyarrow() else Held(path, _polars().read_ipc(path))


def _has_pyarrow() -> bool:
    return importlib.util.find_spec("pyarrow") is not None


def _polars() -> Any:
    return require("polars", extra="pyarrow")


OPENERS: dict[str, Callable[[Path], Source]] = {
    ".csv": Delimited.opened,
    ".tsv": Delimited.opened,
    ".parquet": _parquet,
    ".feather": _feather,
    ".arrow": _feather,
    ".jsonl": Objects.of_lines,
    ".ndjson": Objects.of_lines,
    ".json": Objects.of_list,
}
