"""FeatureSpace: what the features are, and the way between tables and float64 matrices.

This is the only place that knows data frames. Everything behind it works on matrices.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import narwhals.stable.v2 as nw
import numpy as np

from xcid._data import Array
from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter

MOST_DECIMALS = 6
Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSpace:
    """The features of a table, learnt from a background table.

    Attributes
    ----------
    names : tuple of str
    background : (N, d)
        The background rows as numbers.
    lower, upper : (d,)
        Range of each feature.
    resolution : (d,)
        Levels in one unit: 1 for integers, 10 for one decimal, ...; 0 where values are continuous.
    decode : callable
        From a matrix to a table of the background's own kind.
    """

    names: tuple[str, ...]
    background: Array
    lower: Array
    upper: Array
    resolution: Array
    decode: Callable[[Array], Any]

    @classmethod
    def of(cls, background: Any, feature_names: Sequence[str] | None = None) -> FeatureSpace:
        """Learn the features from a data frame, an array or a sequence of rows; the names are for the last two."""
        table = _native(background)
        frame = _as_frame(table)
        names = _names(frame, table, feature_names)
        matrix = _matrix(frame, table, names, "the background")
        if len(matrix) < 2:
            raise InvalidData(f"the background has {len(matrix)} rows: give at least 2, better some hundreds")
        decode = to_array if frame is None else _maker_like(frame)
        resolution = np.array([_resolution(column) for column in matrix.T])
        return cls(names, matrix, matrix.min(axis=0), matrix.max(axis=0), resolution, decode)

    def encode(self, table: Any) -> Array:
        """Turn one row or many into an (n, d) matrix; columns of a data frame are found by name."""
        table = _native(table)
        return _matrix(_as_frame(table), table, self.names, "the table to explain")


def to_array(matrix: Array) -> Array:
    """Decode to an array of its own, which a model may change."""
    return matrix.copy()


def require_backend(backend: Backend) -> None:
    """Refuse a library of data frames that is unknown or not installed."""
    if backend not in get_args(Backend):
        raise InvalidParameter(f"unknown backend {backend!r}: use one of {list(get_args(Backend))}")
    require(backend, extra=backend)


def frame_maker(names: Sequence[str], backend: Backend) -> Callable[[Array], Any]:
    """Decode to data frames of the given library, which a model may change."""
    require_backend(backend)
    return lambda matrix: nw.from_numpy(matrix.copy(), schema=list(names), backend=backend).to_native()


def in_order(decode: Callable[[Array], Any], names: Sequence[str]) -> Callable[[Array], Any]:
    """Decode to data frames whose columns stand in another order."""
    return lambda matrix: nw.from_native(decode(matrix), eager_only=True).select(*names).to_native()


def _native(table: Any) -> Any:
    """A Series (one row of a pandas frame) becomes a frame of one row."""
    if type(table).__name__ == "Series" and hasattr(table, "to_frame") and hasattr(table, "index"):
        return table.to_frame().T
    return table


def _as_frame(table: Any) -> nw.DataFrame[Any] | None:
    try:
        frame = nw.from_native(table, pass_through=True, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        raise InvalidData(f"columns appear more than once: {' '.join(str(error).split())}; rename them") from error
    return frame if isinstance(frame, nw.DataFrame) else None


def _names(frame: nw.DataFrame[Any] | None, table: Any, given: Sequence[str] | None) -> tuple[str, ...]:
    if frame is not None:
        names = _strings(frame.columns)
        if given is not None and _strings(given) != names:
            raise InvalidParameter(f"feature_names {given!r} differ from the columns of the table {list(names)}")
    else:
        n_columns = _rows(table, "the background").shape[1]
        names = _strings(given) if given is not None else tuple(f"x{i}" for i in range(n_columns))
        if len(names) != n_columns:
            raise InvalidParameter(f"there are {len(names)} feature_names for {n_columns} columns")
    _check_unique(names)
    return names


def _strings(names: Sequence[Any]) -> tuple[str, ...]:
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidParameter(f"feature_names must be a list with one name for each column, not {names!r}")
    return tuple(str(name) for name in names)


def _check_unique(names: tuple[str, ...]) -> None:
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise InvalidData(f"the columns {repeated} appear more than once: rename them")


def _matrix(frame: nw.DataFrame[Any] | None, table: Any, names: tuple[str, ...], what: str) -> Array:
    matrix = _from_rows(_rows(table, what), names, what) if frame is None else _from_frame(frame, names, what)
    if matrix.shape[0] == 0 or matrix.shape[1] == 0:
        raise InvalidData(f"{what} is empty: it has {matrix.shape[0]} rows and {matrix.shape[1]} columns")
    _check_finite(matrix, names, what)
    return matrix


def _from_frame(frame: nw.DataFrame[Any], names: tuple[str, ...], what: str) -> Array:
    _check_unique(_strings(frame.columns))
    columns = {str(column): column for column in frame.columns}
    missing = [name for name in names if name not in columns]
    extra = [name for name in columns if name not in names]
    if missing or extra:
        raise InvalidData(
            f"{what} has {len(columns)} columns and {len(names)} are expected: missing {missing}, unknown {extra}"
        )
    matrix = np.empty((len(frame), len(names)))
    for position, name in enumerate(names):
        matrix[:, position] = _numbers(frame.get_column(columns[name]).to_numpy(), name, what)
    return matrix


def _rows(table: Any, what: str) -> np.ndarray[Any, Any]:
    try:
        rows = np.asarray(table)
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


def _from_rows(rows: np.ndarray[Any, Any], names: tuple[str, ...], what: str) -> Array:
    if rows.size and rows.shape[1] != len(names):
        raise InvalidData(f"{what} has {rows.shape[1]} columns and {len(names)} are expected: {list(names)}")
    if rows.dtype.kind in "fiub":
        return rows.astype(np.float64)
    columns = [_numbers(column, name, what) for column, name in zip(rows.T, names, strict=False)]
    return np.column_stack(columns) if columns else np.empty((0, 0))


def _numbers(column: np.ndarray[Any, Any], name: str, what: str) -> Array:
    """Float64 values of a column; text, dates and other objects are refused by name."""
    if column.dtype.kind in "fiub" and column.ndim == 1:
        return column.astype(np.float64)
    if column.ndim != 1:
        raise InvalidData(f"column {name!r} of {what} holds {column.shape[1:]} values a row: make columns of them")
    numbers = np.empty(len(column))
    for row, value in enumerate(column):
        try:
            numbers[row] = _number(value)
        except (TypeError, OverflowError) as error:
            shown = value.item() if isinstance(value, np.generic) else value
            raise InvalidData(
                f"column {name!r} of {what} holds {shown!r:.60} in row {row}, which is not a number: encode or drop it"
            ) from error
    return numbers


def _number(value: Any) -> float:
    """Float of a cell; a timedelta is an integer for NumPy, but not for us."""
    if value is None:
        return np.nan
    if not isinstance(value, int | float | np.integer | np.floating | np.bool_) or isinstance(value, np.timedelta64):
        raise TypeError(type(value).__name__)
    return float(value)


def _check_finite(matrix: Array, names: tuple[str, ...], what: str) -> None:
    bad = np.argwhere(~np.isfinite(matrix))
    if len(bad):
        row, column = bad[0]
        kind = "a missing value" if np.isnan(matrix[row, column]) else "an infinite value"
        raise InvalidData(
            f"{what} has {kind} in row {row}, column {names[column]!r} ({len(bad)} such cells in all): "
            "fill or drop these rows"
        )


def _maker_like(frame: nw.DataFrame[Any]) -> Callable[[Array], Any]:
    """Remember the library, the column names and the types of a frame."""
    backend = frame.implementation
    columns = list(frame.columns)
    whole = [dtype.is_integer() or dtype == nw.Boolean for dtype in frame.schema.values()]
    dtypes = [
        frame.get_column(name).to_numpy().dtype if is_whole else np.dtype(np.float64)
        for name, is_whole in zip(columns, whole, strict=True)
    ]

    def make(matrix: Array) -> Any:
        data = {name: matrix[:, i].astype(dtypes[i]) for i, name in enumerate(columns)}
        return nw.from_dict(data, backend=backend).to_native()

    return make


def _resolution(column: Array) -> float:
    """Levels in one unit, from the decimals of the values; 0 where they have too many to be rounded."""
    for decimals in range(MOST_DECIMALS + 1):
        scaled = column * 10.0**decimals
        if np.all(np.abs(scaled - np.round(scaled)) <= 1e-9 * np.maximum(1.0, np.abs(scaled))):
            return float(10.0**decimals)
    return 0.0
