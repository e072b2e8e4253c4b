"""The one way in: a file is looked through by the reader of its kind, and every error names it.

The background is read at once, since all rows are explained against it, and is the measure of what other tables hold.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from xcid._require import require
from xcid.errors import InvalidData, InvalidFile
from xcid.files import arrow, cells, delimited, objects, packed, tables, unpacked
from xcid.files.messages import meant, naming, shown
from xcid.files.sources import Layout, Source, held
from xcid.space import FeatureSpace

COMPRESSED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def opened(path: Path) -> Source:
    """Look through a file; what kind it is, its extension says."""
    suffix = path.suffix.lower()
    if suffix in COMPRESSED:
        raise InvalidFile(f"{path} is packed text, which is not read: unpack it first")
    if suffix not in OPENERS:
        raise InvalidFile(f"{path} is not a table that can be read: the extensions are {', '.join(OPENERS)}")
    with naming(path):
        unpacked.plain(path, "not a table that can be read")
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


def _packed(check: Callable[[Path], int], by_pyarrow: Callable[[Path, int], Source], by_polars: str) -> Any:
    """Open by pyarrow, which reads pieces, or else by a function of polars, once its schema is looked through."""

    def open_packed(path: Path) -> Source:
        n_rows = check(path)
        if importlib.util.find_spec("pyarrow") is not None:
            return by_pyarrow(path, n_rows)
        polars = require("polars", extra="pyarrow")
        cells.check_types(path, polars.DataFrame(schema=getattr(polars, f"{by_polars}_schema")(path)))
        return held(path, getattr(polars, by_polars)(path))

    return open_packed


_feather = _packed(arrow.check_feather, packed.feather, "read_ipc")
OPENERS: dict[str, Callable[[Path], Source]] = {
    ".csv": delimited.opened,
    ".tsv": delimited.opened,
    ".parquet": _packed(arrow.check_parquet, packed.parquet, "read_parquet"),
    ".feather": _feather,
    ".arrow": _feather,
    ".jsonl": objects.of_lines,
    ".ndjson": objects.of_lines,
    ".json": objects.of_list,
}


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """Usual rows, read and checked, with all that rows to explain are held to."""

    source: Source
    table: Any  # a data frame, with the target where there is one
    features: Any  # the same without the target
    weights: Any  # (N,) of the rows, where a column has them
    space: FeatureSpace
    layout: Layout  # what rows to explain must be

    @classmethod
    def read(
        cls, path: Path, target: str | None, weights: str | None = None, id_column: str | None = None
    ) -> Background:
        """Read a background, and refuse one that nothing can be learnt from; a column that names rows is no feature."""
        source = opened(path)
        table, found = tables.parted(tables.without(joined(source), id_column), weights)
        if tables.names(table) == (target,):
            raise InvalidData(f"{path} has no column but the target {target!r}: features are needed")
        features = tables.without(table, target)
        if source.n_rows < 2:
            raise InvalidData(f"{path} has 1 row: a background needs at least 2, better some hundreds")
        frame = nw.from_native(features, eager_only=True)
        for name in frame.columns:
            if tables.missing(frame.get_column(name)).all():
                raise InvalidData(f"column {name!r} of {path} is missing in all {len(frame)} rows: drop it")
        with naming(path):
            space = FeatureSpace.of(features, weights=found)
        return cls(source, table, features, found, space, Layout.of(features, space, target, weights, id_column))

    def opened(self, path: Path | None) -> Source:
        """Open a table of rows to explain, by default the background itself."""
        if path is None and self.layout.id_column is None:
            return held(self.source.path, self.features, self.source.line)
        source = self.source if path is None else opened(path)
        self.layout.check_names(source.path, source.names)
        return source

    def check_target(self) -> None:
        """Refuse a target that is not there, or not in every row."""
        target, frame, path = self.layout.target, nw.from_native(self.table, eager_only=True), self.source.path
        if target not in frame.columns:
            asked = f"{target!r}{meant(str(target), frame.columns)}"
            raise InvalidData(f"there is no target column {asked}; the columns are {shown(frame.columns)} in {path}")
        holes = tables.missing(frame.get_column(target))
        if holes.any():
            raise InvalidData(
                f"{int(holes.sum())} rows have no target {target!r}: leave them out; the first of them is "
                f"{self.source.place(int(holes.argmax()))} of {path}"
            )
