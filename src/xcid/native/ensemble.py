"""Trees as flat arrays: what every library's trees become before anything is computed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy.special import expit, softmax

from xcid.records import Array, Flags, Integers

Link: TypeAlias = Callable[[Array], Array]
"""From (..., k) sums to the (..., outputs) that the model answers with."""
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
    """

    feature: Integers
    threshold: Array
    left: Integers
    right: Integers
    missing_left: Flags
    value: Array
    slot: int = 0


@dataclass(frozen=True, slots=True, eq=False)
class Ensemble:
    """Trees whose values are added to ``base`` (k,), one after the other, in numbers of type ``sums``.

    Cells are ``rounded`` before they are compared.
    """

    trees: tuple[Tree, ...]
    base: Array
    rounded: Rounding
    link: Link
    sums: type[np.float64 | np.float32] = np.float64


def single(rows: Array) -> Array:
    """Cells in single precision."""
    with np.errstate(over="ignore"):  # the model is asked about such a row, too, and says so
        return rows.astype(np.float32).astype(np.float64)


def double(rows: Array) -> Array:
    """Cells as they are."""
    return rows


def first(sums: Array) -> Array:
    """The sum itself, as the output of a regression."""
    return sums


def exponential(sums: Array) -> Array:
    """The output of a regression of logarithms."""
    return np.exp(sums)


def averaged(n_trees: int, sums: Array) -> Array:
    """Means over trees."""
    return sums / n_trees


def averaged_pair(n_trees: int, sums: Array) -> Array:
    """Probabilities of two classes, from sums of those of the second; the first has the rest."""
    return np.concatenate([n_trees - sums, sums], axis=-1) / n_trees


def logistic(sums: Array) -> Array:
    """Probabilities of two classes, from log odds of the second."""
    second = expit(sums)
    return np.concatenate([1 - second, second], axis=-1)


def doubled(sums: Array) -> Array:
    """Probabilities of two classes, from half the log odds of the second."""
    return logistic(2 * sums)


def several(sums: Array) -> Array:
    """Probabilities of several classes, from their logarithms up to a constant."""
    shares: Array = softmax(sums, axis=-1)
    return shares
