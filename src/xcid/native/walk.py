"""Rows by themselves: all of them go down all trees at once, a level at a time."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._kernels.arrays import blocks
from xcid.native.ensemble import Ensemble
from xcid.records import Array, Flags, Integers

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
