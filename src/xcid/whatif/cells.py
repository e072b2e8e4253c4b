"""Options of features in cells: what no split of an ensemble tells apart counts as one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid.native.nearest import MOST_LEVELS, Nodes
from xcid.native.trees import Trees
from xcid.records import Array, Flags, Integers, Unsigned
from xcid.whatif.problem import (
    MOST_LINEAR,
    MOST_VALUES,
    Options,
    View,
    add_codes,
    list_multiples,
    list_values,
    put_on_lattice,
)


class FeatureCells(NamedTuple):
    """The options of a feature, by what splits tell apart: in order, or as sets of levels.

    ``cell`` (K,) and ``own`` (n,) say where options and the rows' own values are; in order they count from 1, and 0 is
    an own value without a place among them.
    """

    options: Options
    n_cells: int
    is_set: bool
    cell: Integers
    own: Integers
    codes: Array  # (cells, columns that splits compare)

    def costs(self, cost: Array, rows: slice) -> Array:
        """(b, cells) the least costs of (b, K) options, 0 where rows are themselves."""
        found = np.full((len(cost), self.n_cells), np.inf)
        if self.cell.size:
            order = np.argsort(self.cell, kind="stable")
            cells, first = np.unique(self.cell[order], return_index=True)
            found[:, cells] = np.minimum.reduceat(cost[:, order], first, axis=1)
        found[np.arange(len(cost)), self.own[rows]] = 0.0
        return found


def put_in_cells(options: Options, compared: Array, own: Array, thresholds: list[Array]) -> FeatureCells | None:
    """Put (K, c) and (n, c) compared columns of options and of rows in cells; None where there are too many."""
    codes, own_codes = (
        np.column_stack(
            [np.where(np.isnan(z), -1, np.searchsorted(t, z)) for z, t in zip(part.T, thresholds, strict=True)]
        )
        for part in (compared, own)
    )
    has_place = (own_codes >= 0).all(axis=1)
    for known in (np.concatenate([codes, own_codes[has_place]]), codes):
        ordered = np.unique(known, axis=0)
        if _is_in_order(ordered):
            where = _find_positions(ordered, np.concatenate([codes, own_codes])) + 1
            return FeatureCells(options, len(ordered) + 1, False, where[: len(codes)], where[len(codes) :], ordered)
        levels = np.unique(np.concatenate([codes, own_codes]), axis=0)
        if len(levels) <= MOST_LEVELS:
            where = _find_positions(levels, np.concatenate([codes, own_codes]))
            return FeatureCells(options, len(levels), True, where[: len(codes)], where[len(codes) :], levels)
    return None


def _is_in_order(codes: Array) -> bool:
    """Whether all columns of codes in the order of the first ones rise, and none is missing."""
    return bool(np.all(codes >= 0) and np.all(np.diff(codes, axis=0) >= 0))


def _find_positions(known: Array, codes: Array) -> Integers:
    """Where (K, c) codes are among those that are known, -1 for those that are not."""
    places = {one.tobytes(): at for at, one in enumerate(np.ascontiguousarray(known, dtype=np.int64))}
    rows = np.ascontiguousarray(codes, dtype=np.int64)
    return np.array([places.get(one.tobytes(), -1) for one in rows], dtype=np.int64)


class Place(NamedTuple):
    """A column that splits compare: the place of its feature, and what its cells and its thresholds are."""

    feature: int
    is_set: bool
    codes: Array
    thresholds: Array


class Divided(NamedTuple):
    """The features that an ensemble splits on, by cells, and its nodes in terms of these."""

    cells: tuple[FeatureCells, ...]
    nodes: Nodes
    own_left: Flags  # (n, nodes) where own values go

    @property
    def start(self) -> Integers:
        """(f + 1,) where the costs of each feature begin."""
        return np.cumsum([0, *(one.n_cells for one in self.cells)])


def divide(view: View, trees: Trees) -> Divided | None:
    """Put the features that trees split on in cells; None where that cannot be done."""
    walk, core = trees.walk, view.own.shape[1]
    is_leaf = walk.left == np.arange(len(walk.left))
    columns = np.unique(walk.feature[~is_leaf])
    owner = np.concatenate([view.owner, view.owner[trees.indicators.source]]).astype(np.int64)
    own = trees.compared(view.own)
    found, places = list[FeatureCells](), dict[int, Place]()
    for at in np.unique(owner[columns]).tolist():
        mine = columns[owner[columns] == at]
        thresholds = [np.unique(walk.threshold[~is_leaf & (walk.feature == column)]) for column in mine]
        options = _list_options(view, at, thresholds, mine, core)
        if options is None:
            return None
        full = np.repeat(view.own[:1], len(options.values), axis=0)
        full[:, options.columns] = options.cells
        made = put_in_cells(options, trees.compared(full)[:, mine], own[:, mine], thresholds)
        if made is None:
            return None
        parts = zip(mine.tolist(), made.codes.T, thresholds, strict=True)
        places |= {column: Place(len(found), made.is_set, codes, cuts) for column, codes, cuts in parts}
        found.append(made)
    goes_left = own[:, walk.feature] <= walk.threshold
    goes_left |= np.isnan(own[:, walk.feature]) & walk.missing_left
    return Divided(tuple(found), _translate_nodes(trees, places), goes_left)


def _list_options(view: View, at: int, thresholds: list[Array], columns: Integers, n_columns: int) -> Options | None:
    search_space = view.evaluator.search_space
    values = list_values(search_space, at, MOST_VALUES)
    if values is None and np.all(columns < n_columns):
        beside = [_list_values_beside(view, at, *one) for one in zip(thresholds, columns.tolist(), strict=True)]
        known = [one for one in beside if one is not None]
        values = np.unique(np.concatenate(known)) if known and len(known) == len(beside) else None
    if values is None:
        values = list_values(search_space, at, MOST_LINEAR)
    return None if values is None else view.make_options(at, values)


def _list_values_beside(view: View, at: int, thresholds: Array, column: int) -> Array | None:
    """Of a number with very many values those on both sides of each threshold of what the model sees of it.

    None where that does not rise with the number. The nearest of a cell is at one of its ends, or the usual.
    """
    search_space = view.evaluator.search_space
    ends = list_multiples(search_space, at)
    core = view.native.core
    if ends is None or not isinstance(core, Trees):
        return None

    def seen(multiples: Array) -> Array:
        found = view.make_options(at, put_on_lattice(search_space, at, multiples))
        full = np.repeat(view.own[:1], len(multiples), axis=0)
        full[:, found.columns] = found.cells
        return np.asarray(core.compared(full)[:, column])

    rising = seen(np.linspace(ends[0], ends[1], 257).round())
    if not np.all(np.diff(rising) >= 0):
        return None
    below, above = np.full(len(thresholds), ends[0] - 1.0), np.full(len(thresholds), ends[1] + 1.0)
    guess = np.clip(np.floor(thresholds / search_space.step[at]), ends[0] + 1.0, ends[1] - 2.0)
    for near in (guess - 1, guess + 2):  # right where numbers come before the model as they are
        is_below = seen(near) <= thresholds
        below, above = np.where(is_below, np.fmax(near, below), below), np.where(is_below, above, np.fmin(near, above))
    while np.any(above - below > 1):
        middle = np.clip(np.floor((below + above) / 2), ends[0], ends[1])
        is_below = seen(middle) <= thresholds
        is_open = above - below > 1
        below, above = np.where(is_open & is_below, middle, below), np.where(is_open & ~is_below, middle, above)
    chosen = np.unique(np.clip(np.concatenate([below, above, ends]), *ends))
    values = put_on_lattice(search_space, at, chosen)
    return add_codes(search_space, at, np.append(values, search_space.usual[at]))


def _translate_nodes(trees: Trees, places: dict[int, Place]) -> Nodes:
    """The nodes of an ensemble in terms of the cells of the columns that it splits on."""
    walk = trees.walk
    cut, mask = np.zeros(len(walk.feature), dtype=np.int64), np.zeros(len(walk.feature), dtype=np.uint64)
    feature, is_leaf = np.full(len(walk.feature), -1), walk.left == np.arange(len(walk.left))
    for column, place in places.items():
        mine = np.flatnonzero(~is_leaf & (walk.feature == column))
        k = np.searchsorted(place.thresholds, walk.threshold[mine])
        feature[mine] = place.feature
        if place.is_set:
            mask[mine] = _choose_levels(place.codes, k, walk.missing_left[mine])
        else:
            cut[mine] = np.searchsorted(place.codes, k, side="right")
    return Nodes(feature, walk.left, walk.right, cut, mask, walk.roots)


def _choose_levels(codes: Array, k: Integers, missing_left: Flags) -> Unsigned:
    """(M,) the levels that go left at nodes with these places of thresholds."""
    left = (codes <= k[:, None]) & ((codes >= 0) | missing_left[:, None])
    return np.asarray((left.astype(np.uint64) << np.arange(len(codes), dtype=np.uint64)).sum(axis=1, dtype=np.uint64))
