"""JSON tables: one object a line, or a list of objects; a name that one does not have is a missing cell."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

from xcid._check import shown
from xcid.errors import InvalidFile
from xcid.io import tables
from xcid.io.sources import Columns, Lines, Source, text
from xcid.io.tables import ENCODING, check_text, find_repeated, short
from xcid.table import frame_of

CELL = 16  # bytes of one that is missing: a place in a list, and one in a data frame


def of_lines(path: Path) -> Source:
    """Look through a file with one object a line."""
    check_text(path)
    return _source(path, partial(_lines, path))


def of_list(path: Path) -> Source:
    """Parse a file with one list of objects; it stays in memory, since a list is parsed at once."""
    check_text(path)
    found = json.loads(path.read_text(encoding=ENCODING), object_pairs_hook=_once)
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise InvalidFile(f"{path} is not a list of objects, one for each row")
    return _source(path, lambda: ((None, record) for record in found))


def _source(path: Path, lines: Callable[[], Lines]) -> Source:
    """Find the names of the columns and the number of rows; refuse cells that are none."""
    names: dict[str, None] = {}
    nested: dict[str, None] = {}
    n_rows, n_bytes = 0, path.stat().st_size
    for row, (_, record) in enumerate(lines()):
        names.update(dict.fromkeys(record))
        tables.check_width(path, len(names))
        tables.check_size(path, n_bytes, CELL * len(names) * (row + 1), "give all rows the same names")
        nested.update(dict.fromkeys(name for name, cell in record.items() if isinstance(cell, list | dict)))
        for name, cell in record.items():
            if not _is_text(name) or (isinstance(cell, str) and not _is_text(cell)):
                raise InvalidFile(f"{path} has half a character in row {row}, column {name!r}: write it anew")
        n_rows += 1
    if nested:
        which = shown(list(nested))
        raise InvalidFile(f"the columns {which} of {path} have lists or objects in their cells: flatten them")

    def joined() -> Any:
        return frame_of(_columns([record for _, record in lines()], names), tables.library())

    return text(path, tuple(names), n_rows, joined, lines, lambda records, layout: _columns(records, layout.read))


def _columns(records: list[dict[str, Any]], names: Iterable[str]) -> Columns:
    return {name: [record.get(name) for record in records] for name in names}


def _lines(path: Path) -> Lines:
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
                raise InvalidFile(f"line {number} of {path} is not an object with the cells of a row by name")
            yield number, record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a name twice: its last cell would win without notice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError(f"an object has {shown(find_repeated([name for name, _ in pairs]))} more than once")
    return record


def _is_text(cell: str) -> bool:
    r"""JSON may escape one half of a pair, such as \ud800, which is no character."""
    return cell.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in cell)
