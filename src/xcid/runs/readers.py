"""Tables from files, some rows at a time.

A source knows the number of its rows and gives frames with the position of their first rows. Where a format allows it,
frames before the first wanted row are not read.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import narwhals.stable.v2 as nw

from xcid._require import require
from xcid.errors import InvalidFile
from xcid.runs.layout import Layout

ROWS_AT_ONCE = 4096
BUFFER = 2**20  # bytes of a Parquet column that are read ahead: without it a whole row group would be
Frames: TypeAlias = Iterator[tuple[int, Any]]


class Source(Protocol):
    """A table that is read some rows at a time."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def frames(self, first: int) -> Frames:
        """Frames in order, each with the position of its first row, up to the end; none before the first is needed."""


@dataclass(frozen=True, slots=True, eq=False)
class Held:
    """A table that is in memory."""

    frame: Any

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(nw.from_native(self.frame, eager_only=True))

    def frames(self, first: int) -> Frames:
        """The frame."""
        yield 0, self.frame


@dataclass(frozen=True, slots=True)
class Parquet:
    """A Parquet file, by row groups."""

    path: Path
    layout: Layout

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self._file().metadata.num_rows

    def frames(self, first: int) -> Frames:
        """Parts of row groups."""
        file, start = self._file(), 0
        groups: list[int] = []
        for group in range(file.metadata.num_row_groups):
            size = file.metadata.row_group(group).num_rows
            if start + size > first or groups:
                groups.append(group)
            else:
                start += size
        for batch in file.iter_batches(batch_size=ROWS_AT_ONCE, row_groups=groups):
            yield start, _frame(batch, self.layout)
            start += len(batch)

    def _file(self) -> Any:
        try:
            return require("pyarrow.parquet", extra="pyarrow").ParquetFile(self.path, buffer_size=BUFFER)
        except (OSError, ValueError) as error:
            raise InvalidFile(f"{self.path} cannot be read: {type(error).__name__}: {error}") from error


@dataclass(frozen=True, slots=True)
class Arrow:
    """A Feather or Arrow file, by record batches."""

    path: Path
    layout: Layout

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        file = self._file()
        return sum(len(file.get_batch(at)) for at in range(file.num_record_batches))

    def frames(self, first: int) -> Frames:
        """Parts of record batches."""
        file, start = self._file(), 0
        for at in range(file.num_record_batches):
            batch = file.get_batch(at)
            if start + len(batch) > first:
                for part in range(0, len(batch), ROWS_AT_ONCE):
                    yield start + part, _frame(batch.slice(part, ROWS_AT_ONCE), self.layout)
            start += len(batch)

    def _file(self) -> Any:
        arrow = require("pyarrow", extra="pyarrow")
        try:
            return arrow.ipc.open_file(arrow.memory_map(str(self.path)))
        except (OSError, ValueError) as error:
            raise InvalidFile(f"{self.path} cannot be read: {type(error).__name__}: {error}") from error


def _frame(batch: Any, layout: Layout) -> Any:
    """A record batch as pandas has it, as the reader of whole files does."""
    arrow = require("pyarrow", extra="pyarrow")
    frame = arrow.Table.from_batches([batch]).to_pandas(date_as_object=False)
    return frame[layout.without_target(frame.columns)]
