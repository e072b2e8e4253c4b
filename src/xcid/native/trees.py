"""Tree ensembles: the outputs of all samples of a plan by sets of samples, and of rows by themselves."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from xcid._kernels.arrays import blocks
from xcid.native.ensemble import Ensemble, Tree
from xcid.native.library import loaded, runner
from xcid.native.planned import sets, sums
from xcid.native.program import Program, compiled
from xcid.native.seen import SeenPlan
from xcid.records import Array, Flags, Integers

MOST_SETS, MOST_LEVELS = 2**13, 2**16


@dataclass(frozen=True, slots=True, eq=False)
class Indicators:
    """What is added to (n, m) cells.

    Attributes
    ----------
    source : (q,)
        The columns that the sets are of, ascending.
    tables : dict from column to (L + 2, its sets)
        What they say of each level, of any other one, and of missing cells.
    """

    source: Integers
    tables: dict[int, Array]

    def __call__(self, cells: Array) -> Array:
        """(n, m + q) the cells and the new columns."""
        added = [table[_places(cells[:, column], len(table) - 2)] for column, table in self.tables.items()]
        return np.concatenate([cells, *added], axis=1) if added else cells

    def column(self, cells: Array, at: int) -> Array:
        """(n,) one of the new columns."""
        source = int(self.source[at])
        table = self.tables[source][:, at - int(np.searchsorted(self.source, source))]
        found: Array = table[_places(cells[:, source], len(table) - 2)]
        return found


def _places(cells: Array, n_levels: int) -> Integers:
    is_missing = np.isnan(cells)
    whole = np.trunc(np.where(is_missing, -1, cells))
    known = np.where((whole < 0) | (whole >= n_levels) | (cells < 0), n_levels, whole)
    return np.where(is_missing, n_levels + 1, known).astype(np.int64)


def indicated(trees: Sequence[Tree], n_columns: int) -> tuple[tuple[Tree, ...], Indicators] | None:
    """Trees that split on numbers only, and the columns that they need; None where these are too many."""
    sets = {(int(tree.feature[node]), one) for tree in trees for node, one in tree.chosen.items()}
    if len(sets) > MOST_SETS or any(max(one, default=0) >= MOST_LEVELS for _, one in sets):
        return None
    ordered = sorted(sets, key=lambda pair: (pair[0], sorted(pair[1])))
    number = {pair: n_columns + at for at, pair in enumerate(ordered)}
    columns = sorted({column for column, _ in ordered})
    tables = {column: _table([one for owner, one in ordered if owner == column]) for column in columns}
    found = Indicators(np.array([column for column, _ in ordered], dtype=np.int64), tables)
    return tuple(_renamed(tree, number) if tree.chosen else tree for tree in trees), found


def _table(sets: list[frozenset[int]]) -> Array:
    table = np.zeros((max(max(one, default=0) for one in sets) + 3, len(sets)))
    for at, one in enumerate(sets):
        table[list(one), at] = 1.0
    table[-1] = np.nan
    return table


def _renamed(tree: Tree, number: dict[tuple[int, frozenset[int]], int]) -> Tree:
    feature, threshold = tree.feature.copy(), tree.threshold.copy()
    for node, one in tree.chosen.items():
        feature[node], threshold[node] = number[int(tree.feature[node]), one], 0.5
    return replace(tree, feature=feature, threshold=threshold, chosen={})


MOST_PLACES = 2**18  # of rows in trees at a time


@dataclass(frozen=True, slots=True, eq=False)
class Walk:
    """The nodes of all trees of an ensemble, one tree after the other; a leaf is its own child.

    Attributes
    ----------
    feature, threshold, missing_left, left, right : (M,)
        As those of a tree.
    value : (M, c)
        What leaves add.
    roots, slot : (t,)
        Where each tree begins, and where its values go.
    """

    feature: Integers
    threshold: Array
    missing_left: Flags
    left: Integers
    right: Integers
    value: Array
    roots: Integers
    slot: Integers

    @staticmethod
    def of(ensemble: Ensemble) -> Walk:
        """Put the trees together."""
        trees = ensemble.trees
        ends = np.cumsum([0, *(len(tree.feature) for tree in trees)])
        feature = np.concatenate([np.zeros(0, dtype=np.int64), *(tree.feature for tree in trees)])
        owner, own = np.repeat(ends[:-1], np.diff(ends)), np.arange(ends[-1])
        left, right = (
            np.where(feature < 0, own, np.concatenate([own[:0], *parts]) + owner)
            for parts in ([tree.left for tree in trees], [tree.right for tree in trees])
        )
        return Walk(
            np.maximum(feature, 0),
            np.concatenate([np.zeros(0), *(tree.threshold for tree in trees)]),
            np.concatenate([np.zeros(0, dtype=bool), *(tree.missing_left for tree in trees)]),
            left,
            right,
            np.concatenate([tree.value for tree in trees]) if trees else np.zeros((0, 1)),
            ends[:-1],
            np.array([tree.slot for tree in trees], dtype=np.int64),
        )

    def sums(self, cells: Array, ensemble: Ensemble) -> Array:
        """(n, k) sums of (n, m) cells, in the ensemble's precision."""
        total = np.empty((len(cells), len(ensemble.base)))
        for some in blocks(len(cells), max(1, MOST_PLACES // max(1, len(self.roots)))):
            leaves = self._leaves(cells[some])
            for at, start in enumerate(ensemble.base):
                chosen = np.flatnonzero((self.slot <= at) & (at < self.slot + self.value.shape[1]))
                added = self.value[leaves[:, chosen], at - self.slot[chosen]]
                parts = np.concatenate([np.full((len(leaves), 1), start), added], axis=1)
                total[some, at] = np.add.accumulate(parts.astype(ensemble.sums), axis=1)[:, -1]
        return total

    def _leaves(self, cells: Array) -> Integers:
        """(n, t) where rows end."""
        at, rows = np.tile(self.roots, (len(cells), 1)), np.arange(len(cells))[:, None]
        while True:
            found = cells[rows, self.feature[at]]
            goes_left = (found <= self.threshold[at]) | (np.isnan(found) & self.missing_left[at])
            below = np.where(goes_left, self.left[at], self.right[at])
            if np.array_equal(below, at):
                return at
            at = below


FEWEST_ROWS = 8  # at a time, for which NumPy's form is faster than calling the model
LARGE = 2**18  # nodes whose program takes so long to write that it is not written for fewer rows
ROWS_OF_LARGE = 16  # of a plan
STEPS = 8  # of a tree and a row that take NumPy as long as the tree's own predictions


@dataclass(frozen=True, eq=False)  # without slots, so that the program is kept
class Trees:
    """An ensemble and its program, which the compiled library runs where it was built, and else NumPy."""

    ensemble: Ensemble
    indicators: Indicators
    walk: Walk

    @staticmethod
    def of(ensemble: Ensemble, n_columns: int) -> Trees | None:
        """Put the trees of an ensemble together; None where it is damaged."""
        if not all(tree.is_sound(n_columns, len(ensemble.base)) for tree in ensemble.trees):
            return None
        found = indicated(ensemble.trees, n_columns)
        if found is None:
            return None
        ensemble = replace(ensemble, trees=found[0])
        return Trees(ensemble, found[1], Walk.of(ensemble))

    @cached_property
    def program(self) -> Program | None:
        """The program, written when samples first need it; None where it is so large that calls are faster."""
        return compiled(self.ensemble)

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than calling the model, and worth writing the program."""
        if self.is_large and (loaded() is None or "program" not in vars(self)):
            return sys.maxsize if loaded() is None else ROWS_OF_LARGE
        if self.program is None:
            return sys.maxsize
        if loaded() is not None:
            return 1
        by_steps = len(self.program.steps) // (STEPS * max(1, len(self.ensemble.trees)))
        return sys.maxsize if self.ensemble.quickly else max(FEWEST_ROWS, by_steps)

    @property
    def is_quick(self) -> bool:
        """Whether many more samples are read in the time that the model would take to predict some."""
        return not (self.ensemble.quickly or self.is_large) and self.program is not None

    @property
    def is_large(self) -> bool:
        """Whether its program takes a second or two to write, which some hundred rows win back."""
        return len(self.walk.feature) > LARGE

    def planned(self, part: SeenPlan) -> Callable[[Array], Array] | None:
        """From (n, m) cells to the outputs of all samples of a plan; None where its sets take too much memory."""
        new, width, program = self.ensemble.rounded(part.new), part.new.shape[1], self.program
        if program is None:
            return None

        def column(at: int) -> tuple[Array, Flags]:
            if at < width:
                return new[:, at], part.taken[:, at]
            return self.indicators.column(new, at - width), part.taken[:, self.indicators.source[at - width]]

        known = sets(program, len(new), column)
        if known is None:
            return None
        library = loaded()
        add: Callable[[Array], Array] = functools.partial(sums, program, known)
        if library is not None:
            add = runner(library, program, known, width + len(self.indicators.source))

        def outputs(cells: Array) -> Array:
            found = add(self.compared(cells))
            return self.ensemble.link(np.moveaxis(found, 0, -1))

        return outputs

    def outputs(self, cells: Array) -> Array:
        """(n, k) outputs of (n, m) cells by themselves."""
        return self.ensemble.link(self.walk.sums(self.compared(cells), self.ensemble))

    def compared(self, cells: Array) -> Array:
        """(n, m + q) what splits compare, of (n, m) cells."""
        return self.indicators(self.ensemble.rounded(cells))
