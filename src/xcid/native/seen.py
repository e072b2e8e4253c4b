"""What a model sees of the rows of a table: columns in its order, levels as its codes, what steps before it made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from xcid.records import Array, Flags, Integers, Plan


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


class Part(NamedTuple):
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
    """

    source: Integers
    table: Callable[[Array], Any]
    cells: Callable[[Array], Array]

    def by(self, numbers: Callable[[Any], Array]) -> Seen:
        """The same table, of which other numbers are made."""
        return replace(self, cells=Chain((self.table, numbers)))

    def after(self, transform: Callable[[Any], Any], columns: Integers) -> Seen:
        """What a step makes of it, whose outputs are each made of one of the ``columns``."""
        table = Chain((self.table, transform))
        return Seen(self.source[columns], table, Chain((table, as_numbers)))

    def then(self, change: Callable[[Array], Array], columns: Integers) -> Seen:
        """Numbers that are made of these, each of one of the ``columns``."""
        return Seen(self.source[columns], self.table, Chain((self.cells, change)))

    def part(self, plan: Plan) -> Part:
        """A plan of the rows' columns, seen in this way."""
        owner = np.empty(plan.values.shape[1], dtype=np.int64)
        for feature, columns in enumerate(plan.features):
            owner[list(columns)] = feature
        new = self.cells(plan.new)
        if new.shape[1] != len(self.source):
            raise ValueError(f"the model sees {new.shape[1]} columns, where {len(self.source)} were expected")
        return Part(new, plan.taken[:, owner[self.source]])


def as_numbers(table: Any) -> Array:
    """A table of numbers as a matrix; sparse ones are filled in."""
    cells: Array = np.asarray(table.toarray() if hasattr(table, "toarray") else table, dtype=np.float64)
    return cells


def as_codes(categories: Sequence[Sequence[Any]], table: Any) -> Array:
    """The same for a data frame with columns of categories: positions among those that the model knows, in turn."""
    if not hasattr(table, "dtypes"):
        return as_numbers(table)
    known, columns = iter(categories), []
    for name in table.columns:
        column = table[name]
        if hasattr(column, "cat"):
            codes = column.cat.set_categories(next(known)).cat.codes
            columns.append(np.where(codes < 0, np.nan, codes))
        else:
            columns.append(np.asarray(column, dtype=np.float64))
    return np.column_stack(columns)
