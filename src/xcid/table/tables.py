"""Tables of any make become columns of cells; a row of weight k stands for k rows, and so it becomes k rows.

Whatever is learnt or drawn from the reference data then heeds the weights, and nothing behind this room has to know
them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from xcid._check import describe_differences, shown, telling
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array, Integers
from xcid.table.columns import REFERENCE, Cells, objects, writable

MOST_COLUMNS = 10_000  # a row's perturbations then take some gigabytes, and their masks grow with the square


class Table(NamedTuple):
    """A table as columns of cells, with its source: a narwhals frame, or what else was given.

    ``orders`` holds the levels of ordered categories, is empty for other categories and None for all other columns;
    ``named`` says whether the columns have names of their own, and ``zoned`` which of them have times of a zone.
    """

    names: tuple[str, ...]
    cells: tuple[Cells, ...]
    orders: tuple[tuple[Any, ...] | None, ...]
    source: Any
    named: bool
    zoned: frozenset[str] = frozenset()

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.cells[0])

    def part(self, rows: Any) -> Table:
        """Some of the rows; the source, which says what tables look like, stays as it is."""
        return self._replace(cells=tuple(cells[rows] for cells in self.cells))

    def in_order(self, names: tuple[str, ...], what: str) -> Table:
        """Put the columns in the given order; names of their own must be the same names."""
        place, wanted = {name: at for at, name in enumerate(self.names)}, set(names)
        missing = [name for name in names if name not in place]
        extra = [name for name in self.names if name not in wanted]
        if missing or extra:
            raise InvalidData(
                f"{what} has {len(self.names)} columns and {len(names)} are expected: "
                f"{describe_differences(missing, extra)}"
            )
        return self._replace(names=names, cells=tuple(self.cells[place[name]] for name in names))


def read(table: Any, what: str, names: Sequence[str] | None) -> Table:
    """Read a table; ``names`` are for tables that have none."""
    with telling(InvalidData, f"{what} cannot be read as a table"):
        found = _read(table, what, names)
    if len(found.names) > MOST_COLUMNS:
        raise InvalidData(
            f"{what} has {len(found.names):,} columns, and {MOST_COLUMNS:,} are the most that can be explained: "
            "choose some of them"
        )
    if found.named and names is not None and what == REFERENCE and _strings(names) != found.names:
        raise InvalidParameter(
            f"feature_names {shown(_strings(names))} differ from the columns of the table {shown(found.names)}"
        )
    repeated = sorted(name for name, count in Counter(found.names).items() if count > 1)
    if repeated:
        raise InvalidData(f"the columns {shown(repeated)} appear more than once: rename them")
    return found


def _read(table: Any, what: str, names: Sequence[str] | None) -> Table:
    table = _one_row(table)
    frame = _as_frame(table)
    if frame is not None:
        return _from_frame(frame, what)
    if isinstance(table, list | tuple) and table and all(isinstance(row, Mapping) for row in table):
        return _from_dicts(table, what)
    return _from_rows(table, what, names)


def labels(table: Any, n_rows: int) -> Cells:
    """Names of the rows: the index of a pandas frame (whole numbers or text), else 0, 1, 2, ..."""
    index: Any = getattr(_one_row(table), "index", None)
    if not hasattr(index, "to_numpy"):
        return np.arange(n_rows)
    names = index.to_numpy()
    if names.dtype.kind in "iu":
        return names.astype(np.int64)
    return np.array([writable(str(name), "a row is called") for name in names])


def of_floats(table: Table) -> list[bool]:
    """Which columns have a type of floats: they can hold fractions even where all of their cells are whole."""
    if isinstance(table.source, nw.DataFrame):
        return [table.source.get_column(name).dtype.is_float() for name in table.source.columns]
    return [
        cells.dtype.kind == "f" or any(isinstance(cell, float) and cell == cell for cell in cells.tolist())
        for cells in table.cells
    ]


def is_sparse(table: Any) -> bool:
    """Whether a table is one of SciPy's sparse matrices or arrays, or behaves like one."""
    return hasattr(table, "toarray") and hasattr(table, "nnz")


def time_zone(series: nw.Series[Any]) -> str | None:
    """The zone of a column of times that has one."""
    return series.dtype.time_zone if isinstance(series.dtype, nw.Datetime) else None


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
    _refuse_empty(frame.shape, what)
    series = [frame.get_column(name) for name in frame.columns]
    cells, orders = tuple(_cells(one, what) for one in series), tuple(_order(one) for one in series)
    zoned = frozenset(str(one.name) for one in series if time_zone(one))
    return Table(_strings(frame.columns), cells, orders, frame, True, zoned)


def _cells(series: nw.Series[Any], what: str) -> Cells:
    """Cells of a column: numbers as numbers, dates as dates, all else as Python objects."""
    with telling(InvalidData, f"column {series.name!r} of {what} has cells of the type {series.dtype}"):
        return _plain(series)


def _plain(series: nw.Series[Any]) -> Cells:
    if isinstance(series.dtype, nw.Date | nw.Datetime):
        utc = series.dt.convert_time_zone("UTC").dt.replace_time_zone(None) if time_zone(series) else series
        return utc.to_numpy().astype("datetime64[us]")
    if series.dtype.is_numeric() or isinstance(series.dtype, nw.List | nw.Array | nw.Struct):
        return series.to_numpy()
    return objects(series.to_list())


def _order(series: nw.Series[Any]) -> tuple[Any, ...] | None:
    ordered = getattr(getattr(series.to_native(), "cat", None), "ordered", False)
    if isinstance(series.dtype, nw.Enum) or ordered is True:
        return tuple(series.cat.get_categories().to_list())
    return () if isinstance(series.dtype, nw.Categorical) else None


def _from_dicts(rows: Sequence[Mapping[Any, Any]], what: str) -> Table:
    names = tuple(dict.fromkeys(key for row in rows for key in row))
    if not names:
        raise InvalidData(f"{what} is empty: its {len(rows)} rows have no columns")
    cells = tuple(objects([row.get(name) for row in rows]) for name in names)
    return Table(_strings(names), cells, (None,) * len(names), rows, named=True)


def _from_rows(table: Any, what: str, names: Sequence[str] | None) -> Table:
    rows = _array(table, what)
    _refuse_empty(rows.shape, what)
    given = tuple(f"x{i}" for i in range(rows.shape[1])) if names is None else _strings(names)
    if len(given) != rows.shape[1]:
        if what == REFERENCE:
            raise InvalidParameter(f"there are {len(given)} feature_names for {rows.shape[1]} columns")
        raise InvalidData(f"{what} has {rows.shape[1]} columns and {len(given)} are expected: {shown(given)}")
    if rows.dtype.kind in "mM":  # reference dates need a frame, whose columns have types
        rows = rows.astype(f"{rows.dtype.kind}8[us]").astype(object)  # nanoseconds would become numbers
    return Table(given, tuple(rows.T), (None,) * len(given), table, named=False)


def _refuse_empty(shape: tuple[int, ...], what: str) -> None:
    if 0 in shape:
        raise InvalidData(f"{what} is empty: it has {shape[0]} rows and {shape[1]} columns")


def _array(table: Any, what: str) -> Cells:
    if is_sparse(table):
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
    return tuple(writable(str(name), "a column is called") for name in names)


ROWS_EACH = 4  # rows that stand for one, on average, where there are many
ROWS = 4_096  # that stand for all where there are few
MOST_CELLS = 2**24  # of these
EQUAL = 1e-9  # relative difference of numbers that are meant to be the same
DECIMALS = 6  # of a place among the rows: a sum that is off in the last digit is the same place


class Weighted(NamedTuple):
    """Which of the given rows count, and how much."""

    kept: Integers  # (k,) positions of the rows that have a weight
    shares: Array | None  # (k,) of them in the whole; None where no weights are given, or all are the same
    copied: Integers  # (N,) which of the kept rows each reference row is


def apply_weights(weights: Any, background: Any, n_rows: int, n_columns: int) -> Weighted:
    """Check the weights of a table's rows, and turn them into rows of equal weight."""
    everyone = np.arange(n_rows)
    given = np.ones(n_rows) if weights is None else _check_weights(weights, background, n_rows)
    relative = given / given.max()
    kept = np.flatnonzero(relative)
    if len(kept) < min(2, n_rows):
        raise InvalidData("one reference row alone has a weight above 0: give at least 2, better some hundreds")
    if (relative == 1).all():
        return Weighted(everyone, None, everyone)
    most = max(ROWS_EACH * len(kept), min(ROWS, MOST_CELLS // n_columns))
    shares = relative[kept] / relative.sum()
    return Weighted(kept, shares, np.repeat(np.arange(len(kept)), copies(shares, most)))


def copies(shares: Array, most: int) -> Integers:
    """(k,) how many of at most so many rows each of (k,) shares above 0 gets.

    They are exact where the shares are whole numbers of some unit, and few enough of them. Else rows are taken at even
    steps along the sum of the shares: any run of rows is off by less than one row.

    Examples
    --------
    >>> copies(np.array([0.2, 0.2, 0.6]), most=100).tolist()
    [1, 1, 3]
    >>> copies(np.array([0.5, 0.2, 0.2999]), most=10).tolist()
    [5, 2, 3]
    """
    with np.errstate(over="ignore"):
        units = shares / shares.min()
        most_units = int(most / units.sum())
    for size in range(1, most_units + 1):
        counts = np.rint(size * units)
        if np.allclose(size * units, counts, rtol=EQUAL, atol=0):
            return counts.astype(np.int64)
    ends = np.round(np.cumsum(shares) / shares.sum() * most, DECIMALS)
    return np.diff(np.floor(ends + 0.5), prepend=0.0).astype(np.int64)


def _check_weights(weights: Any, background: Any, n_rows: int) -> Array:
    """(N,) weights from 0 up, of which one at least is above 0."""
    names, own = getattr(weights, "index", None), getattr(background, "index", None)
    if names is not None and hasattr(names, "equals") and hasattr(own, "equals") and not names.equals(own):
        raise InvalidParameter(
            "the weights have another index than the reference rows: give weights.loc[reference.index], or "
            "weights.to_numpy() where they stand in the same order"
        )
    wanted = f"weights must be one number for each of the {n_rows} reference rows"
    try:
        given = np.ma.asarray(weights)
        cells = np.ma.filled(given.astype(np.float64), np.nan)
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"{wanted} ({error})") from error
    if given.dtype.kind not in "fiubO" or any(isinstance(cell, str) for cell in given.ravel().tolist()):
        raise InvalidParameter(f"{wanted}, not text or dates")
    if cells.shape != (n_rows,):
        raise InvalidParameter(f"{wanted}, not a {type(weights).__name__} of shape {cells.shape}")
    wrong = np.flatnonzero(~((cells >= 0) & (cells < np.inf)))
    if wrong.size:
        raise InvalidParameter(
            f"weights must be finite numbers from 0 up, and that of row {wrong[0]} is {cells[wrong[0]]:g} "
            f"({wrong.size} such weights in all)"
        )
    if not cells.any():
        raise InvalidParameter(f"all {n_rows} weights are 0: no reference row is left")
    return cells
