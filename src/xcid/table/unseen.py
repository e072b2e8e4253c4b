"""Rows that hold what the reference data do not: levels or missing cells get room, if the types have.

The model decides whether it can take them. Nothing is drawn from them: features, pools and ranges stay those of the
reference data.
"""

from __future__ import annotations

import zlib
from collections.abc import Hashable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid.errors import ModelError
from xcid.records import Array
from xcid.table.columns import REFERENCE, Cells, Column, is_missing, matrix_of, type_of, writable
from xcid.table.makers import Decode, Met, flag_unseen, maker
from xcid.table.tables import Table, read

if TYPE_CHECKING:
    from xcid.table.features import FeatureSpace


def widen(space: FeatureSpace, table: Any, what: str) -> Met | None:
    """Turn rows into numbers where some hold what the reference data do not; None where no row does."""
    found = read(table, what, space.names).in_order(space.names, what)
    columns = tuple(
        replace(column, levels=(*column.levels, *_unseen(column, cells)))
        for column, cells in zip(space.columns, found.cells, strict=True)
    )
    rows = matrix_of(columns, found, what)
    unseen = np.array(flag_unseen(space, rows).any(axis=1))
    if not unseen.any():
        return None
    if not unseen.all():
        space.check_types(rows[~unseen], what)
    return Met(_wider(space, columns, found.part(unseen), rows[unseen]), rows, unseen)


def first_unseen(space: FeatureSpace, found: Met) -> tuple[str, Any]:
    """The first cell that a space does not have of rows that it has met: its column, and its level or None."""
    row, at = np.argwhere(flag_unseen(space, found.rows))[0]
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


def _wider(space: FeatureSpace, columns: tuple[Column, ...], table: Table, rows: Array) -> FeatureSpace:
    """The space with room for more levels and missing cells; where its types have none, rows with them are refused."""
    try:
        pairs = zip(space.columns, columns, strict=True)
        new = {at: one.levels[len(own.levels) :] for at, (own, one) in enumerate(pairs) if one.levels != own.levels}
        joined = _joined(space, table)
        decode = maker(joined, columns)
        if isinstance(joined.source, nw.DataFrame):
            decode = partial(_drop_categories, decode, new)
        wide = replace(space, columns=columns, decode=decode)
        wide.check_types(np.concatenate([space.rows[:1], rows]), "the table to explain")
    except Exception as error:
        wide = replace(space, columns=columns, decode=_refusing(space, str(error)))
    return replace(wide, keyed=_by_name(space, columns))


def _drop_categories(decode: Decode, new: Mapping[int, tuple[Any, ...]], matrix: Array) -> Any:
    """Tables whose columns of pandas' categories have no new one that no cell holds: models may refuse them all."""
    table = decode(matrix)
    for at, levels in new.items():
        cells: Any = table.iloc[:, at] if hasattr(table, "iloc") else None
        if hasattr(cells, "cat"):
            table[table.columns[at]] = cells.cat.remove_categories(list(set(levels) - set(cells.unique())))
    return table


def _joined(space: FeatureSpace, table: Table) -> Table:
    """Tables like the reference data with some more rows, from which the types of both follow."""
    like = read(space.decode(space.rows), REFERENCE, space.names)
    if not isinstance(like.source, nw.DataFrame):
        is_whole = getattr(getattr(like.source, "dtype", None), "kind", "") in "iu"
        return like._replace(source=like.source.astype(np.float64)) if is_whole else like
    frame = like.source
    pairs = [
        _with_categories(frame.get_column(name), _column(frame.get_column(name), cells))
        for name, cells in zip(frame.columns, table.cells, strict=True)
    ]
    both = [nw.concat([one.to_frame() for one in part], how="horizontal") for part in zip(*pairs, strict=True)]
    return like._replace(source=nw.concat(both, how="vertical"))


def _with_categories(like: nw.Series[Any], more: nw.Series[Any]) -> tuple[nw.Series[Any], nw.Series[Any]]:
    """Both columns; those of pandas' categories, which differ from table to table, with the categories of both."""
    dtypes: list[Any] = [getattr(one.to_native(), "dtype", None) for one in (like, more)]
    if not all(hasattr(dtype, "categories") for dtype in dtypes):
        return like, more
    known = dtypes[0].categories
    wide = type(dtypes[0])(known.append(dtypes[1].categories.difference(known)), dtypes[0].ordered)
    cast = [nw.from_native(one.to_native().astype(wide), series_only=True) for one in (like, more)]
    return cast[0], cast[1]


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
    """The way to tables, closed to rows that hold what the reference data do not."""

    def decode(matrix: Array) -> Any:
        flags = flag_unseen(space, matrix)
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
