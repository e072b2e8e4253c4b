"""JSON tables: one object a line, or a list of objects; a name that one does not have is a missing cell."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, TypeAlias

from xcid.errors import InvalidFile
from xcid.files import signatures, tables
from xcid.files.delimited import ENCODING
from xcid.files.layout import ROWS_AT_ONCE, Columns, Layout, Pieces
from xcid.files.messages import repeated, short, shown
from xcid.frames import frame_of

Record: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Objects:
    """A file of objects; those of a list are in memory, since a list is parsed at once."""

    path: Path
    names: tuple[str, ...]
    n_rows: int
    listed: Sequence[Record] | None

    @classmethod
    def of_lines(cls, path: Path) -> Objects:
        """Look through a file with one object a line."""
        signatures.check_text(path)
        return cls(path, *_extent(path, (record for _, record in _lines(path))), None)

    @classmethod
    def of_list(cls, path: Path) -> Objects:
        """Parse a file with one list of objects."""
        signatures.check_text(path)
        found = json.loads(path.read_text(encoding=ENCODING), object_pairs_hook=_once)
        if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
            raise InvalidFile(f"{path} is no list of objects, one for each row")
        return cls(path, *_extent(path, found), found)

    def joined(self) -> Any:
        """All rows as a frame."""
        return frame_of(_columns(list(self._records(0)), self.names), tables.library())

    def pieces(self, first: int, layout: Layout) -> Pieces:
        """Some rows at a time."""
        records = self._records(first)
        while part := list(islice(records, ROWS_AT_ONCE)):
            yield first, _columns(part, layout.columns)
            first += len(part)

    def line(self, row: int) -> int | None:
        """Line of a row, counted from 1; those of a list have none."""
        return None if self.listed is not None else next(islice(_lines(self.path), row, None))[0]

    def _records(self, first: int) -> Iterator[Record]:
        found = (record for _, record in _lines(self.path)) if self.listed is None else iter(self.listed)
        return islice(found, first, None)


def _lines(path: Path) -> Iterator[tuple[int, Record]]:
    """Objects with their lines; blank lines are passed over."""
    with path.open(encoding=ENCODING) as file:
        for number, line in enumerate(file, start=1):
            if not line.strip():
                continue
            try:
                record = json.loads(line, object_pairs_hook=_once)
            except (ValueError, RecursionError) as error:
                raise InvalidFile(f"line {number} of {path} is not JSON that can be read: {short(error)}") from error
            if not isinstance(record, dict):
                raise InvalidFile(f"line {number} of {path} is no object with the cells of a row by name")
            yield number, record


def _once(pairs: list[tuple[str, Any]]) -> Record:
    """Refuse an object that has a name twice: its last cell would win without notice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"an object has {shown(repeated([name for name, _ in pairs]))} more than once")
    return record


def _columns(records: list[Record], names: Iterable[str]) -> Columns:
    return {name: [record.get(name) for record in records] for name in names}


def _extent(path: Path, records: Iterable[Record]) -> tuple[tuple[str, ...], int]:
    """Names of the columns and number of rows; refuse cells that are none."""
    names: dict[str, None] = {}
    nested: dict[str, None] = {}
    n_rows = 0
    for row, record in enumerate(records):
        names.update(dict.fromkeys(record))
        nested.update(dict.fromkeys(name for name, cell in record.items() if isinstance(cell, list | dict)))
        for name, cell in record.items():
            if not _is_text(name) or (isinstance(cell, str) and not _is_text(cell)):
                raise InvalidFile(f"{path} has half a character in row {row}, column {name!r}: write it anew")
        n_rows += 1
    if nested:
        names_of_them = shown(list(nested))
        raise InvalidFile(f"the columns {names_of_them} of {path} have lists or objects in their cells: flatten them")
    return tuple(names), n_rows


def _is_text(cell: str) -> bool:
    r"""JSON may escape one half of a pair, such as \ud800, which is no character."""
    return cell.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in cell)
