"""Rows with levels or missing cells that the background does not have: a space with room for them, if its types have.

The model then decides whether it can take them. Features, pools and ranges stay those of the background: nothing is
drawn from what it does not have.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable
from dataclasses import replace
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from xcid.errors import InvalidData, ModelError
from xcid.records import Array, Flags
from xcid.table.columns import REFERENCE, Cells, Column, is_missing, type_of, writable
from xcid.table.features import FeatureSpace, matrix_of
from xcid.table.makers import Decode, maker
from xcid.table.tables import Table, read


class Met(NamedTuple):
    """Rows as numbers, the space that has room for them, and which of them hold what the background does not."""

    space: FeatureSpace
    rows: Array  # (n, d)
    unseen: Flags  # (n,)


def met(space: FeatureSpace, table: Any, what: str = "the table to explain") -> Met:
    """Turn rows into numbers; those that hold what the background does not are no reason to refuse the others."""
    try:
        rows = space.encode(table, what)
        return Met(space, rows, np.zeros(len(rows), dtype=bool))
    except InvalidData:
        found = read(table, what, space.names).in_order(space.names, what)
        more = [_unseen(column, cells) for column, cells in zip(space.columns, found.cells, strict=True)]
        columns = tuple(
            replace(column, levels=(*column.levels, *levels))
            for column, levels in zip(space.columns, more, strict=True)
        )
        rows = matrix_of(columns, found, what)
        unseen = np.array(_flags(space, rows).any(axis=1))
        if not unseen.any():
            raise
        if not unseen.all():
            space.check_types(rows[~unseen], what)
        return Met(_wider(space, columns, found.part(unseen), rows[unseen]), rows, unseen)


def first_unseen(space: FeatureSpace, found: Met) -> tuple[str, Any]:
    """The first cell that a space does not have of rows that it has met: its column, and its level or None."""
    row, at = np.argwhere(_flags(space, found.rows))[0]
    code, column = found.rows[row, at], found.space.columns[at]
    return column.name, None if np.isnan(code) else column.levels[int(code)]


def _unseen(column: Column, cells: Cells) -> tuple[Any, ...]:
    """Levels that a column does not have, of the type that its levels are of; others are refused."""
    if not column.levels:
        return ()
    kind = type_of(column.levels[0])
    new = [cell for cell in cells.tolist() if isinstance(cell, Hashable) and not is_missing(cell)]
    found: list[Any] = [cell for cell in dict.fromkeys(new) if cell not in column.levels and type_of(cell) == kind]
    for level in found:
        writable(str(level), f"column {column.name!r} holds")
    return tuple(sorted(found))


def _flags(space: FeatureSpace, rows: Array) -> Flags:
    """(n, d) cells that the background does not have."""
    n_levels = np.array([len(column.levels) or np.inf for column in space.columns])
    found: Flags = (np.isnan(rows) & (space.missing == 0)) | (rows >= n_levels)
    return found


def _wider(space: FeatureSpace, columns: tuple[Column, ...], table: Table, rows: Array) -> FeatureSpace:
    """The space with room for more levels and missing cells; where its types have none, rows with them are refused."""
    try:
        decode = maker(_joined(space, table), columns)
        wide = replace(space, columns=columns, decode=decode)
        wide.check_types(np.concatenate([space.rows[:1], rows]), "the table to explain")
    except Exception as error:
        wide = replace(space, columns=columns, decode=_refusing(space, str(error)))
    return replace(wide, keyed=_by_name(space, columns))


def _joined(space: FeatureSpace, table: Table) -> Table:
    """Tables like the background with some more rows, from which the types of both follow."""
    like = read(space.decode(space.rows), REFERENCE, space.names)
    if not isinstance(like.source, nw.DataFrame):
        is_whole = getattr(getattr(like.source, "dtype", None), "kind", "") in "iu"
        return like._replace(source=like.source.astype(np.float64)) if is_whole else like
    frame = like.source
    pairs = zip(frame.columns, table.cells, strict=True)
    more = [_column(frame.get_column(name), cells).to_frame() for name, cells in pairs]
    return like._replace(source=nw.concat([frame, nw.concat(more, how="horizontal")], how="vertical"))


def _column(like: nw.Series[Any], cells: Cells) -> nw.Series[Any]:
    """Cells as a column, of the type of another one where that has room for them."""
    backend, values = like.implementation, [None if is_missing(cell) else cell for cell in cells.tolist()]
    try:
        return nw.new_series(like.name, values, like.dtype, backend=backend)
    except Exception:
        if not like.dtype.is_numeric():
            raise
        return nw.new_series(like.name, [np.nan if one is None else one for one in values], nw.Float64, backend=backend)


def _refusing(space: FeatureSpace, reason: str) -> Decode:
    """The way to tables, closed to rows that hold what the background does not."""

    def decode(matrix: Array) -> Any:
        flags = _flags(space, matrix)
        if flags.any():
            names = [space.names[at] for at in np.flatnonzero(flags.any(axis=0))]
            raise ModelError(f"the reference data's types have no room for what columns {names} hold: {reason:.200}")
        return space.decode(matrix)

    return decode


def _by_name(space: FeatureSpace, columns: tuple[Column, ...]) -> Decode:
    """Codes by which random numbers know a row: a level that others of the table may come before, by its name."""

    def keyed(rows: Array) -> Array:
        known = rows.copy()
        for at, (own, column) in enumerate(zip(space.columns, columns, strict=True)):
            for code in range(len(own.levels), len(column.levels)):
                name = zlib.crc32(repr(column.levels[code]).encode())
                known[rows[:, at] == code, at] = len(own.levels) + name
        return known

    return keyed
