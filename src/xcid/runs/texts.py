"""Text tables, some rows at a time, with the types of the background."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from xcid._require import require
from xcid.errors import InvalidData, InvalidFile
from xcid.runs.layout import Layout
from xcid.runs.readers import ROWS_AT_ONCE, Frames


@dataclass(frozen=True, slots=True)
class Text:
    """A CSV or TSV file that was looked through before.

    Attributes
    ----------
    path : Path
    layout : Layout
    n_rows : int
    separator, encoding : str
    missing : tuple of str
        Cells that stand for nothing.
    """

    path: Path
    layout: Layout
    n_rows: int
    separator: str
    encoding: str
    missing: tuple[str, ...]

    def frames(self, first: int) -> Frames:
        """Read numbers as numbers and all else as text; the parser is that of whole files, to the last bit."""
        start = 0
        try:
            with self._parts() as parts:
                for part in parts:
                    frame = part[self.layout.without_target(part.columns)]
                    yield start, frame.assign(**{name: self._levels(frame[name]) for name in self._level_names(frame)})
                    start += len(part)
        except ValueError as error:
            self._locate()
            raise InvalidFile(f"{self.path} cannot be read: {type(error).__name__}: {error}") from error
        if start != self.n_rows:
            raise InvalidFile(f"{self.path} has {self.n_rows} rows, but {start} are read from it: take out blank lines")

    def _parts(self) -> Any:
        return require("pandas", extra="pandas").read_csv(
            self.path,
            sep=self.separator,
            encoding=self.encoding,
            index_col=False,
            keep_default_na=False,
            na_values=list(self.missing),
            dtype={name: "float64" if name in self.layout.numbers else object for name in self._names()},
            chunksize=ROWS_AT_ONCE,
        )

    def _names(self) -> list[str]:
        with self.path.open(encoding=self.encoding, newline="") as file:
            return next(csv.reader(file, delimiter=self.separator))

    def _level_names(self, frame: Any) -> list[str]:
        return [name for name in frame.columns if self.layout.level_types.get(name, str) is not str]

    def _levels(self, column: Any) -> Any:
        return column.map(self.layout.level(column.name), na_action="ignore").astype(object)

    def _locate(self) -> None:
        """Find the cell that is no number, and say where it is."""
        with self.path.open(encoding=self.encoding, newline="") as file:
            lines = csv.reader(file, delimiter=self.separator)
            names = next(lines)
            places = [at for at, name in enumerate(names) if name in self.layout.numbers]
            for row, cells in enumerate(line for line in lines if line):
                for at in places:
                    if cells[at] not in self.missing and not _is_number(cells[at]):
                        raise InvalidData(
                            f"{self.path} holds {cells[at]!r:.60} in row {row}, column {names[at]!r} (line "
                            f"{lines.line_num}), where the background has numbers: mend or drop that row"
                        )


@dataclass(frozen=True, slots=True)
class Lines:
    """A file with one JSON object a line; a key that one does not have is a missing cell."""

    path: Path
    layout: Layout
    encoding: str

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        with self.path.open(encoding=self.encoding) as file:
            return sum(1 for line in file if line.strip())

    def frames(self, first: int) -> Frames:
        """Parse lines from the first wanted one on."""
        with self.path.open(encoding=self.encoding) as file:
            rows = enumerate((number, line) for number, line in enumerate(file, start=1) if line.strip())
            wanted = ((row, number, line) for row, (number, line) in rows if row >= first)
            while part := list(islice(wanted, ROWS_AT_ONCE)):
                yield part[0][0], self._frame([self._record(*one) for one in part])

    def _frame(self, records: list[dict[str, Any]]) -> Any:
        pandas = require("pandas", extra="pandas")
        types = {name: "float64" if name in self.layout.numbers else object for name in self.layout.names}
        cells = {name: [record.get(name) for record in records] for name in self.layout.names}
        return pandas.DataFrame({name: pandas.Series(cells[name], dtype=types[name]) for name in self.layout.names})

    def _record(self, row: int, number: int, line: str) -> dict[str, Any]:
        """A row; what does not fit is refused by its place."""
        where = f"{self.path} has in row {row} (line {number})"
        try:
            record = json.loads(line, object_pairs_hook=_once)
        except (ValueError, RecursionError) as error:
            raise InvalidFile(f"line {number} of {self.path} is not JSON that can be read: {error!s:.200}") from error
        if not isinstance(record, dict):
            raise InvalidFile(f"line {number} of {self.path} is no object with the cells of a row by name")
        unknown = [name for name in self.layout.without_target(record) if name not in self.layout.names]
        if unknown:
            raise InvalidData(f"{where} the columns {unknown}, which the background does not have")
        for name, cell in record.items():
            fits = isinstance(cell, str | int | float | None)
            if name in self.layout.numbers and (not fits or isinstance(cell, str)):
                raise InvalidData(f"{where} {cell!r:.60} in column {name!r}, where the background has numbers")
            if not fits:
                raise InvalidData(f"{where} a list or an object in column {name!r}: flatten it")
        return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a name twice: its last cell would win without a word."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("an object has a name more than once")
    return record


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return "_" not in text  # which Python takes
