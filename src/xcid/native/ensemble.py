"""Trees as flat arrays: what every library's trees become before anything is computed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

import numpy as np

from xcid.native.models import Link
from xcid.records import Array, Flags, Integers

MOST_NODES = 2**20  # of an ensemble: a program of more takes seconds and hundreds of MB
MOST_TREES, MOST_SUMS = 2**15, 2**12  # likewise
Rounding: TypeAlias = Callable[[Array], Array]
"""From rows to rows as the model sees them."""


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """One tree of m nodes, the first of which is the root.

    Attributes
    ----------
    feature, threshold : (m,)
        Cells of this column that are at most the threshold go left; -1 at leaves.
    left, right : (m,) int
        The children of each node.
    missing_left : (m,) bool
        Nodes at which missing cells go left.
    value : (m, c)
        What leaves add to the sums number ``slot`` and following.
    chosen : mapping from nodes to sets
        Nodes that split on levels: cells whose code is in the set go right, others left.
    """

    feature: Integers
    threshold: Array
    left: Integers
    right: Integers
    missing_left: Flags
    value: Array
    slot: int = 0
    chosen: Mapping[int, frozenset[int]] = field(default_factory=dict)

    def is_sound(self, n_columns: int, n_sums: int) -> bool:
        """Whether it is a tree of so many columns at all: whoever walks a damaged one may never come to an end."""
        nodes, inner = len(self.feature), np.flatnonzero(self.feature >= 0)
        lengths = {len(part) for part in (self.threshold, self.left, self.right, self.missing_left, self.value)}
        if not nodes or lengths != {nodes} or not 0 <= self.slot <= n_sums - self.value.shape[1]:
            return False
        children = np.concatenate([self.left[inner], self.right[inner]])
        is_tree = not len(children) or (children.min() > 0 and children.max() < nodes)
        is_tree = is_tree and np.bincount(children, minlength=1).max() <= 1
        is_tree = is_tree and np.array_equal(self.feature < 0, self.left < 0)
        split = [node for node in inner.tolist() if node not in self.chosen] if self.chosen else inner
        numbers = np.isnan(self.threshold[split])
        return is_tree and self.feature.max() < n_columns and not numbers.any() and bool(np.isfinite(self.value).all())


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Trees whose values are added to ``base`` (k,), one after the other, in numbers of type ``sums``.

    Cells are ``rounded`` before they are compared. Some libraries predict so ``quickly`` that NumPy's form is slower.
    """

    trees: tuple[Tree, ...]
    base: Array
    rounded: Rounding
    link: Link
    sums: type[np.float64 | np.float32] = np.float64
    quickly: bool = False


def check_size(n_trees: int, n_nodes: int, n_sums: int) -> None:
    """Refuse what a file claims to hold before room is made for it."""
    if n_trees > MOST_TREES or n_nodes > MOST_NODES or not 0 < n_sums <= MOST_SUMS:
        raise ValueError(f"{n_trees:,} trees of {n_nodes:,} nodes and {n_sums:,} sums are too many to be read")


def listed(root: Any, children: Callable[[Any], tuple[Any, ...]]) -> tuple[list[Any], list[int]]:
    """The nodes of a tree of records, level by level, and where the first child of each is; -1 for leaves."""
    nodes, firsts = [root], list[int]()
    for node in nodes:  # grows on the way
        found = children(node)
        firsts.append(len(nodes) if found else -1)
        nodes += found
        if len(nodes) > MOST_NODES:
            raise ValueError(f"a tree has more than {MOST_NODES:,} nodes")
    return nodes, firsts


def swapped(tree: Tree) -> Tree:
    """The same tree, where cells in the sets used to go left."""
    left, right, missing_left = tree.left.copy(), tree.right.copy(), tree.missing_left.copy()
    nodes = list(tree.chosen)
    left[nodes], right[nodes], missing_left[nodes] = tree.right[nodes], tree.left[nodes], ~missing_left[nodes]
    return replace(tree, left=left, right=right, missing_left=missing_left)


def single(rows: Array) -> Array:
    """Cells in single precision."""
    with np.errstate(over="ignore"):  # the model is called with such a row, too, and says so
        return rows.astype(np.float32).astype(np.float64)


def double(rows: Array) -> Array:
    """Cells as they are."""
    return rows


def averaged(n_trees: int, sums: Array) -> Array:
    """Means over trees."""
    return sums / n_trees


def averaged_pair(n_trees: int, sums: Array) -> Array:
    """Probabilities of two classes, from sums of those of the second; the first has the rest."""
    return np.concatenate([n_trees - sums, sums], axis=-1) / n_trees


def single_logistic(sums: Array) -> Array:
    """Probabilities of two classes as XGBoost rounds them: log odds tell the difference where they are close to 1."""
    second = 1 / (np.exp(-sums).astype(np.float32) + np.float32(1))
    return np.concatenate([1 - second, second], axis=-1).astype(np.float64)


def single_logit(shares: Array) -> Array:
    """Log odds as XGBoost rounds them."""
    odds = 1 / shares.astype(np.float32) - np.float32(1)
    return -np.log(odds.astype(np.float64))


def single_several(sums: Array) -> Array:
    """Probabilities of several classes as XGBoost rounds them."""
    apart = sums.astype(np.float32) - sums.max(axis=-1, keepdims=True).astype(np.float32)
    shares = np.exp(apart.astype(np.float64)).astype(np.float32)
    total = shares.astype(np.float64).sum(axis=-1, keepdims=True).astype(np.float32)
    return (shares / total).astype(np.float64)
