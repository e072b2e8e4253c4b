"""Tables become matrices, whatever they hold, and matrices tables again, of the make that a model or a user wants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np

from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array, Backend, Flags, Integers
from xcid.table.columns import Cells, Column, Unit, objects, to_times
from xcid.table.tables import Table, is_sparse, time_zone

if TYPE_CHECKING:
    from xcid.table.features import FeatureSpace

Decode: TypeAlias = Callable[[Array], Any]
"""From a matrix of codes and numbers to a table."""


class Met(NamedTuple):
    """Rows as numbers, the space that has room for them, and which of them hold what the reference data do not."""

    space: FeatureSpace
    rows: Array  # (n, d)
    unseen: Flags  # (n,)


def encode_unseen(space: FeatureSpace, table: Any, what: str = "the table to explain") -> Met:
    """Turn rows into numbers; those that hold what the reference data do not are no reason to refuse the others."""
    try:
        rows = space.encode(table, what)
        return Met(space, rows, np.zeros(len(rows), dtype=bool))
    except InvalidData:
        from xcid.table.unseen import widen

        found = widen(space, table, what)
        if found is None:
            raise
        return found


def flag_unseen(space: FeatureSpace, rows: Array) -> Flags:
    """(n, d) cells that the reference data do not have."""
    n_levels = np.array([len(column.levels) or np.inf for column in space.columns])
    found: Flags = (np.isnan(rows) & (space.missing == 0)) | (rows >= n_levels)
    return found


def require_backend(backend: Backend) -> None:
    """Refuse a library of data frames that is unknown or not installed."""
    if backend not in get_args(Backend):
        raise InvalidParameter(f"unknown backend {backend!r}: use one of {list(get_args(Backend))}")
    require(backend, extra=backend)


@dataclass(frozen=True, slots=True)
class ToRows:
    """Decode to a table without names: an array or a sparse matrix of its own, which a model may change.

    ``makers`` go from codes to cells, one for each column, or are none where all are numbers; ``wrap`` goes from an
    array to the table; ``order`` has the columns as the model wants them.
    """

    dtype: Any = np.float64
    makers: tuple[Callable[[Array], Cells], ...] = ()
    wrap: Callable[[Cells], Any] = np.asarray
    order: tuple[int, ...] | None = None

    def __call__(self, matrix: Array) -> Any:
        if self.makers:
            cells = np.column_stack([make(matrix[:, i]).astype(self.dtype) for i, make in enumerate(self.makers)])
        else:
            cells = matrix.astype(self.dtype)
        return self.wrap(cells if self.order is None else cells[:, self.order])


def frame_maker(columns: Sequence[Column], names: Sequence[str], backend: Backend) -> Decode:
    """Decode to data frames of the given library with the columns in the order of the names."""
    require_backend(backend)
    makers = {column.name: (at, cells_maker(column)) for at, column in enumerate(columns)}
    return partial(_make_frame, {name: makers[name] for name in names}, backend)


def frame_of(columns: Mapping[str, Any], backend: Backend) -> Any:
    """Make a data frame of the given library from columns by name."""
    require_backend(backend)
    is_text = {name for name, column in columns.items() if isinstance(column, np.ndarray) and column.dtype.kind == "U"}
    lists = {name: column.tolist() if name in is_text else column for name, column in columns.items()}
    return nw.from_dict(lists, backend=backend).to_native()


def in_order(decode: Decode, own: Sequence[str], names: Sequence[str]) -> Decode:
    """Decode to tables whose columns stand in another order than their own."""
    if isinstance(decode, ToRows):
        return replace(decode, order=tuple(list(own).index(name) for name in names))
    return partial(_reorder, decode, tuple(names))


def maker(table: Table, columns: tuple[Column, ...]) -> Decode:
    """How to make tables like the given one from matrices."""
    source = table.source
    if isinstance(source, nw.DataFrame):
        series = [source.get_column(name) for name in source.columns]
        makers = [_column_maker(one, column) for one, column in zip(series, columns, strict=True)]
        return partial(_make_alike, makers, source.head(0).to_native())
    levels = [cells_maker(column) for column in columns]
    if table.named:
        return partial(_make_dicts, table.names, levels)
    wrap = type(source) if is_sparse(source) else np.asarray
    dtype = getattr(source, "dtype", np.dtype(np.float64))  # a list has none
    if any(column.levels for column in columns):
        is_number = hasattr(source, "dtype") and dtype.kind in "fiub"
        return ToRows(dtype if is_number else object, tuple(levels), wrap)
    return ToRows(dtype, wrap=wrap)


def cells_maker(column: Column) -> Callable[[Array], Cells]:
    """From codes to cells of a plain array; None for a missing level."""
    return partial(_take_cells, objects([*column.levels, None])) if column.levels else np.copy


def _column_maker(series: nw.Series[Any], column: Column) -> Callable[[Array], Any]:
    """From codes to a column of the original type, native or an array; levels are taken from the original itself."""
    if column.levels:
        values = series.to_list()
        first = {values[row]: row for row in reversed(range(len(values)))}
        empty = int(np.argmax(series.is_null().to_numpy()))
        return partial(_take_levels, series[[*(first[level] for level in column.levels), empty]].to_native())
    dtype, name, backend = series.dtype, series.name, series.implementation
    if column.unit:
        return partial(_make_times, name, dtype, backend, column.unit, time_zone(series))
    if backend.is_pandas_like():
        native = series.to_native()
        if isinstance(native.dtype, np.dtype) and native.dtype.kind in "fiub":
            return partial(_cast, np.asarray, native.dtype)
        return partial(_cast, type(native), native.dtype)
    return partial(_make_numbers, name, dtype, backend, bool(series.is_null().any()))


# What decodes, as functions of this module: an explainer can be pickled, closures cannot.


def _make_frame(chosen: Mapping[str, tuple[int, Callable[[Array], Cells]]], backend: Backend, matrix: Array) -> Any:
    cells = {name: to_cells(matrix[:, at]) for name, (at, to_cells) in chosen.items()}
    return nw.from_dict(cells, backend=backend).to_native()


def _reorder(decode: Decode, names: tuple[str, ...], matrix: Array) -> Any:
    return nw.from_native(decode(matrix), eager_only=True).select(*names).to_native()


def _make_alike(makers: Sequence[Callable[[Array], Any]], like: Any, matrix: Array) -> Any:
    return _frame([make(matrix[:, i]) for i, make in enumerate(makers)], like)


def _make_dicts(names: Sequence[str], makers: Sequence[Callable[[Array], Cells]], matrix: Array) -> list[Any]:
    rows = zip(*(make(matrix[:, i]).tolist() for i, make in enumerate(makers)), strict=True)
    return [dict(zip(names, row, strict=True)) for row in rows]


def _take_cells(cells: Cells, codes: Array) -> Cells:
    return cells[_positions(codes, len(cells) - 1)]


def _take_levels(levels: Any, codes: Array) -> Any:
    known = nw.from_native(levels, series_only=True)
    return nw.maybe_reset_index(known[_positions(codes, len(known) - 1).tolist()]).to_native()


def _make_times(name: str, dtype: Any, backend: Any, unit: Unit, zone: str | None, codes: Array) -> Any:
    made = nw.new_series(name, to_times(codes, unit), nw.Datetime("us"), backend=backend)
    if zone:
        made = made.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
    return made.cast(dtype).to_native()


def _cast(make: Callable[[Array], Any], dtype: Any, codes: Array) -> Any:
    return make(codes).astype(dtype)


def _make_numbers(name: str, dtype: Any, backend: Any, has_null: bool, codes: Array) -> Any:
    values: Any = codes
    if has_null and np.isnan(codes).any():
        values = [None if missing else code for code, missing in zip(codes.tolist(), np.isnan(codes), strict=True)]
    return nw.new_series(name, values, nw.Float64, backend=backend).cast(dtype).to_native()


def _positions(codes: Array, missing: int) -> Integers:
    return np.where(np.isnan(codes), missing, codes).astype(np.int64)


def _frame(columns: list[Any], like: Any) -> Any:
    """Columns as a frame of the same library and with the same names."""
    make = type(like)
    if hasattr(make, "from_pydict"):
        return make.from_pydict(dict(zip(like.column_names, columns, strict=True)))
    named = dict(zip(map(str, range(len(columns))), columns, strict=True))
    frame = make(named, copy=False) if make.__module__.startswith("pandas") else make(named)
    frame.columns = like.columns
    return frame
