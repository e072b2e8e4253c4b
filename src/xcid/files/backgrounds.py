"""The background: read at once, since all rows are explained against it, and the measure of what other tables hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from xcid.errors import InvalidData
from xcid.files import tables
from xcid.files.layout import Layout
from xcid.files.messages import shown
from xcid.files.readers import joined, opened
from xcid.files.sources import Source, held
from xcid.space import FeatureSpace


@dataclass(frozen=True, slots=True, eq=False)
class Background:
    """Usual rows.

    Attributes
    ----------
    source : Source
    table, features : data frames
        With the target, where there is one, and without it.
    space : FeatureSpace
    layout : Layout
        What rows to explain must be.
    """

    source: Source
    table: Any
    features: Any
    space: FeatureSpace
    layout: Layout

    @classmethod
    def read(cls, path: Path, target: str | None) -> Background:
        """Read a background, and refuse one that nothing can be learnt from."""
        source = opened(path)
        table = joined(source)
        if tables.names(table) == (target,):
            raise InvalidData(f"{path} has no column but the target {target!r}: features are needed")
        features = tables.without(table, target)
        if source.n_rows < 2:
            raise InvalidData(f"{path} has 1 row: a background needs at least 2, better some hundreds")
        frame = nw.from_native(features, eager_only=True)
        for name in frame.columns:
            if tables.missing(frame.get_column(name)).all():
                raise InvalidData(f"column {name!r} of {path} is missing in all {len(frame)} rows: drop it")
        space = FeatureSpace.of(features)
        return cls(source, table, features, space, Layout.of(features, space, target))

    def opened(self, path: Path | None) -> Source:
        """Open a table of rows to explain, by default the background itself."""
        if path is None:
            return held(self.source.path, self.features, self.source.line)
        source = opened(path)
        self.layout.check_names(path, source.names)
        return source

    def check_target(self) -> None:
        """Refuse a target that is not there, or not in every row."""
        target, frame, path = self.layout.target, nw.from_native(self.table, eager_only=True), self.source.path
        if target not in frame.columns:
            raise InvalidData(f"there is no target column {target!r}; the columns are {shown(frame.columns)} in {path}")
        holes = tables.missing(frame.get_column(target))
        if holes.any():
            raise InvalidData(
                f"{int(holes.sum())} rows have no target {target!r}: leave them out; the first of them is "
                f"{self.source.place(int(holes.argmax()))} of {path}"
            )
