"""Cells of a background, looked through before a model sees them: what is refused is named by file, row and column."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid.errors import InvalidFile, warn
from xcid.files.delimited import SEPARATORS
from xcid.files.layout import number
from xcid.files.messages import MOST_SHOWN
from xcid.files.sources import Source
from xcid.records import Flags
from xcid.space.columns import is_missing

NESTED = (nw.List, nw.Array, nw.Struct)
NO_FEATURE = (nw.Binary, nw.Time, nw.Duration, nw.Decimal)
NUMBER = (int, float, np.number, np.bool_)
MOSTLY = 0.8  # the share of numbers from which a column of text looks like a mistake


def check(source: Source, frame: Any) -> None:
    """Refuse columns and cells of a background that no model could be asked about."""
    narwhal, path = nw.from_native(frame, eager_only=True), source.path
    for name, dtype in narwhal.schema.items():
        column = narwhal.get_column(name)
        if isinstance(dtype, NESTED):
            raise InvalidFile(f"column {name!r} of {path} has lists or objects in its cells ({dtype}): flatten it")
        if isinstance(dtype, NO_FEATURE):
            raise InvalidFile(f"column {name!r} of {path} is of the type {dtype}: make numbers, dates or text of it")
        if dtype.is_float():
            check_finite(source, name, column.cast(nw.Float64).fill_null(0.0).to_numpy(), range(len(column)))
        elif isinstance(dtype, nw.Object):
            _check_kinds(source, name, column.to_list())
        elif isinstance(dtype, nw.String) and path.suffix.lower() in SEPARATORS:
            _note_numbers(source, name, column.to_list())


def _check_kinds(source: Source, name: str, cells: list[Any]) -> None:
    """Refuse what is neither number nor text, and both in one column."""
    kinds = [_kind(cell) for cell in cells]
    commonest = max(("number", "text"), key=kinds.count)
    row = next((row for row, kind in enumerate(kinds) if kind not in (None, commonest)), None)
    if row is not None:
        advice = "flatten it" if kinds[row] == "nested" else "make it all numbers or all text"
        where = source.place(row)
        raise InvalidFile(f"{source.path} holds {cells[row]!r:.{MOST_SHOWN}} in {where}, column {name!r}: {advice}")


def _kind(cell: Any) -> str | None:
    if isinstance(cell, list | tuple | dict | np.ndarray):
        return "nested"
    if isinstance(cell, str):
        return "text"
    if is_missing(cell):
        return None
    return "number" if isinstance(cell, NUMBER) else "other"


def _note_numbers(source: Source, name: str, cells: list[Any]) -> None:
    """Say that numbers are read as text because of a few cells that are none."""
    texts = [(row, cell) for row, cell in enumerate(cells) if isinstance(cell, str)]
    others = [(row, cell) for row, cell in texts if isinstance(number(cell), str)]
    if others and len(others) <= (1 - MOSTLY) * len(texts):
        row, cell = others[0]
        warn(
            f"column {name!r} of {source.path} is read as text: {len(texts) - len(others)} of its {len(texts)} cells "
            f"are numbers, but {source.place(row)} holds {cell!r:.{MOST_SHOWN}}; mend the table if it is no category"
        )


def check_finite(source: Source, name: str, values: Any, positions: Sequence[int]) -> None:
    """Refuse infinite numbers, the first by its place."""
    infinite = np.isinf(values)
    if infinite.any():
        where = source.place(positions[first(infinite)])
        raise InvalidFile(f"{source.path} has an infinite value in {where}, column {name!r}: fill or drop these rows")


def first(flags: Flags) -> int:
    """Where the first flag is."""
    return int(np.flatnonzero(flags)[0])
