"""FeatureSpace: kinds, ranges and precision of all features, learnt from the reference data."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from xcid._check import shown, shown_and_meant, telling
from xcid._kernels.arrays import blocks
from xcid._kernels.random import TALL, column_keys, content_keys
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array, Flags, Integers, Unsigned
from xcid.table.columns import REFERENCE, Column, Kind, detect, matrix_of, resolution, usual_resolution
from xcid.table.constraints import Constraints
from xcid.table.makers import Decode, maker
from xcid.table.tables import Table, Weighted, apply_weights, of_floats, read

ROUNDING = 1e-6  # of a step: what 0.1 * 10 may be off


class Pools(NamedTuple):
    """Values that may replace others, feature by feature."""

    values: Array  # (N, d) each column ascending and padded with NaN
    sizes: Integers  # (d,) how many they are
    n_missing: Integers  # (d,) and how many missing cells there are beside them

    @staticmethod
    def of(background: Array, allowed: Flags) -> Pools:
        """The allowed cells of the reference data."""
        values = np.empty(background.shape, order="F")
        sizes, n_missing = (np.empty(background.shape[1], dtype=np.int64) for _ in range(2))
        for feature, (column, usable) in enumerate(zip(background.T, allowed.T, strict=True)):
            values[:, feature] = np.sort(np.where(usable, column, np.nan))  # NaN comes last
            sizes[feature] = len(column) - np.isnan(values[:, feature]).sum()
            n_missing[feature] = usable.sum() - sizes[feature]
        return Pools(values, sizes, n_missing)

    def distinct(self) -> Pools:
        """Every value once."""
        columns = [self.values[:size, feature] for feature, size in enumerate(self.sizes)]
        firsts = [np.concatenate([[True], column[1:] != column[:-1]])[: len(column)] for column in columns]
        sizes = np.array([first.sum() for first in firsts])
        if np.array_equal(sizes, self.sizes) and sizes.max() == len(self.values):
            return self
        values = np.full((max(sizes.max(), 1), len(columns)), np.nan, order="F")
        for feature, (column, first) in enumerate(zip(columns, firsts, strict=True)):
            values[: sizes[feature], feature] = column[first]
        return Pools(values, sizes, self.n_missing)

    def between(self, low: Array, high: Array) -> tuple[Integers, Integers]:
        """First position and number of the values between (n, d) limits."""
        start, count = (np.empty(low.shape, dtype=np.int64) for _ in range(2))
        for feature, size in enumerate(self.sizes):
            column = self.values[:size, feature]
            start[:, feature] = np.searchsorted(column, low[:, feature], side="left")
            count[:, feature] = np.searchsorted(column, high[:, feature], side="right") - start[:, feature]
        return start, np.maximum(count, 0)


def step_range(low: Array, high: Array, steps: Array) -> tuple[Array, Array]:
    """First and last step between two limits; they cross where there is none."""
    return np.ceil(low * steps - ROUNDING), np.floor(high * steps + ROUNDING)


def scales(background: Array) -> Array:
    """(d,) mean absolute deviation of each feature from its median, 1 for constants: what counts as one step.

    It is 0 for a constant only, where the median absolute deviation is 0 for every feature with one common value.
    """
    median, total = np.array([np.nanmedian(column) for column in background.T]), np.zeros(background.shape[1])
    for part in blocks(len(background), TALL):
        total += np.nansum(np.abs(background[part] - median), axis=0)
    spread = total / np.sum(~np.isnan(background), axis=0)
    return np.where(spread > 0, spread, 1.0)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureSpace:
    """The features of a table, learnt from a reference table.

    ``rows`` are its rows as they were given, but for those of weight 0. In ``background`` each is as often as its
    weight says, so that what is learnt or drawn from there heeds the weights.
    """

    columns: tuple[Column, ...]
    rows: Array  # (k, d) as numbers; NaN where missing
    weights: Array | None  # (k,) their shares in the whole; None where none are given, or all are the same
    copied: Integers  # (N,) which of the rows each reference row is
    background: Array  # (N, d) the same as rows where there are no weights
    lower: Array  # (d,) range of new values
    upper: Array
    resolution: Array  # (d,) levels in one unit: 1 for integers and categories, 10 for one decimal; 0 where continuous
    rounding: Array  # (d,) levels in one unit to which DiCE rounds; 0 where its rule does not apply
    missing: Array  # (d,) share of missing cells
    frozen: Flags  # (d,) features that never change
    direction: Array  # (d,) 1 for features that only rise, -1 for those that only fall, else 0
    pools: Pools  # reference values that may replace others
    distinct: Pools  # and each of them once
    scales: Array  # (d,) what counts as one step; see :func:`scales`
    rank: (
        Integers  # (d,) places by the reference data's content alone, for random numbers: order and names do not matter
    )
    decode: Decode  # from a matrix to a table of the reference data's own kind
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # as they were given
    keyed: Callable[[Array], Array] | None = None  # rows as random numbers know them, where that is not as they are
    encode_groups: Callable[[Any, str], Array] | None = None  # from a table to rows of features, where there are groups

    @classmethod
    def of(
        cls,
        background: Any,
        feature_names: Sequence[str] | None = None,
        kinds: Mapping[str, Kind] | None = None,
        constraints: Constraints | None = None,
        weights: Any = None,
    ) -> FeatureSpace:
        """Learn the features from a table of any make; the names are for tables that have none."""
        table = read(background, REFERENCE, feature_names)
        if table.n_rows < 2:
            raise InvalidData("reference data need at least 2 rows, preferably a few hundred: there is 1")
        is_known = isinstance(weights, Weighted)  # from a file
        found = weights if is_known else apply_weights(weights, background, table.n_rows, len(table.names))
        table = table if len(found.kept) == table.n_rows else table.part(found.kept)
        wanted = {} if kinds is None else kinds
        constraints = Constraints() if constraints is None else constraints
        if not isinstance(wanted, Mapping):
            raise InvalidParameter(f"kinds must be a dict from names to kinds, not {kinds!r:.60}")
        if not isinstance(constraints, Constraints):
            raise InvalidParameter(f"constraints must be xcid.Constraints(...), not {constraints!r:.60}")
        columns = _detect_kinds(table, wanted)
        matrix = matrix_of(columns, table, REFERENCE)
        allowed, is_whole = constraints.allowed(columns, matrix), np.array_equal(found.copied, np.arange(len(matrix)))
        known, usable = (matrix, allowed) if is_whole else (matrix[found.copied], allowed[found.copied])
        ranges = np.array([constraints.ranges.get(column.name, (-np.inf, np.inf)) for column in columns], dtype=float)
        steps = [
            0.0 if wanted.get(name) == "continuous" and raw.dtype.kind not in "iu" else resolution(cells)
            for name, cells, raw in zip(table.names, matrix.T, table.cells, strict=True)
        ]
        pools = Pools.of(known, usable)
        return cls(
            columns=columns,
            rows=matrix,
            weights=found.shares,
            copied=found.copied,
            background=known,
            lower=np.maximum(np.nanmin(matrix, axis=0), ranges[:, 0]),
            upper=np.minimum(np.nanmax(matrix, axis=0), ranges[:, 1]),
            resolution=np.array(steps),
            rounding=_rounding(table, columns, matrix, {*wanted, *constraints.ranges, *constraints.monotone}),
            missing=np.isnan(matrix).mean(axis=0),
            frozen=np.isin(table.names, constraints.frozen),
            direction=constraints.direction(columns),
            pools=pools,
            distinct=(pools if is_whole else Pools.of(matrix, allowed)).distinct(),
            scales=scales(known),
            rank=np.argsort(np.argsort(column_keys(known), kind="stable"), kind="stable"),
            decode=maker(table, columns),
            kinds=wanted,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return tuple(column.name for column in self.columns)

    @property
    def discrete(self) -> Flags:
        """(d,) which features are made of levels: they have frequencies, no density."""
        return np.array([bool(column.levels) for column in self.columns])

    @property
    def weighting(self) -> dict[str, str]:
        """How the rows are weighted, in words, for records of settings; empty where they are not."""
        if self.weights is None:
            return {}
        equal = 1 / float(np.sum(self.weights**2))  # Kish's effective size
        return {"weights": f"of {len(self.rows):,} reference rows, worth {equal:,.1f} equal ones"}

    @property
    def steps_per_unit(self) -> Array:
        """(d,) steps of the lattice in a unit; 1 where there is no lattice."""
        return np.maximum(self.resolution, 1.0)

    @property
    def free(self) -> Integers:
        """Features that may change, in the order of their ranks."""
        order = np.argsort(self.rank)
        return order[~self.frozen[order]]

    def bounds(self, rows: Array) -> tuple[Array, Array]:
        """(n, d) lowest and highest new value of each feature of each row; nothing is allowed where they cross."""
        present = np.where(np.isnan(rows), np.where(self.direction > 0, -np.inf, np.inf), rows)
        low = np.where(self.direction > 0, np.maximum(self.lower, present), self.lower)
        high = np.where(self.direction < 0, np.minimum(self.upper, present), self.upper)
        return low, high

    def unlimited(self) -> FeatureSpace:
        """The same columns, which may take every value that the rows have."""
        everything, none = np.ones(self.rows.shape, dtype=bool), np.zeros(len(self.columns))
        return replace(
            self,
            lower=np.nanmin(self.rows, axis=0),
            upper=np.nanmax(self.rows, axis=0),
            frozen=none > 0,
            direction=none,
            pools=Pools.of(self.background, everything[self.copied]),
            distinct=Pools.of(self.rows, everything).distinct(),
        )

    def keys(self, rows: Array, seed: int, replicate: int = 0) -> Unsigned:
        """Keys of the random numbers of (n, d) rows."""
        known = rows if self.keyed is None else self.keyed(rows)
        return content_keys(known[:, np.argsort(self.rank)], seed, replicate)

    def encode(self, table: Any, what: str = "the table to explain") -> Array:
        """Turn one row or many into an (n, d) matrix; columns with names are found by name."""
        if self.encode_groups is not None:
            return self.encode_groups(table, what)
        matrix = self.values(table, what)
        unseen = np.argwhere(np.isnan(matrix) & (self.missing == 0))
        if len(unseen):
            row, column = unseen[0]
            count = f"column {self.names[column]!r} ({len(unseen)} such cells in all)"
            more = f", {count}, and the reference data have none there: fill or drop these rows"
            raise InvalidData(f"{what} has a missing value", int(row), more)
        self.check_types(matrix, what)
        return matrix

    def values(self, table: Any, what: str = "the table") -> Array:
        """Turn a table of the reference data's own kind into a matrix, whatever its values."""
        if self._is_plain(table):
            return np.array(table, order="C")
        return matrix_of(self.columns, read(table, what, self.names).in_order(self.names, what), what)

    def _is_plain(self, table: Any) -> bool:
        """Whether a table is a matrix of numbers as it is: then no cell has to be looked at by itself."""
        return (
            type(table) is np.ndarray
            and table.dtype == np.float64
            and table.ndim == 2
            and table.shape[0] > 0
            and table.shape[1] == len(self.columns)
            and not any(column.levels or column.unit for column in self.columns)
            and not np.isinf(table).any()
        )

    def check_types(self, matrix: Array, what: str) -> None:
        """Refuse values that the types of the reference data's columns cannot hold: the model would see others."""
        try:
            table = self.decode(matrix)
            if self._is_plain(table):
                return
            back = self.values(table)
        except Exception as error:
            raise InvalidData(f"{what} has values that the reference data's types cannot hold: {error}") from error
        changed = np.argwhere(~np.isclose(back, matrix, rtol=1e-6, atol=0, equal_nan=True))
        if len(changed):
            row, column = changed[0]
            become = f"cannot hold (it would become {back[row, column]:g}): convert that column there"
            more = f", column {self.names[column]!r}, which the type of the reference data {become}"
            raise InvalidData(f"{what} has {matrix[row, column]:g}", int(row), more)


def _detect_kinds(table: Table, wanted: Mapping[str, Kind]) -> tuple[Column, ...]:
    """Find out the kinds of all columns, those that the user names first of all."""
    unknown = [name for name in wanted if name not in table.names]
    if unknown:
        asked = shown_and_meant(unknown, table.names)
        raise InvalidParameter(f"kinds names {asked}, which the table does not have: it has {shown(table.names)}")
    named = zip(table.names, table.cells, table.orders, strict=True)
    with telling(InvalidData, f"{REFERENCE} cannot be read"):
        found = [detect(name, cells, order, wanted.get(name)) for name, cells, order in named]
    return tuple(replace(column, zoned=column.name in table.zoned) for column in found)


def _rounding(table: Table, columns: tuple[Column, ...], matrix: Array, settled: set[str]) -> Array:
    """Levels in one unit to which DiCE rounds floats; 0 for all other columns and for what the user has settled."""
    rounded = zip(columns, matrix.T, of_floats(table), strict=True)
    return np.array(
        [
            usual_resolution(cells) if is_float and not column.levels and column.name not in settled else 0.0
            for column, cells, is_float in rounded
        ]
    )


def digest_reference(space: FeatureSpace) -> str:
    """SHA-256 of reference data as they are understood: names, levels, weights and numbers, in whatever library."""
    found = hashlib.sha256()
    for column in space.columns:
        found.update(repr((column.name, tuple(map(str, column.levels)), column.unit)).encode(errors="surrogatepass"))
    for part in (space.rows, space.weights):
        found.update(b"-" if part is None else np.ascontiguousarray(part).tobytes())
    return found.hexdigest()
