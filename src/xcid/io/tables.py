"""Data frames of whichever library is installed, and names that their columns may have."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw

from xcid._check import meant, shown
from xcid._require import require
from xcid.errors import InvalidData, InvalidFile
from xcid.io.files import repeated
from xcid.records import Flags
from xcid.table import Backend
from xcid.table.tables import MOST_COLUMNS, read, time_zone

LIBRARIES: tuple[Backend, ...] = ("pandas", "polars", "pyarrow")


def library() -> Backend:
    """The first library of data frames that is installed."""
    for name in LIBRARIES:
        if importlib.util.find_spec(name) is not None:
            return name
    require("pandas", extra="pandas")  # says how to get it
    return "pandas"


def names(frame: Any) -> tuple[str, ...]:
    """Names of the columns."""
    return tuple(map(str, nw.from_native(frame, eager_only=True).columns))


def zoned(frame: Any) -> frozenset[str]:
    """Names of the columns whose times have a time zone."""
    narwhal = nw.from_native(frame, eager_only=True)
    return frozenset(name for name in narwhal.columns if time_zone(narwhal.get_column(name)))


def in_utc(frame: Any, names: Sequence[str]) -> Any:
    """The frame, with the zone that the times of some columns are in and do not say."""
    narwhal = nw.from_native(frame, eager_only=True)
    return narwhal.with_columns(*(nw.col(name).dt.replace_time_zone("UTC") for name in names)).to_native()


def size(frame: Any) -> int:
    """Number of rows."""
    return len(nw.from_native(frame, eager_only=True))


def part(frame: Any, positions: Sequence[int]) -> Any:
    """Some rows of a frame."""
    return nw.from_native(frame, eager_only=True)[list(positions)].to_native()


def columns(frame: Any, what: object) -> dict[str, Any]:
    """Cells by column: numbers and dates as arrays of such, all else as objects."""
    found = read(frame, str(what), None)
    return dict(zip(found.names, found.cells, strict=True))


def without(frame: Any, *left_out: str | None) -> Any:
    """The frame without some columns, where it has them; something must be left."""
    narwhal = nw.from_native(frame, eager_only=True)
    found = [name for name in narwhal.columns if name in left_out]
    if not found:
        return frame
    if len(found) == len(narwhal.columns):
        raise InvalidData(f"no feature is left: the columns are {shown(found)}, and all are left out")
    return narwhal.drop(found).to_native()


def parted(frame: Any, weights: str | None) -> tuple[Any, Any]:
    """The frame without the column of its weights, and these; None where no column has them."""
    if weights is None:
        return frame, None
    return without(frame, weights), column_of(frame, weights, "weights").to_numpy()


def column_of(frame: Any, name: str, what: str = "target") -> nw.Series[Any]:
    """One column, which must be there."""
    narwhal = nw.from_native(frame, eager_only=True)
    if name not in narwhal.columns:
        column, others = f"{what} column" if what else "column", narwhal.columns
        raise InvalidData(f"there is no {column} {name!r}{meant(name, others)}; the columns are {shown(others)}")
    found: nw.Series[Any] = narwhal.get_column(name)
    return found


def missing(column: nw.Series[Any]) -> Flags:
    """(n,) which cells are missing."""
    holes = column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()
    return holes.to_numpy().astype(bool)


def check_known(frame: Any, known: Any) -> None:
    """Refuse columns that the model was not fitted on, where it knows: one of them may be the target."""
    extra = [name for name in nw.from_native(frame, eager_only=True).columns if known is not None and name not in known]
    if extra:
        raise InvalidData(
            f"the reference data have the columns {shown(extra)}, which the model was not fitted on: name the target, "
            f"such as --target {extra[0]}, and leave others out by --drop"
        )


def check_names(path: Path, found: Sequence[str]) -> None:
    """Refuse columns without a name or with the same one, and more of them than can be explained."""
    check_width(path, len(found))
    blank = [position for position, name in enumerate(found) if not str(name).strip()]
    if blank:
        raise InvalidFile(
            f"columns {shown(blank)} of {path} have no name: name them, or leave them out (pandas writes its index "
            "like that: to_csv(..., index=False))"
        )
    twice = repeated(found)
    if twice:
        raise InvalidFile(f"the columns {shown(twice)} of {path} appear more than once: rename them")


def check_width(path: Path, n_columns: int) -> None:
    """Refuse more columns than can be explained: the work grows with their square."""
    if n_columns > MOST_COLUMNS:
        raise InvalidFile(
            f"{path} has {n_columns:,} columns, and {MOST_COLUMNS:,} are the most that can be explained: choose some"
        )
