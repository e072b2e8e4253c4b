"""Trees prepared for exact Shapley values against reference rows: by the compiled library, or by NumPy.

Both have a ``base`` (k,), the mean sums of the reference rows, and make (n, f, k) values and (n, f, f, k) interactions
of (n, m) cells. ``exact.c`` says how; NumPy takes the leaves one by one, and is as exact.
"""

from __future__ import annotations

import ctypes
import weakref
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import beta

from xcid._kernels.arrays import blocks
from xcid.native.trees import Walk
from xcid.records import Array, Flags, Integers

MOST_BYTES = 2**28  # of what is kept of trees
MOST_PAIRS = 2**20  # of patterns that NumPy compares at a time
WORD = 8  # bytes


@dataclass(frozen=True, slots=True, eq=False)
class Reference:
    """Reference rows as trees see them.

    Attributes
    ----------
    cells : (R, m)
        What splits compare.
    shares : (R,)
        The weights of the rows, which add up to 1.
    player : (m,)
        The feature that each column is made of.
    n_players, n_sums : int
        How many features and sums there are.
    """

    cells: Array
    shares: Array
    player: Integers
    n_players: int
    n_sums: int


_NODES = ("feature", "left", "right", "threshold", "value", "missing_left", "roots", "slot")
_ARRAYS = (*_NODES, "player", "cells", "weights")
_COUNTS = ("n_nodes", "n_values", "n_trees", "n_sums", "n_columns", "n_players", "n_rows", "most_bytes")


class _Source(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_void_p) for name in _ARRAYS), *((name, ctypes.c_int64) for name in _COUNTS)]


class Compiled:
    """Trees that the library has prepared, which stay in its memory as long as this is in use."""

    def __init__(self, library: Any, walk: Walk, reference: Reference, most_bytes: int = MOST_BYTES) -> None:
        self._library, self._reference, status = library, reference, ctypes.c_int64()
        parts = [*(getattr(walk, name) for name in _NODES), reference.player, reference.cells.T, reference.shares]
        self._arrays = tuple(np.ascontiguousarray(part) for part in parts)  # the library points into these
        counts = (*walk.value.shape, len(walk.roots), reference.n_sums, len(reference.player), reference.n_players)
        pointers = (part.ctypes.data for part in self._arrays)
        source = _Source(*pointers, *counts, len(reference.cells), most_bytes)
        self.base = np.zeros(reference.n_sums)
        found = library.xcid_exact_new(ctypes.byref(source), _pointer(self.base), ctypes.byref(status))
        _check(status.value)
        self._prepared = ctypes.c_void_p(found)
        weakref.finalize(self, library.xcid_exact_free, found)

    def __call__(self, cells: Array) -> Array:
        """(n, f, k) values of (n, m) cells."""
        return self._run(self._library.xcid_exact_values, cells, self._reference.n_players)

    def pairs(self, cells: Array) -> Array:
        """(n, f, f, k) interactions of (n, m) cells."""
        return self._run(self._library.xcid_exact_pairs, cells, self._reference.n_players, self._reference.n_players)

    def _run(self, function: Any, cells: Array, *shape: int) -> Array:
        found = np.zeros((len(cells), *shape, self._reference.n_sums))
        across = np.ascontiguousarray(cells.T)
        _check(function(self._prepared, _pointer(across), ctypes.c_int64(len(cells)), _pointer(found)))
        return found


def _pointer(array: Array) -> Any:
    return array.ctypes.data_as(ctypes.c_void_p)


def _check(status: int) -> None:
    if status == 1:
        raise MemoryError("there is no room for the patterns of reference rows")
    if status:
        raise ValueError("the trees are damaged")


class Leaf(NamedTuple):
    """A leaf, the splits on the way to it, and what reference rows make of them.

    ``path`` has the column, the threshold, whether missing cells and others go to the right, and the place of the
    column's player among the (D,) ``players``. ``patterns`` (P, D) say which players rows satisfy, ``shares`` (P,) how
    many rows have each.
    """

    path: tuple[tuple[int, float, bool, bool, int], ...]
    players: tuple[int, ...]
    patterns: Flags
    shares: Array
    value: Array
    slot: int


class Plain:
    """The same by NumPy."""

    def __init__(self, walk: Walk, reference: Reference) -> None:
        self._reference, self.base = reference, np.zeros(reference.n_sums)
        self._leaves = list[Leaf]()
        for root, slot in zip(walk.roots.tolist(), walk.slot.tolist(), strict=True):
            waiting: list[tuple[int, tuple[Any, ...], tuple[int, ...]]] = [(root, (), ())]
            while waiting:
                node, path, players = waiting.pop()
                if walk.left[node] == node:
                    self._keep(path, players, walk.value[node], slot)
                    continue
                column = int(walk.feature[node])
                player = int(reference.player[column])
                players = players if player in players else (*players, player)
                split = (column, float(walk.threshold[node]), not walk.missing_left[node])
                for child, is_right in ((int(walk.left[node]), False), (int(walk.right[node]), True)):
                    waiting.append((child, (*path, (*split, is_right, players.index(player))), players))

    def _keep(self, path: Any, players: tuple[int, ...], value: Array, slot: int) -> None:
        patterns, which = _distinct(_satisfied(path, len(players), self._reference.cells))
        shares: Array = np.bincount(which, weights=self._reference.shares, minlength=len(patterns)).astype(np.float64)
        self.base[slot : slot + len(value)] += value * shares[patterns.all(axis=1)].sum()
        if players:
            self._leaves.append(Leaf(path, players, patterns, shares, value, slot))

    def __call__(self, cells: Array) -> Array:
        """(n, f, k) values of (n, m) cells."""
        found = np.zeros((len(cells), self._reference.n_players, self._reference.n_sums))
        for leaf in self._leaves:
            patterns, which = _distinct(_satisfied(leaf.path, len(leaf.players), cells))
            some = blocks(len(patterns), MOST_PAIRS // len(leaf.patterns))
            values = np.concatenate(
                [patterns[:0], *(_values(patterns[one], leaf.patterns, leaf.shares) for one in some)]
            )
            at = slice(leaf.slot, leaf.slot + len(leaf.value))
            found[:, list(leaf.players), at] += values[which][:, :, None] * leaf.value
        return found

    def pairs(self, cells: Array) -> Array:
        """(n, f, f, k) interactions of (n, m) cells."""
        n_players = self._reference.n_players
        found = np.zeros((len(cells), n_players, n_players, self._reference.n_sums))
        for leaf in self._leaves:
            patterns, which = _distinct(_satisfied(leaf.path, len(leaf.players), cells))
            squares = np.array([_interactions(own, leaf.patterns, leaf.shares) for own in patterns])
            at, players = slice(leaf.slot, leaf.slot + len(leaf.value)), list(leaf.players)
            found[:, np.array(players)[:, None], players, at] += squares[which][..., None] * leaf.value
        return found


def _satisfied(path: Any, n_players: int, cells: Array) -> Flags:
    """(n, D) whether rows go along a path at all splits of each player."""
    found = np.ones((len(cells), n_players), dtype=bool)
    for column, threshold, missing_right, is_right, place in path:
        own = cells[:, column]
        found[:, place] &= np.where(np.isnan(own), missing_right, own > threshold) == is_right
    return found


def _distinct(flags: Flags) -> tuple[Flags, Integers]:
    """The distinct rows of (n, D) flags, and which of them each row is."""
    packed: Any = np.packbits(flags, axis=1)
    if packed.shape[1] <= WORD:
        packed = np.pad(packed, ((0, 0), (0, WORD - packed.shape[1]))).view(np.uint64)[:, 0]
    _, first, which = np.unique(packed, axis=0, return_index=True, return_inverse=True)
    return flags[first], which.ravel()


def _values(own: Flags, patterns: Flags, shares: Array) -> Array:
    """(n, D) Shapley values of reaching a leaf, for rows that satisfy these of its players."""
    holds, lacks = own.astype(np.float64), (~patterns).astype(np.float64)
    a, b = holds @ lacks.T, (1 - holds).sum(axis=1, keepdims=True)
    counts = np.where((1 - holds) @ lacks.T == 0, shares, 0.0)  # nobody is failed by both
    up = np.where(a > 0, counts * beta(np.maximum(a, 1), b + 1), 0.0)
    down = np.where(b > 0, counts * beta(a + 1, np.maximum(b, 1)), 0.0)
    return holds * (up @ lacks) - (1 - holds) * down.sum(axis=1, keepdims=True)


def _interactions(own: Flags, patterns: Flags, shares: Array) -> Array:
    """(D, D) interactions in reaching a leaf, for a row that satisfies these of its (D,) players."""
    some = patterns[:, ~own].all(axis=1)
    gains, lacks, counts = (own & ~patterns[some]) * 1.0, ~own * 1.0, shares[some]
    a, b = gains.sum(axis=1), lacks.sum()
    both = np.where(a > 1, counts * beta(np.maximum(a - 1, 1), b + 1), 0.0)
    mixed = counts * beta(np.maximum(a, 1), max(b, 1)) @ gains if b else 0 * lacks
    lost = (counts * beta(a + 1, b - 1)).sum() if b > 1 else 0.0
    found = (gains.T * both) @ gains - np.outer(mixed, lacks) - np.outer(lacks, mixed) + lost * np.outer(lacks, lacks)
    np.fill_diagonal(found, 0.0)
    return np.asarray(found)
