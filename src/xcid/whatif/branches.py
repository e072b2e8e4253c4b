"""Trees, and sums of several classes as trees of single features: searched by branch and bound in ``nearest.c``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from xcid.native.library import whole
from xcid.native.models import Alone, Linear, Link
from xcid.native.nearest import MOST_CONDITIONS, Limits, Nodes, Problem, Solved
from xcid.native.trees import Trees
from xcid.records import Array, Integers
from xcid.whatif.cells import Divided, FeatureCells, divide
from xcid.whatif.evaluator import Goal
from xcid.whatif.problem import MOST_VALUES, Conditions, View, find_conditions, list_values

if TYPE_CHECKING:
    from xcid.whatif.proof import RowTask


class Member(NamedTuple):
    """What a model makes of its sums, which are some of those of all."""

    link: Link
    is_single: bool
    first: int
    last: int


class LeafSums(NamedTuple):
    """Leaves that add (k, nodes) values to k sums from a start, and what models make of these; (n, k) own sums."""

    divided: Divided
    value: Array
    start: Array
    sums: Array
    members: tuple[Member, ...]  # one for a model by itself


def _read_trees(view: View, trees: Trees) -> LeafSums | None:
    divided, ensemble, walk = divide(view, trees), trees.ensemble, trees.walk
    if divided is None:
        return None
    is_leaf, value = divided.nodes.feature < 0, np.zeros((len(ensemble.base), len(walk.feature)))
    tree = np.repeat(np.arange(len(walk.roots)), np.diff(np.append(walk.roots, len(walk.feature))))
    for column in range(walk.value.shape[1]):
        value[(walk.slot[tree] + column)[is_leaf], np.flatnonzero(is_leaf)] = walk.value[is_leaf, column]
    sums = walk.sums(trees.compared(view.own), ensemble)
    return LeafSums(divided, value, ensemble.base, sums, list_members(view.native))


def _read_sums(view: View, linear: Linear) -> LeafSums | None:
    """Sums of several classes: each feature is a tree whose leaves are its values."""
    cells, nodes, values = list[FeatureCells](), list[Nodes](), list[Array]()
    for at in np.unique(view.owner).tolist():
        found = list_values(view.evaluator.search_space, at, MOST_VALUES)
        if found is None:
            return None
        options = view.make_options(at, found)
        weights, own = linear.weights[options.columns], view.evaluator.own[:, at]
        keys = [
            np.column_stack([np.isnan(part), np.nan_to_num(part), seen @ weights])
            for part, seen in ((options.values, options.cells), (own, view.own[:, options.columns]))
        ]
        known, place = np.unique(np.concatenate(keys), axis=0, return_inverse=True)
        place, n = place.ravel() + 1, len(options.values)
        codes = np.arange(len(known), dtype=np.float64)[:, None]
        tree = _balance_tree(len(cells), len(known), sum(len(part.feature) for part in nodes))
        value = np.zeros((linear.weights.shape[1], len(tree.feature)))
        value[:, tree.feature < 0] = known[tree.cut[tree.feature < 0] - 1, 2:].T
        cells.append(FeatureCells(options, len(known) + 1, False, place[:n], place[n:], codes))
        nodes.append(tree)
        values.append(value)
    whole_tree = Nodes(*(np.concatenate(part) for part in zip(*nodes, strict=True)))
    divided = Divided(tuple(cells), whole_tree, np.zeros((len(view.own), len(whole_tree.feature)), dtype=bool))
    sums = view.own @ linear.weights + linear.start
    return LeafSums(divided, np.concatenate(values, axis=1), linear.start, sums, list_members(view.native))


def _balance_tree(feature: int, n_cells: int, start: int) -> Nodes:
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
    tree: LeafSums
    problems: dict[bytes, Problem] = field(default_factory=dict)
    costs: list[Array] = field(default_factory=list)  # of the options and of the cells of each feature
    of_cells: list[Array] = field(default_factory=list)
    first: int = 0  # row of the costs

    @staticmethod
    def of(view: View, core: Trees | Linear) -> Branches | None:
        """Read a model as trees; None where that cannot be done, or there is no library to search them."""
        library = whole()
        tree = (
            None if library is None else _read_trees(view, core) if isinstance(core, Trees) else _read_sums(view, core)
        )
        return None if tree is None else Branches(view, library, tree)

    def prepare(self, some: slice) -> None:
        """Prepare the costs of some rows."""
        cells, self.first = self.tree.divided.cells, some.start
        self.costs = [self.view.costs(one.options, some) for one in cells]
        self.of_cells = [one.costs(cost, some) for one, cost in zip(cells, self.costs, strict=True)]

    def find_conditions(self, row: int) -> list[Conditions] | None:
        """Ways to reach the goal, with all models."""
        tree, goal = self.tree, self.view.evaluator.goal
        found = find_joint_conditions(goal, tree.members, tree.sums[row], _find_ends(tree))
        return None if found is None or any(len(one.need) > MOST_CONDITIONS for one in found) else found

    def solve(self, task: RowTask, asked: Conditions, limits: Limits) -> tuple[Solved, Array | None]:
        """The cheapest changed row with which all sums are as asked."""
        divided, line = self.tree.divided, task.row - self.first
        key = asked.weights.tobytes()
        if key not in self.problems:
            is_set = np.array([one.is_set for one in divided.cells], dtype=bool)
            self.problems[key] = Problem.of(divided.nodes, asked.weights @ self.tree.value, is_set, divided.start)
        own = np.array([one.own[task.row] for one in divided.cells], dtype=np.int64)
        cost = np.concatenate([np.zeros(0), *(part[line] for part in self.of_cells)]) + task.price
        cost[divided.start[:-1] + own] = 0.0
        need = asked.find_needs(task.is_strict) - asked.weights @ self.tree.start
        solved = self.problems[key].solve(
            self.library, own, divided.own_left[task.row], cost, need, task.incumbent, limits
        )
        return solved, None if solved.cells is None else self._change_row(task.row, solved.cells)

    def _change_row(self, row: int, cells: Integers) -> Array:
        """The row with the cheapest options of its new cells."""
        made = self.view.evaluator.own[row].copy()
        for one, cost, cell in zip(self.tree.divided.cells, self.costs, cells.tolist(), strict=True):
            if cell != one.own[row]:
                there = np.where(one.cell == cell, cost[row - self.first], np.inf)
                made[one.options.at] = one.options.values[there.argmin()]
        return made


def _find_ends(tree: LeafSums) -> tuple[Array, Array]:
    """The least and the largest (k,) sums that leaves make."""
    roots = tree.divided.nodes.root
    if not len(roots):
        return tree.start, tree.start
    low, high = (part.reduceat(tree.value, roots, axis=1).sum(axis=1) for part in (np.minimum, np.maximum))
    return tree.start + low, tree.start + high


def list_members(native: Alone) -> tuple[Member, ...]:
    """The models that a model is made of."""
    found, first = list[Member](), 0
    for one in getattr(native.seen, "models", (native,)):
        core, is_trees = one.core, isinstance(one.core, Trees)
        part = core.ensemble if is_trees else core
        last = first + (len(part.base) if is_trees else len(part.start))
        found.append(Member(part.link, is_trees and part.sums is np.float32, first, last))
        first = last
    return tuple(found)


def find_joint_conditions(
    goal: Goal, members: Sequence[Member], sums: Array, ends: tuple[Array, Array]
) -> list[Conditions] | None:
    """Ways to reach the goal with all models at once: each as the first of them, the second, and so on."""
    found, own = list[list[Conditions]](), None
    for member in members:
        part = slice(member.first, member.last)
        both = ends[0][part], ends[1][part]
        ways = find_conditions(goal, member.link, sums[part], both, member.is_single, own)
        if ways is None:
            return None
        found.append(ways)
        own = member.link(sums[None, part]) if own is None else own
    if len(members) == 1:
        return found[0]
    if not all(found):
        return []
    if len({len(ways) for ways in found}) > 1:
        return None
    return [_join(members, some, len(sums)) for some in zip(*found, strict=True)]


def _join(members: Sequence[Member], ways: Sequence[Conditions], n_sums: int) -> Conditions:
    """Conditions on the sums of each model as conditions on all sums."""
    weights = np.zeros((sum(len(one.need) for one in ways), n_sums))
    line = 0
    for member, one in zip(members, ways, strict=True):
        weights[line : line + len(one.need), member.first : member.last] = one.weights
        line += len(one.need)
    return Conditions(weights, np.concatenate([one.need for one in ways]), max(one.room for one in ways))
