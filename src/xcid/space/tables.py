"""Tables of any make become columns of cells, and matrices become such tables again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np

from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array
from xcid.space.columns import Cells, Column, to_times

Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]
MOST_COLUMNS = 10_000  # a row's perturbations then take some gigabytes, and their masks grow with the square


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """A table as columns of cells.

    Attributes
    ----------
    names : tuple of str
    cells : tuple of (n,) arrays
    orders : tuple of (tuple or None)
        The levels of ordered categories, empty for other categories, None for all other columns.
    source : object
        The table itself: a narwhals frame, or what else was given.
    named : bool
        Whether the columns have names of their own.
    """

    names: tuple[str, ...]
    cells: tuple[Cells, ...]
    orders: tuple[tuple[Any, ...] | None, ...]
    source: Any
    named: bool

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.cells[0])

    def in_order(self, names: tuple[str, ...], what: str) -> Table:
        """Put the columns in the given order; names of their own must be the same names."""
        place, wanted = {name: at for at, name in enumerate(self.names)}, set(names)
        missing = [name for name in names if name not in place]
        extra = [name for name in self.names if name not in wanted]
        if missing or extra:
            raise InvalidData(
                f"{what} has {len(self.names)} columns and {len(names)} are expected: "
                f"missing {missing}, unknown {extra}"
            )
        return replace(self, names=names, cells=tuple(self.cells[place[name]] for name in names))


def read(table: Any, what: str, names: Sequence[str] | None) -> Table:
    """Read a table; ``names`` are for tables that have none."""
    table = _one_row(table)
    frame = _as_frame(table)
    if frame is not None:
        read_table = _from_frame(frame, what)
    elif isinstance(table, list | tuple) and table and all(isinstance(row, Mapping) for row in table):
        read_table = _from_dicts(table, what)
    else:
        read_table = _from_rows(table, what, names)
    if len(read_table.names) > MOST_COLUMNS:
        raise InvalidData(
            f"{what} has {len(read_table.names):,} columns, and {MOST_COLUMNS:,} are the most that can be explained: "
            "choose some of them"
        )
    if read_table.named and names is not None and what == "the background" and _strings(names) != read_table.names:
        raise InvalidParameter(f"feature_names {names!r} differ from the columns of the table {list(read_table.names)}")
    repeated = sorted(name for name, count in Counter(read_table.names).items() if count > 1)
    if repeated:
        raise InvalidData(f"the columns {repeated} appear more than once: rename them")
    return read_table


def labels(table: Any, n_rows: int) -> Cells:
    """Names of the rows: the index of a pandas frame (whole numbers or text), else 0, 1, 2, ..."""
    index: Any = getattr(_one_row(table), "index", None)
    if not hasattr(index, "to_numpy"):
        return np.arange(n_rows)
    names = index.to_numpy()
    return names.astype(np.int64) if names.dtype.kind in "iu" else np.array([str(name) for name in names])


def require_backend(backend: Backend) -> None:
    """Refuse a library of data frames that is unknown or not installed."""
    if backend not in get_args(Backend):
        raise InvalidParameter(f"unknown backend {backend!r}: use one of {list(get_args(Backend))}")
    require(backend, extra=backend)


@dataclass(frozen=True, slots=True)
class ToRows:
    """Decode to a table without names: an array or a sparse matrix of its own, which a model may change.

    Attributes
    ----------
    dtype : data type
        Of the cells.
    makers : tuple of callables
        From codes to cells, one for each column; none where all are numbers.
    wrap : callable
        From an array to the table.
    order : tuple of int, optional
        Columns in the order in which the model wants them.
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


def frame_maker(columns: Sequence[Column], names: Sequence[str], backend: Backend) -> Callable[[Array], Any]:
    """Decode to data frames of the given library with the columns in the order of the names."""
    require_backend(backend)
    makers = {column.name: (at, cells_maker(column)) for at, column in enumerate(columns)}
    chosen = {name: makers[name] for name in names}

    def make(matrix: Array) -> Any:
        cells = {name: to_cells(matrix[:, at]) for name, (at, to_cells) in chosen.items()}
        return nw.from_dict(cells, backend=backend).to_native()

    return make


def in_order(decode: Callable[[Array], Any], own: Sequence[str], names: Sequence[str]) -> Callable[[Array], Any]:
    """Decode to tables whose columns stand in another order than their own."""
    if isinstance(decode, ToRows):
        return replace(decode, order=tuple(list(own).index(name) for name in names))
    return lambda matrix: nw.from_native(decode(matrix), eager_only=True).select(*names).to_native()


def maker(table: Table, columns: tuple[Column, ...]) -> Callable[[Array], Any]:
    """How to make tables like the given one from matrices."""
    if isinstance(table.source, nw.DataFrame):
        like = table.source.to_native()
        makers = [
            _column_maker(table.source.get_column(name), column)
            for name, column in zip(table.source.columns, columns, strict=True)
        ]
        return lambda matrix: _frame([make(matrix[:, i]) for i, make in enumerate(makers)], like)
    levels = [cells_maker(column) for column in columns]
    if table.named:
        return lambda matrix: [
            dict(zip(table.names, row, strict=True))
            for row in zip(*(make(matrix[:, i]).tolist() for i, make in enumerate(levels)), strict=True)
        ]
    wrap = type(table.source) if _is_sparse(table.source) else np.asarray
    dtype = getattr(table.source, "dtype", np.dtype(np.float64))  # a list has none
    if any(column.levels for column in columns):
        is_number = hasattr(table.source, "dtype") and dtype.kind in "fiub"
        return ToRows(dtype if is_number else object, tuple(levels), wrap)
    return ToRows(dtype, wrap=wrap)


def _one_row(table: Any) -> Any:
    """A Series (one row of a pandas frame) becomes a frame of one row, a dict a list of one."""
    if type(table).__name__ == "Series" and hasattr(table, "to_frame") and hasattr(table, "index"):
        return table.to_frame().T.infer_objects()
    return [table] if isinstance(table, Mapping) else table


def _as_frame(table: Any) -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(table, pass_through=True, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidData(f"columns appear more than once: {' '.join(str(error).split())}; rename them") from error
    return frame if isinstance(frame, nw.DataFrame) else None


def _from_frame(frame: nw.DataFrame[Any], what: str) -> Table:
    if len(frame) == 0 or len(frame.columns) == 0:
        raise InvalidData(f"{what} is empty: it has {len(frame)} rows and {len(frame.columns)} columns")
    series = [frame.get_column(name) for name in frame.columns]
    return Table(
        _strings(frame.columns),
        tuple(_cells(one) for one in series),
        tuple(_order(one) for one in series),
        frame,
        named=True,
    )


def _cells(series: nw.Series[Any]) -> Cells:
    """Cells of a column: numbers as numbers, dates as dates, all else as Python objects."""
    if isinstance(series.dtype, nw.Date | nw.Datetime):
        zone = series.dtype.time_zone if isinstance(series.dtype, nw.Datetime) else None
        utc = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if zone else series
        return utc.to_numpy().astype("datetime64[us]")
    if series.dtype.is_numeric() or isinstance(series.dtype, nw.List | nw.Array | nw.Struct):
        return series.to_numpy()
    values = series.to_list()
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells


def _order(series: nw.Series[Any]) -> tuple[Any, ...] | None:
    native = series.to_native()
    ordered = getattr(getattr(native, "cat", None), "ordered", False)
    if isinstance(series.dtype, nw.Enum) or ordered is True:
        return tuple(series.cat.get_categories().to_list())
    return () if isinstance(series.dtype, nw.Categorical) else None


def _from_dicts(rows: Sequence[Mapping[Any, Any]], what: str) -> Table:
    names = tuple(dict.fromkeys(key for row in rows for key in row))
    if not names:
        raise InvalidData(f"{what} is empty: its {len(rows)} rows have no columns")
    cells = tuple(_objects([row.get(name) for row in rows]) for name in names)
    return Table(_strings(names), cells, (None,) * len(names), rows, named=True)


def _from_rows(table: Any, what: str, names: Sequence[str] | None) -> Table:
    rows = _array(table, what)
    if rows.shape[0] == 0 or rows.shape[1] == 0:
        raise InvalidData(f"{what} is empty: it has {rows.shape[0]} rows and {rows.shape[1]} columns")
    given = tuple(f"x{i}" for i in range(rows.shape[1])) if names is None else _strings(names)
    if len(given) != rows.shape[1]:
        if what == "the background":
            raise InvalidParameter(f"there are {len(given)} feature_names for {rows.shape[1]} columns")
        raise InvalidData(f"{what} has {rows.shape[1]} columns and {len(given)} are expected: {list(given)}")
    rows = rows.astype(object) if rows.dtype.kind in "mM" else rows  # dates need a frame, whose columns have types
    return Table(given, tuple(rows.T), (None,) * len(given), table, named=False)


def _array(table: Any, what: str) -> Cells:
    if _is_sparse(table):
        return np.asarray(table.toarray())
    try:
        rows = np.asarray(table)
        if rows.dtype.kind in "US" and not isinstance(table, np.ndarray):
            rows = np.asarray(table, dtype=object)  # a list of numbers and text is not all text
    except (TypeError, ValueError) as error:
        raise InvalidData(f"{what} is not a table: its rows have different lengths ({error})") from error
    if np.ma.is_masked(table):  # the cells under a mask are missing, whatever they hold
        rows = rows.astype(object)
        rows[np.ma.getmaskarray(table)] = None
    if rows.ndim == 1:
        rows = rows[None, :] if rows.size else rows.reshape(0, 0)
    if rows.ndim != 2:
        raise InvalidData(
            f"{what} must have rows and columns; this {type(table).__name__} has the shape {rows.shape}: "
            "give a data frame, a 2-D array or a list of rows"
        )
    return rows


def _strings(names: Sequence[Any]) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidParameter(f"feature_names must be a list with one name for each column, not {names!r}")
    return tuple(str(name) for name in names)


def _is_sparse(table: Any) -> bool:
    return hasattr(table, "toarray") and hasattr(table, "nnz")


def _objects(values: Sequence[Any]) -> Cells:
    cells = np.empty(len(values), dtype=object)
    cells[:] = values
    return cells


def cells_maker(column: Column) -> Callable[[Array], Cells]:
    """From codes to cells of a plain array; None for a missing level."""
    if not column.levels:
        return lambda codes: codes.copy()
    cells = _objects([*column.levels, None])
    return lambda codes: cells[_positions(codes, len(column.levels))]


def _column_maker(series: nw.Series[Any], column: Column) -> Callable[[Array], Any]:
    """From codes to a column of the original type, native or an array; levels are taken from the original itself."""
    if column.levels:
        values = series.to_list()
        first = {value: row for row, value in reversed(list(enumerate(values)))}
        empty = int(np.flatnonzero(series.is_null().to_numpy())[0]) if series.is_null().any() else 0
        rows = np.array([*(first[level] for level in column.levels), empty])
        return lambda codes: nw.maybe_reset_index(
            series[rows[_positions(codes, len(column.levels))].tolist()]
        ).to_native()
    if column.unit:
        return _dates_maker(series, column)
    native, name, backend = series.to_native(), series.name, series.implementation
    if backend.is_pandas_like():
        if isinstance(native.dtype, np.dtype) and native.dtype.kind in "fiub":
            return lambda codes: codes.astype(native.dtype)
        make = type(native)
        return lambda codes: make(codes).astype(native.dtype)
    dtype, has_null = series.dtype, bool(series.is_null().any())

    def build(codes: Array) -> Any:
        values: Any = codes
        if has_null and np.isnan(codes).any():
            values = [None if missing else code for code, missing in zip(codes.tolist(), np.isnan(codes), strict=True)]
        return nw.new_series(name, values, nw.Float64, backend=backend).cast(dtype).to_native()

    return build


def _dates_maker(series: nw.Series[Any], column: Column) -> Callable[[Array], Any]:
    zone = series.dtype.time_zone if isinstance(series.dtype, nw.Datetime) else None
    dtype, name, backend = series.dtype, series.name, series.implementation

    def build(codes: Array) -> Any:
        made = nw.new_series(name, to_times(codes, column.unit), nw.Datetime("us"), backend=backend)
        if zone:
            made = made.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
        return made.cast(dtype).to_native()

    return build


def _positions(codes: Array, missing: int) -> np.ndarray[Any, np.dtype[np.int64]]:
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
