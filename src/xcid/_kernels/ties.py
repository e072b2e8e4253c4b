"""Equal values among the samples of many features at once."""

from __future__ import annotations

import numpy as np

from xcid.records import Array, Flags, Integers


def distinct(values: Array, used: Flags) -> tuple[Integers, Array]:
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


def sums(code: Integers, weights: Array, n_points: int) -> Array:
    """Total weight of each distinct value: (b, n_points)."""
    flat = code + (np.arange(len(code)) * n_points)[:, None]
    total: Array = np.bincount(flat.ravel(), weights.ravel(), len(code) * n_points)  # type: ignore[assignment]
    return total.reshape(len(code), n_points)
