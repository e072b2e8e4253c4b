"""Columns by name as lines of text."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from xcid.files.formulas import defused

Columns: TypeAlias = Mapping[str, Any]  # arrays of one length


def cells(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """The cells of each line; None for a number that is none."""
    return zip(*(map(_or_missing, part.tolist()) for part in columns.values()), strict=True)


def harmless(columns: Columns) -> Iterator[tuple[Any, ...]]:
    """The cells of each line for files that spreadsheets open: text that would be a formula is marked."""
    return (tuple(map(defused, line)) for line in cells(columns))


def json_lines(columns: Columns) -> Iterator[str]:
    """Objects in strict JSON: a number that is none is null."""
    for line in cells(columns):
        yield json.dumps(dict(zip(columns, line, strict=True)), ensure_ascii=False, allow_nan=False)


def _or_missing(cell: Any) -> Any:
    return None if isinstance(cell, float) and not math.isfinite(cell) else cell
