"""Rules of the world: relations between columns, transitions, steps, costs and derived columns, bound to a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from typing import Any, TypeAlias

import numpy as np

from xcid._check import as_float, describe_error, meant, shown
from xcid._formulas import COMPARED, Formula, formula
from xcid._kernels.arrays import same
from xcid.errors import InvalidParameter
from xcid.records import Array, Flags
from xcid.table.columns import Column, to_times
from xcid.table.makers import cells_maker

Rule: TypeAlias = str | Callable[["RowView"], Any]
"""A function of rows, or the same in words: "months_employed <= 12 * (age - 16)"."""


class RowView:
    """Rows of a table by their columns, ``row.age`` or ``row["age"]``: an array each, or a cell of a single row.

    ``read`` are the positions of the columns that were asked for.
    """

    def __init__(self, columns: Sequence[Column], matrix: Array) -> None:
        self._at = {column.name: at for at, column in enumerate(columns)}
        self.columns, self._matrix = columns, matrix
        self.read: set[int] = set()

    def __getitem__(self, name: str) -> Any:
        if name not in self._at:
            known = list(self._at)
            raise InvalidParameter(f"there is no column {name!r}{meant(name, known)}: the table has {shown(known)}")
        at = self._at[name]
        self.read.add(at)
        column, codes = self.columns[at], self._matrix[..., at]
        if column.unit:
            return to_times(codes, column.unit)
        cells = cells_maker(column)(np.atleast_1d(codes))
        return cells if codes.ndim else cells[0]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return self[name]


@dataclass(frozen=True, slots=True)
class Rules:
    """What a changed row must be like, beside the limits of its columns one by one.

    ``relations`` and ``derived`` have the name of each rule and its function; ``transitions`` says for a column which
    (L, L) changes from level to level are allowed; ``steps`` (d,) are 0 where there is none.
    """

    columns: tuple[Column, ...]
    steps: Array
    ranged: Flags  # (d,) columns whose range the user has given
    relations: tuple[tuple[str, Callable[[RowView], Any]], ...] = ()
    derived: tuple[tuple[int, Callable[[RowView], Any]], ...] = ()
    transitions: Mapping[int, Flags] = field(default_factory=dict)
    weights: Mapping[str, float] = field(default_factory=dict)  # of the features in a distance, where they are not 1
    cost: Callable[[RowView, RowView], Any] | None = None

    @staticmethod
    def of(constraints: Any, columns: tuple[Column, ...]) -> Rules:
        """Bind the rules of constraints whose names are known to be there."""
        names = [column.name for column in columns]
        steps = [_step(column, constraints.steps[column.name]) if column.name in constraints.steps else 0.0
                 for column in columns]  # fmt: skip
        costs = constraints.costs
        return Rules(
            columns=columns,
            relations=tuple((_name(rule, at), relation_of(rule)) for at, rule in enumerate(constraints.relations)),
            derived=tuple((names.index(name), function_of(rule)) for name, rule in constraints.derived.items()),
            transitions={
                names.index(name): _moves(columns[names.index(name)], wanted)
                for name, wanted in constraints.transitions.items()
            },
            steps=np.array(steps),
            weights={} if callable(costs) else {name: _cost(name, cost) for name, cost in costs.items()},
            cost=costs if callable(costs) else None,
            ranged=np.isin(names, list(constraints.ranges)),
        )

    @property
    def is_derived(self) -> Flags:
        """(d,) columns that follow from others."""
        flags = np.zeros(len(self.columns), dtype=bool)
        flags[[at for at, _ in self.derived]] = True
        return flags

    def completed(self, rows: Array, own: Array) -> Array:
        """Compute the derived columns of (N, d) rows anew where they became something else than those of (N, d) own.

        A cell of a row that the function does not give exactly stays as it is as long as nothing moves it.
        """
        if not self.derived or not len(rows):
            return rows
        made, started = rows.copy(), own.copy()
        for at, function in self.derived:
            column, what = self.columns[at], f"derived[{self.columns[at].name!r}]"
            before, after = (
                column.encode(np.asarray(_answers(function, RowView(self.columns, part), part, what)), what)
                for part in (started, made)
            )
            made[:, at] = np.where(same(before, after), own[:, at], after)
            started[:, at] = before
        return made

    def broken(self, rows: Array) -> list[tuple[str, Flags]]:
        """For each relation its name and which (N,) of the rows break it; missing cells break none."""
        return [(name, ~self.holds(function, rows, f"the relation {name}")) for name, function in self.relations]

    def holds(self, function: Callable[[RowView], Any], rows: Array, what: str) -> Flags:
        """(N,) whether rows obey a relation; so do rows that miss a cell of it."""
        if not len(rows):
            return np.ones(0, dtype=bool)
        view = RowView(self.columns, rows)
        found = _answers(function, view, rows, what)
        if found.dtype.kind not in "bfiu":
            raise InvalidParameter(f"{what} gave {found.dtype} cells: it must give True or False for each row")
        return found.astype(bool) | np.isnan(rows[:, sorted(view.read)]).any(axis=1)

    def allows(self, rows: Array, own: Array, lower: Array, upper: Array, direction: Array) -> Flags:
        """(N,) which completed rows obey every relation, and the limits of columns that are derived."""
        allowed = np.ones(len(rows), dtype=bool)
        for _, is_broken in self.broken(rows) if self.relations else []:
            allowed &= ~is_broken
        for at, _ in self.derived:
            cells, kept = rows[:, at], same(rows[:, at], own[:, at])
            fits = np.isfinite(cells) & (cells >= lower[at]) & (cells <= upper[at])
            fits &= (direction[at] == 0) | (direction[at] * (cells - own[:, at]) >= 0)
            if self.steps[at]:
                fits &= on_steps(cells, self.steps[at])
            if at in self.transitions:
                levels = np.nan_to_num(np.stack([own[:, at], cells])).astype(np.int64)
                fits &= np.isnan(own[:, at]) | self.transitions[at][levels[0], levels[1]]
            allowed &= kept | fits
        return allowed


def on_steps(values: Array, step: float) -> Flags:
    """Whether values are whole multiples of a step."""
    return np.abs(values / step - np.rint(values / step)) < 1e-6


def _answers(function: Callable[[RowView], Any], view: RowView, rows: Array, what: str) -> np.ndarray[Any, Any]:
    """Call a rule on all rows at once, or row by row where it does not take arrays."""
    try:
        found = np.asarray(function(view))
        if found.shape == () and not view.read:
            found = np.repeat(found, len(rows))
        if found.shape == (len(rows),):
            return found
    except Exception:  # "and", "if", min() and the like want a single row
        pass
    try:
        return np.array([function(RowView(view.columns, row)) for row in rows])
    except Exception as error:
        if isinstance(error, InvalidParameter):
            raise
        raise InvalidParameter(f"{what} cannot be computed: {describe_error(error)}") from error


def function_of(rule: Rule) -> Callable[[RowView], Any]:
    """The function that a rule is, or that its words stand for.

    Examples
    --------
    >>> rule = function_of("`months employed` <= 12 * (age - 16) and job in ['a', 'b']")
    >>> rule({"months employed": np.array([24, 24]), "age": np.array([20, 17]), "job": np.array(["a", "b"])}).tolist()
    [True, False]
    """
    if not isinstance(rule, str):
        return rule
    return _Worded(_read(rule))


@dataclass(frozen=True, slots=True)
class _Worded:
    """A rule in words as a function of rows, which can be pickled."""

    formula: Formula

    def __call__(self, rows: RowView) -> Any:
        return self.formula.value(rows.__getitem__, _compare)


def relation_of(rule: Rule) -> Callable[[RowView], Any]:
    """The same for a rule that holds or not."""
    if isinstance(rule, str) and not _read(rule).is_condition:
        raise InvalidParameter(f"the rule {rule!r:.80} is never true or false: compare, such as age > 3")
    return function_of(rule)


def _read(rule: str) -> Formula:
    try:
        return formula(rule)
    except InvalidParameter as error:
        raise InvalidParameter(f"the rule {error}") from error


def _compare(sign: str, left: Any, right: Any) -> Any:
    """Compare cells with cells, a number, a text, which may be a date, or a list."""
    left, right = _fitting(left, right), _fitting(right, left)
    if right is False and any(isinstance(cell, str) for cell in np.ravel(left)):
        raise InvalidParameter("a column of text is neither true nor false: compare it, such as job == 'nurse'")
    if sign in COMPARED:
        return COMPARED[sign](left, right)
    found = reduce(np.logical_or, [left == level for level in right])
    return found if sign == "in" else np.logical_not(found)


def _fitting(side: Any, other: Any) -> Any:
    """Text beside dates as a date."""
    if np.asarray(other).dtype.kind != "M" or not isinstance(side, str | list):
        return side
    try:
        return np.array(side, dtype="datetime64[us]")
    except ValueError as error:
        raise InvalidParameter(f"{side!r:.80} is no date: write it as 2023-06-01") from error


def _name(rule: Rule, at: int) -> str:
    if isinstance(rule, str):
        return repr(rule)
    name = getattr(rule, "__name__", type(rule).__name__)
    return f"relations[{at}]" if name == "<lambda>" else f"relations[{at}] ({name})"


def _step(column: Column, step: Any) -> float:
    if column.levels:
        raise InvalidParameter(
            f"steps[{column.name!r}] = {step!r}, but {column.name!r} is made of levels: drop the step"
        )
    if not 0 < as_float(step, f"steps[{column.name!r}]") < np.inf:
        raise InvalidParameter(f"steps[{column.name!r}] must be a number above 0, not {step!r}")
    return float(step)


def _cost(name: str, cost: Any) -> float:
    if not 0 < as_float(cost, f"costs[{name!r}]") < np.inf:
        raise InvalidParameter(
            f"costs[{name!r}] must be a finite number above 0, not {cost!r}: freeze what cannot change"
        )
    return float(cost)


def _moves(column: Column, wanted: Any) -> Flags:
    """(L, L) which levels may become which: forward in a list, or as a dict says; all others are free."""
    levels, what = list(column.levels), f"transitions[{column.name!r}]"
    if not levels:
        raise InvalidParameter(f"{what}: {column.name!r} is a number: use monotone or ranges")
    if isinstance(wanted, Mapping):
        allowed = {start: list(ends) for start, ends in wanted.items()}
    elif isinstance(wanted, Sequence) and not isinstance(wanted, str):
        allowed = {start: list(wanted[at + 1 :]) for at, start in enumerate(wanted)}
    else:
        raise InvalidParameter(f"{what} must be a list of levels in order, or a dict from a level to levels")
    named = dict.fromkeys([*allowed, *(end for ends in allowed.values() for end in ends)])
    unknown = [level for level in named if level not in levels]
    if unknown:
        raise InvalidParameter(f"{what} names the levels {unknown}: {column.name!r} has {levels}")
    moves = np.ones((len(levels), len(levels)), dtype=bool)
    for start, ends in allowed.items():
        moves[levels.index(start)] = np.isin(np.arange(len(levels)), [levels.index(end) for end in ends])
    return moves
