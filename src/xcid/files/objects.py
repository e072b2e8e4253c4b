"""JSON tables: one object a line, or a list of objects; a key that one does not have is a missing cell."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

from xcid.errors import InvalidFile
from xcid.files import delimited, signatures


def of_lines(path: Path) -> dict[str, list[Any]]:
    """Columns of a file with one object a line."""
    signatures.check_text(path)
    records = []
    for number, line in enumerate(path.read_text(encoding=delimited.ENCODING).split("\n"), start=1):
        if line.strip():
            records.append(_object(path, f"line {number}", line))
    return _columns(path, records)


def of_list(path: Path) -> dict[str, list[Any]]:
    """Columns of a file with one list of objects."""
    signatures.check_text(path)
    found = json.loads(path.read_text(encoding=delimited.ENCODING), object_pairs_hook=_once)
    if not isinstance(found, list) or not all(isinstance(record, dict) for record in found):
        raise InvalidFile(f"{path} is no list of objects, one for each row")
    return _columns(path, found)


def _object(path: Path, where: str, text: str) -> dict[str, Any]:
    try:
        record = json.loads(text, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise InvalidFile(f"{where} of {path} is not JSON that can be read: {delimited.short(error)}") from error
    if not isinstance(record, dict):
        raise InvalidFile(f"{where} of {path} is no object with the cells of a row by name")
    return record


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse an object that has a name twice: its last cell would win without a word."""
    record = dict(pairs)
    if len(record) < len(pairs):
        repeated = [name for name, count in Counter(name for name, _ in pairs).items() if count > 1]
        raise ValueError(f"an object has {delimited.shown(repeated)} more than once")
    return record


def _columns(path: Path, records: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """A key that an object does not have is a missing cell."""
    names = list(dict.fromkeys(name for record in records for name in record))
    nested = [name for name in names if any(isinstance(record.get(name), list | dict) for record in records)]
    if nested:
        raise InvalidFile(f"the columns {nested} of {path} have lists or objects in their cells: flatten them")
    if not names:
        raise InvalidFile(f"{path} is empty: it has {len(records)} rows and no columns")
    columns = {name: [record.get(name) for record in records] for name in names}
    for name, cells in columns.items():
        row = next((row for row, cell in enumerate(cells) if isinstance(cell, str) and not _is_text(cell)), None)
        if row is not None or not _is_text(name):
            raise InvalidFile(f"{path} has half a character in row {row or 0}, column {name!r}: write it anew")
    return columns


def _is_text(cell: str) -> bool:
    r"""JSON may escape one half of a pair, such as \ud800, which is no character."""
    return not any("\ud800" <= letter <= "\udfff" for letter in cell)
