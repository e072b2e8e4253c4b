"""NumPy's arrays and torch's tensors behind the same names, for hot loops on either; blocks, samples, ties of rows."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import special

from xcid.records import Array, Flags, Integers


def namespace(array: Any) -> Any:
    """The library that an array belongs to: numpy or torch, which agree on the names that are used here."""
    return np if isinstance(array, np.ndarray) else sys.modules[type(array).__module__]


def functions(array: Any) -> Any:
    """The special functions of an array's library."""
    return special if isinstance(array, np.ndarray) else namespace(array).special


MOST_AT_ONCE = 4_096  # rows of a product of a matrix with itself: OpenBLAS ends the process at some 16,000 of them


def products(rows: Array) -> Array:
    """(..., n, n) inner products of all pairs of (..., n, k) rows; by a copy where there are many, which is safe."""
    across = rows.swapaxes(-1, -2)
    found: Array = rows @ (across.copy() if rows.shape[-2] > MOST_AT_ONCE else across)
    return found


def blocks(total: int, size: int) -> Iterator[slice]:
    """Slices that cover so many rows, of at most ``size`` rows each, at least one."""
    return (slice(start, start + max(1, size)) for start in range(0, total, max(1, size)))


def thinned(size: int, most: int) -> Integers:
    """Positions of at most so many rows, evenly spread.

    Examples
    --------
    >>> thinned(9, 3).tolist()
    [0, 4, 8]
    """
    return np.linspace(0, size - 1, min(size, most)).round().astype(np.int64)


def times(rows: Array, matrices: Array) -> Array:
    """Multiply (n, k) rows by (n, k, l) matrices, or all of them by one (1, k, l)."""
    if len(matrices) == 1:
        one: Array = rows @ matrices[0]
        return one
    each: Array = (rows[:, None, :] @ matrices)[:, 0]
    return each


def inner(first: Array, second: Array) -> Array:
    """(n, 1) inner products of rows."""
    products: Array = namespace(first).einsum("ns,ns->n", first, second)[:, None]
    return products


def same(first: Array, second: Array) -> Flags:
    """Equal cells; missing ones are equal."""
    xp = namespace(first)
    equal: Flags = (first == second) | (xp.isnan(first) & xp.isnan(second))
    return equal


def ratio(above: Array | float, below: Array) -> Array:
    """Divide where the divisor is above 0; 0 elsewhere."""
    xp, there = namespace(below), below > 0
    quotient: Array = xp.where(there, above / xp.where(there, below, 1.0), 0.0)
    return quotient


def spread(values: Array) -> Array:
    """Standard deviations of columns, of numbers of any size.

    Examples
    --------
    >>> spread(np.array([[2.0**600, 1.0], [2.0**601, 1.0]])).tolist() == [2.0**599, 0.0]
    True
    """
    scale = np.abs(values).max(axis=0)
    unit = np.where(scale > 0, scale, 1.0)
    return np.asarray((values / unit).std(axis=0) * unit)


def number_distinct(values: Array, used: Flags) -> tuple[Integers, Array]:
    """Number the distinct used values of (b, s) items in ascending order.

    Gives the (b, s) position of each sample's value, that of the last one for unused samples; and the (b, u) values,
    the last one repeated where an item has fewer than u.
    """
    n_items, n_samples = values.shape
    largest = np.where(used, values, -np.inf).max(axis=1, keepdims=True)
    filled = np.where(used, values, largest)
    order = np.argsort(filled, axis=1)
    ordered = np.take_along_axis(filled, order, axis=1)
    rank = np.zeros((n_items, n_samples), dtype=np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=rank[:, 1:])
    code = np.empty_like(rank)
    np.put_along_axis(code, order, rank, axis=1)
    points = np.repeat(ordered[:, -1:], rank.max() + 1, axis=1)
    np.put_along_axis(points, rank, ordered, axis=1)
    return code, points


def sum_weights(code: Integers, weights: Array, n_points: int) -> Array:
    """Total weight of each distinct value: (b, n_points)."""
    flat = code + (np.arange(len(code)) * n_points)[:, None]
    total: Array = np.bincount(flat.ravel(), weights.ravel(), len(code) * n_points)  # type: ignore[assignment]
    return total.reshape(len(code), n_points)
