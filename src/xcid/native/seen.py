"""What a model sees of the rows of a table: columns in its order, levels as its codes, what steps before it made."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

from xcid.records import Array, Flags, Integers, Plan

Kind: TypeAlias = tuple[str, str]
"""The package and the name of a class."""
Look: TypeAlias = Callable[[Any], Iterable[Any]]
"""What all outputs of a model of some class follow from, where that is not its attributes one by one."""


def name_of(model: Any) -> Kind:
    """The package and the name of an object's class, of which a subclass has another; nothing has to be imported."""
    return type(model).__module__.partition(".")[0], type(model).__name__


def attributes(*names: str) -> Look:
    """Look at some attributes alone: the rest says nothing of outputs."""
    return lambda part: [vars(part).get(name) for name in names]


@dataclass(frozen=True, slots=True)
class Chain:
    """Functions, one after the other."""

    functions: tuple[Callable[[Any], Any], ...]

    def __call__(self, given: Any) -> Any:
        for function in self.functions:
            given = function(given)
        return given


@dataclass(frozen=True, slots=True, eq=False)
class Columns:
    """Columns of a matrix, in an order of their own."""

    order: Integers

    def __call__(self, rows: Array) -> Array:
        return rows[:, self.order]


@dataclass(frozen=True, slots=True, eq=False)
class Tabulated:
    """Columns of a matrix in an order of their own, some of which hold codes: ``tables`` have a number for each.

    The last number of a table is that of a missing cell.
    """

    order: Integers
    tables: dict[int, Array]
    cells: Callable[[Array], Array]  # that the tables were made by

    @staticmethod
    def of(order: Integers, levels: Mapping[int, int], cells: Callable[[Array], Array]) -> Tabulated:
        """Find the numbers of all ``levels``, so many of each column, by rows that hold them one after the other."""
        rows = np.zeros((max(levels.values()) + 1, len(order)))
        for column, size in levels.items():
            rows[:, column] = np.minimum(np.arange(len(rows)), size - 1)
            rows[-1, column] = np.nan
        found = cells(rows)
        kept = {at: [*range(levels[column]), -1] for at, column in enumerate(order.tolist()) if column in levels}
        return Tabulated(order, {at: found[places, at] for at, places in kept.items()}, cells)

    def __call__(self, rows: Array) -> Array:
        cells = rows[:, self.order]
        for at, table in self.tables.items():
            codes = cells[:, at]
            cells[:, at] = table[np.where(np.isnan(codes), len(table) - 1, codes).astype(np.int64)]
        return cells


class Room(NamedTuple):
    """Room for more levels and missing cells: rows become tables in a ``new`` way, and not by the ``own`` one.

    ``levels`` has the numbers of levels by the columns of the rows.
    """

    own: Callable[[Array], Any]
    new: Callable[[Array], Any]
    levels: Mapping[int, int]

    def __call__(self, function: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """The same function of rows, where it makes tables of them with this room."""
        if isinstance(function, Chain):
            return Chain(tuple(self(one) for one in function.functions))
        if isinstance(function, Tabulated):
            return Tabulated.of(function.order, self.levels, self(function.cells))
        return self.new if function is self.own else function


class SeenPlan(NamedTuple):
    """A plan as a model sees it: (s, m) what samples take from elsewhere, and whether they do."""

    new: Array
    taken: Flags


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """How (n, d) rows come before a model of m columns, each of which is made of one column of the rows.

    Attributes
    ----------
    source : (m,)
        The column of the rows that each of the model's is made of.
    table : callable
        From rows to the table that the model is given.
    cells : callable
        From rows to the (n, m) numbers that it computes with.
    levels : mapping from columns of the rows to numbers of levels
        Those that hold codes, where all others come before the model as they are.
    """

    source: Integers
    table: Callable[[Array], Any]
    cells: Callable[[Array], Array]
    levels: Mapping[int, int] = field(default_factory=dict)

    def with_room(self, room: Room) -> Seen:
        """The same for rows of more levels."""
        return Seen(self.source, room(self.table), room(self.cells), room.levels if self.levels else {})

    def by(self, numbers: Callable[[Any], Array]) -> Seen:
        """The same table, of whose levels other numbers are made."""
        cells = Chain((self.table, numbers))
        return replace(self, cells=Tabulated.of(self.source, self.levels, cells) if self.levels else cells)

    def after(self, transform: Callable[[Any], Any], columns: Integers) -> Seen:
        """What a step makes of it, whose outputs are each made of one of the ``columns``."""
        table = Chain((self.table, transform))
        return Seen(self.source[columns], table, Chain((table, as_numbers)))

    def then(self, change: Callable[[Array], Array], columns: Integers) -> Seen:
        """Numbers that are made of these, each of one of the ``columns``."""
        return Seen(self.source[columns], self.table, Chain((self.cells, change)))

    def part(self, plan: Plan) -> SeenPlan:
        """A plan of the rows' columns, seen in this way."""
        return SeenPlan(self.counted(plan.new), plan.taken[:, self.owners(plan.features)])

    def counted(self, rows: Array) -> Array:
        """(n, m) the numbers that the model computes with; an error where they are not as many as expected."""
        found = self.cells(rows)
        if found.shape[1] != len(self.source):
            raise ValueError(f"the model sees {found.shape[1]} columns, where {len(self.source)} were expected")
        return found

    def owners(self, features: Sequence[Sequence[int]]) -> Integers:
        """(m,) the feature that each of the model's columns is made of, by the columns of the features."""
        owner = np.empty(sum(map(len, features)), dtype=np.int64)
        for feature, columns in enumerate(features):
            owner[list(columns)] = feature
        return owner[self.source]


def as_numbers(table: Any) -> Array:
    """A table of numbers as a matrix; sparse ones are filled in."""
    cells: Array = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
    return cells


def as_codes(categories: Sequence[Sequence[Any] | None], table: Any) -> Array:
    """The same for a data frame with columns of categories: positions among those that the model knows, in turn.

    Where these are None, the column's own count.
    """
    if not hasattr(table, "dtypes"):
        return as_numbers(table)
    known, columns = iter(categories), []
    for name in table.columns:
        column = table[name]
        if hasattr(column, "cat"):
            names = next(known)
            codes = (column if names is None else column.cat.set_categories(names)).cat.codes
            columns.append(np.where(codes < 0, np.nan, codes))
        else:
            columns.append(np.asarray(column, dtype=np.float64))
    return np.column_stack(columns)


MARK = "by_cell"
Function = TypeVar("Function", bound=Callable[..., Any])


def columns_of(step: Any) -> Integers | None:
    """The input column of each output column of a fitted step; None for a step that is not known."""
    package, name = name_of(step)
    find = STEPS.get(name) if package == "sklearn" and not {"transform"} & vars(step).keys() else None
    return None if find is None else find(step)


def by_cell(function: Function) -> Function:
    """Mark a function of tables that takes cells one by one: a model behind it can be read from inside."""
    vars(function)[MARK] = function
    return function


def _same(step: Any) -> Integers:
    return np.arange(step.n_features_in_)


def _function(step: Any) -> Integers | None:
    """No function at all, or one that takes cells one by one."""
    function = step.func
    is_plain = isinstance(function, np.ufunc) and function.nin == 1
    is_marked = getattr(function, MARK, None) is function  # and not what wraps one that is
    return _same(step) if function is None or ((is_plain or is_marked) and not step.kw_args) else None


def _imputed(step: Any) -> Integers:
    """Columns that were all missing are dropped, flags of missing cells come after the others."""
    kept = np.flatnonzero(step.keep_empty_features | ~_missing(step.statistics_))
    return kept if step.indicator_ is None else np.concatenate([kept, step.indicator_.features_])


def _missing(values: Any) -> Any:
    return np.array([one is None or one != one for one in values.tolist()])


def _one_hot(step: Any) -> Integers:
    return np.repeat(np.arange(step.n_features_in_), step._n_features_outs)  # noqa: SLF001


def _bins(step: Any) -> Integers:
    return _same(step) if step.encode == "ordinal" else np.repeat(np.arange(step.n_features_in_), step.n_bins_)


def _targets(step: Any) -> Integers:
    return np.repeat(np.arange(step.n_features_in_), len(step.encodings_) // step.n_features_in_)


def _splines(step: Any) -> Integers:
    return np.repeat(np.arange(step.n_features_in_), step.n_features_out_ // step.n_features_in_)


def _selected(step: Any) -> Integers:
    return np.flatnonzero(step.get_support())


def _flagged(step: Any) -> Integers:
    return np.asarray(step.features_)


def _one_after_the_other(step: Any) -> Integers | None:
    columns: Integers | None = None
    for _, part in step.steps:
        if part is None or part == "passthrough":
            continue
        found = columns_of(part)
        if found is None:
            return None
        columns = found if columns is None else columns[found]
    return _same(step) if columns is None else columns


def _side_by_side(step: Any) -> Integers | None:
    found = list[Integers]()
    for name, part, _ in step.transformers_:
        own = np.asarray(step._transformer_to_input_indices[name], dtype=np.int64)  # noqa: SLF001
        if len(own) == 0 or (isinstance(part, str) and part == "drop"):
            continue
        columns = np.arange(len(own)) if isinstance(part, str) else columns_of(part)
        if columns is None:
            return None
        found.append(own[columns])
    return np.concatenate(found)


STEPS: dict[str, Callable[[Any], Integers | None]] = {
    **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), _same),
    **dict.fromkeys(("PowerTransformer", "QuantileTransformer", "Binarizer", "OrdinalEncoder"), _same),
    "FunctionTransformer": _function,
    "SimpleImputer": _imputed,
    "MissingIndicator": _flagged,
    "OneHotEncoder": _one_hot,
    "TargetEncoder": _targets,
    "KBinsDiscretizer": _bins,
    "SplineTransformer": _splines,
    **dict.fromkeys(("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "RFE"), _selected),
    "Pipeline": _one_after_the_other,
    "ColumnTransformer": _side_by_side,
}
