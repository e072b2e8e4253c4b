"""Rows to explain as the background has them: a cell that does not fit it is refused by file, row and column.

A message shows the one cell that is wrong, cut to 60 letters, and nothing else of the table's content.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple

import numpy as np

from xcid.errors import InvalidData
from xcid.files.cells import NUMBER, check_finite, first
from xcid.files.layout import Layout, Rule
from xcid.files.messages import MOST_SHOWN
from xcid.files.sources import Columns, Source
from xcid.records import Flags
from xcid.space.columns import is_missing

PLAIN = {float, int, bool, type(None)}  # what NumPy makes numbers of as we do
REASONS = {
    "number": "and the background has numbers there",
    "whole number": "and the background has whole numbers there",
    "date": "and the background has dates there",
    "level": "which the background does not have",
}


class Fitted(NamedTuple):
    """A column as the background has it, and the (n,) cells that are missing or cannot be in it."""

    values: Any
    missing: Flags
    wrong: Flags


def fitted(source: Source, columns: Columns, positions: Sequence[int], layout: Layout) -> Columns:
    """Give rows at some positions of a source with the types of the background; refuse a cell that does not fit it."""
    return {name: _fitted(source, name, columns[name], positions, rule) for name, rule in layout.columns.items()}


def _fitted(source: Source, name: str, cells: Any, positions: Sequence[int], rule: Rule) -> Any:
    column = _levels(cells, rule) if rule.kind == "level" else _dates(cells) if rule.kind == "date" else _numbers(cells)
    if column.missing.any() and not rule.may_be_missing:
        where = source.place(positions[first(column.missing)])
        raise InvalidData(
            f"{source.path} has a missing value in {where}, column {name!r}, and the background has none there: fill "
            "or drop these rows"
        )
    wrong = column.wrong
    if rule.kind in ("number", "whole number"):
        check_finite(source, name, column.values, positions)
    if rule.kind == "whole number":
        wrong = wrong | (column.values != np.round(column.values)) & ~column.missing
    if wrong.any():
        at = first(wrong)
        cell = cells[at].item() if isinstance(cells[at], np.generic) else cells[at]
        raise InvalidData(
            f"{source.path} holds {cell!r:.{MOST_SHOWN}} in {source.place(positions[at])}, column {name!r}, "
            f"{REASONS[rule.kind]}"
        )
    return column.values


def _numbers(cells: Any) -> Fitted:
    is_array = isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub"
    if is_array or set(map(type, cells)) <= PLAIN:
        try:
            values = np.asarray(cells, dtype=np.float64)
            return Fitted(values, np.isnan(values), np.zeros(len(values), dtype=bool))
        except OverflowError:  # whole numbers of hundreds of digits
            pass
    missing = np.array([is_missing(cell) for cell in cells])
    wrong = np.array([isinstance(cell, np.timedelta64) or not isinstance(cell, NUMBER) for cell in cells]) & ~missing
    none = missing | wrong
    numbers = [np.nan if is_none else _float(cell) for cell, is_none in zip(cells, none, strict=True)]
    return Fitted(np.array(numbers), missing, wrong)


def _float(cell: Any) -> float:
    try:
        return float(cell)
    except OverflowError:
        return np.inf


def _dates(cells: Any) -> Fitted:
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        return Fitted(cells, np.isnat(cells), np.zeros(len(cells), dtype=bool))
    missing = np.array([is_missing(cell) for cell in cells])
    return Fitted(np.full(len(cells), np.datetime64("NaT", "us")), missing, ~missing)


def _levels(cells: Any, rule: Rule) -> Fitted:
    plain = cells.tolist() if isinstance(cells, np.ndarray) else cells
    values, levels = [None if is_missing(cell) else cell for cell in plain], {None, *rule.levels}
    wrong = np.array([not isinstance(cell, Hashable) or cell not in levels for cell in values])
    return Fitted(values, np.array([cell is None for cell in values]), wrong)
