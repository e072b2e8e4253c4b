"""Splits on sets of levels: each set becomes a column of its own, 1 where the cell is in it, 0 where not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from xcid.native.ensemble import Tree
from xcid.records import Array, Integers

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
