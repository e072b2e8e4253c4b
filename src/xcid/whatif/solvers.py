"""What searches the models that are read from inside: trees and what is made of them, and sums of single features."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol

import numpy as np

from xcid.native.library import whole
from xcid.native.models import Alone, Linear, Link
from xcid.native.nearest import MOST_CONDITIONS, Limits, Nodes, Problem, Solved
from xcid.native.trees import Trees
from xcid.outcomes import Question, Within
from xcid.records import Array, Integers
from xcid.whatif.additive import cheapest_sum
from xcid.whatif.cells import Cells, Divided, divide
from xcid.whatif.conditions import Conditions, conditions
from xcid.whatif.evaluator import Evaluator
from xcid.whatif.options import (
    MOST_LINEAR,
    MOST_VALUES,
    Options,
    View,
    is_line,
    plausible_values,
    spread_values,
)

WORK_OF_PART = 5e4  # of the search of a sum, in leaves that are looked at


class Task(NamedTuple):
    """A search for a row: what every change costs besides, the best that is known, and whether sums must have room."""

    row: int
    price: float
    incumbent: float
    is_strict: bool


class Solver(Protocol):
    """A model whose conditions can be searched."""

    def rows(self, some: slice) -> None:
        """Prepare the costs of some rows."""

    def conditions(self, row: int) -> list[Conditions] | None:
        """Ways to reach the goal, each of which is enough; None where they are not known."""

    def solve(self, task: Task, asked: Conditions, limits: Limits) -> tuple[Solved, Array | None]:
        """The cheapest changed row with which all sums are as asked; None where nothing is cheaper."""


def solver_of(evaluator: Evaluator) -> Solver | None:
    """What searches a model that was read from inside; None where nothing can be proved."""
    subject = evaluator.search_space.subject
    native, rules, library = subject.predict.native, subject.rules, whole()
    if not isinstance(native, Alone) or rules.cost is not None or rules.derived:
        return None
    view, core = View.of(evaluator, native), native.core
    if isinstance(core, Linear) and len(core.start) == 1 and not _has_two_ends(evaluator.goal.question):
        return Sums.of(view, core)
    if library is None:
        return None
    found = _of_trees(view, core) if isinstance(core, Trees) else _of_sums(view, core)
    return None if found is None else Branches(view, library, found)


def _has_two_ends(question: Question) -> bool:
    return isinstance(question, Within) and bool(np.isfinite([question.low, question.high]).all())


class Tree(NamedTuple):
    """Leaves that add (k, nodes) values to k sums from a start, and what the model makes of these; (n, k) own sums."""

    divided: Divided
    value: Array
    start: Array
    sums: Array
    link: Link
    is_single: bool


def _of_trees(view: View, trees: Trees) -> Tree | None:
    divided, ensemble, walk = divide(view, trees), trees.ensemble, trees.walk
    if divided is None:
        return None
    is_leaf, value = divided.nodes.feature < 0, np.zeros((len(ensemble.base), len(walk.feature)))
    tree = np.repeat(np.arange(len(walk.roots)), np.diff(np.append(walk.roots, len(walk.feature))))
    for column in range(walk.value.shape[1]):
        value[(walk.slot[tree] + column)[is_leaf], np.flatnonzero(is_leaf)] = walk.value[is_leaf, column]
    sums = walk.sums(trees.compared(view.own), ensemble)
    return Tree(divided, value, ensemble.base, sums, ensemble.link, ensemble.sums is np.float32)


def _of_sums(view: View, linear: Linear) -> Tree | None:
    """Sums of several classes: each feature is a tree whose leaves are its values."""
    cells, nodes, values = list[Cells](), list[Nodes](), list[Array]()
    for at in np.unique(view.owner).tolist():
        found = plausible_values(view.evaluator.search_space, at, MOST_VALUES)
        if found is None:
            return None
        options = view.options(at, found)
        weights, own = linear.weights[options.columns], view.evaluator.own[:, at]
        keys = [
            np.column_stack([np.isnan(part), np.nan_to_num(part), seen @ weights])
            for part, seen in ((options.values, options.cells), (own, view.own[:, options.columns]))
        ]
        known, place = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
        place, n = place.ravel() + 1, len(options.values)
        codes = np.arange(len(known), dtype=np.float64)[:, None]
        tree = _balanced(len(cells), len(known), sum(len(part.feature) for part in nodes))
        value = np.zeros((linear.weights.shape[1], len(tree.feature)))
        value[:, tree.feature < 0] = known[tree.cut[tree.feature < 0] - 1, 2:].T
        cells.append(Cells(options, len(known) + 1, False, place[:n], place[n:], codes))
        nodes.append(tree)
        values.append(value)
    whole_tree = Nodes(*(np.concatenate(part) for part in zip(*nodes, strict=True)))
    divided = Divided(tuple(cells), whole_tree, np.zeros((len(view.own), len(whole_tree.feature)), dtype=bool))
    sums = view.own @ linear.weights + linear.start
    return Tree(divided, np.concatenate(values, axis=1), linear.start, sums, linear.link, is_single=False)


def _balanced(feature: int, n_cells: int, start: int) -> Nodes:
    """A tree of one feature whose leaves are its cells; the ``cut`` of a leaf is its cell."""
    at = np.arange(2 * n_cells - 1)
    is_leaf = at >= n_cells - 1
    deepest = at >= 2 ** int(np.log2(max(1, len(at)))) - 1
    cut = np.zeros(len(at), dtype=np.int64)
    order = np.concatenate([at[is_leaf & deepest], at[is_leaf & ~deepest]])
    cut[order] = np.arange(1, n_cells + 1)
    last = cut.copy()
    for node in range(n_cells - 2, -1, -1):
        last[node], cut[node] = last[2 * node + 2], last[2 * node + 1]
    left, right = np.where(is_leaf, 0, 2 * at + 1) + start, np.where(is_leaf, 0, 2 * at + 2) + start
    mask = np.zeros(len(at), dtype=np.uint64)
    return Nodes(np.where(is_leaf, -1, feature), left, right, cut, mask, np.array([start]))


@dataclass(slots=True, eq=False)
class Branches:
    """Trees, searched by ``nearest.c``."""

    view: View
    library: Any
    tree: Tree
    problems: dict[bytes, Problem] = field(default_factory=dict)
    costs: list[Array] = field(default_factory=list)  # of the options and of the cells of each feature
    of_cells: list[Array] = field(default_factory=list)
    first: int = 0  # row of the costs

    def rows(self, some: slice) -> None:
        """Prepare the costs of some rows."""
        cells, self.first = self.tree.divided.cells, some.start
        self.costs = [self.view.costs(one.options, some) for one in cells]
        self.of_cells = [one.costs(cost, some) for one, cost in zip(cells, self.costs, strict=True)]

    def conditions(self, row: int) -> list[Conditions] | None:
        """Ways to reach the goal."""
        tree = self.tree
        ends = _ends(tree)
        found = conditions(self.view.evaluator.goal, tree.link, tree.sums[row], ends, tree.is_single)
        return None if found is None or any(len(one.need) > MOST_CONDITIONS for one in found) else found

    def solve(self, task: Task, asked: Conditions, limits: Limits) -> tuple[Solved, Array | None]:
        """The cheapest changed row with which all sums are as asked."""
        divided, line = self.tree.divided, task.row - self.first
        key = asked.weights.tobytes()
        if key not in self.problems:
            is_set = np.array([one.is_set for one in divided.cells], dtype=bool)
            self.problems[key] = Problem.of(divided.nodes, asked.weights @ self.tree.value, is_set, divided.start)
        own = np.array([one.own[task.row] for one in divided.cells], dtype=np.int64)
        cost = np.concatenate([np.zeros(0), *(part[line] for part in self.of_cells)]) + task.price
        cost[divided.start[:-1] + own] = 0.0
        need = asked.needed(task.is_strict) - asked.weights @ self.tree.start
        solved = self.problems[key].solve(
            self.library, own, divided.own_left[task.row], cost, need, task.incumbent, limits
        )
        return solved, None if solved.cells is None else self._changed(task.row, solved.cells)

    def _changed(self, row: int, cells: Integers) -> Array:
        """The row with the cheapest options of its new cells."""
        made = self.view.evaluator.own[row].copy()
        for one, cost, cell in zip(self.tree.divided.cells, self.costs, cells.tolist(), strict=True):
            if cell != one.own[row]:
                there = np.where(one.cell == cell, cost[row - self.first], np.inf)
                made[one.options.at] = one.options.values[there.argmin()]
        return made


def _ends(tree: Tree) -> tuple[Array, Array]:
    """The least and the largest (k,) sums that leaves make."""
    roots = tree.divided.nodes.root
    if not len(roots):
        return tree.start, tree.start
    low, high = (part.reduceat(tree.value, roots, axis=1).sum(axis=1) for part in (np.minimum, np.maximum))
    return tree.start + low, tree.start + high


@dataclass(slots=True, eq=False)
class Sums:
    """A sum of functions of single features."""

    view: View
    linear: Linear
    options: list[Options]
    is_thinned: bool  # where numbers have too many values for each to be an option
    costs: list[Array] = field(default_factory=list)
    first: int = 0  # row of the costs

    @staticmethod
    def of(view: View, linear: Linear) -> Sums | None:
        """List the options of all features; None where one has too many, and what they add is no line."""
        options, is_thinned = list[Options](), False
        for at in np.unique(view.owner).tolist():
            values = plausible_values(view.evaluator.search_space, at, MOST_LINEAR)
            if values is None:
                is_thinned = True
                thinned = view.options(at, spread_values(view.evaluator.search_space, at, MOST_VALUES))
                if not is_line(thinned):
                    return None
                options.append(thinned)
            elif len(values):
                options.append(view.options(at, values))
        return Sums(view, linear, options, is_thinned)

    def rows(self, some: slice) -> None:
        """Prepare the costs of some rows."""
        self.first = some.start
        self.costs = [self.view.costs(one, some) for one in self.options]

    def conditions(self, row: int) -> list[Conditions] | None:
        """Ways to reach the goal."""
        gains, start = self._gains(row, 1.0), self._sum(row)
        low = start + sum(part.min(initial=0.0) for part in gains)
        high = start + sum(part.max(initial=0.0) for part in gains)
        found = conditions(self.view.evaluator.goal, self.linear.link, start, (low, high), is_single=False)
        return None if found is None or any(len(one.need) > 1 for one in found) else found

    def _sum(self, row: int) -> Array:
        found: Array = self.view.own[row] @ self.linear.weights + self.linear.start
        return found

    def _gains(self, row: int, sign: float) -> list[Array]:
        weights, own = self.linear.weights[:, 0], self.view.own[row]
        return [sign * ((one.cells - own[one.columns]) @ weights[one.columns]) for one in self.options]

    def solve(self, task: Task, asked: Conditions, limits: Limits) -> tuple[Solved, Array | None]:
        """The cheapest changed row with which the sum is as asked."""
        sign, made = float(asked.weights[0, 0]), self.view.evaluator.own[task.row].copy()
        costs = [part[task.row - self.first] + task.price for part in self.costs]
        need = float(asked.needed(task.is_strict)[0] - sign * self._sum(task.row)[0])
        most = int(limits.work / WORK_OF_PART)
        found = cheapest_sum(costs, self._gains(task.row, sign), need, task.incumbent, most)
        lower = found.relaxed if self.is_thinned else found.lower
        solved = Solved(found.status, found.cost, lower, found.options, 0.0)
        if found.options is None:
            return solved, None
        for one, place in zip(self.options, found.options.tolist(), strict=True):
            if place >= 0:
                made[one.at] = one.values[place]
        return solved, made
