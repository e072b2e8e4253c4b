"""What each change contributes: Shapley shares of the change of the output, and the order in which changes work."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial
from typing import NamedTuple, TypeAlias

import numpy as np

from xcid._kernels.arrays import same
from xcid._kernels.random import ORDERS
from xcid.records import Array, Flags, Integers, Unsigned

Value: TypeAlias = Callable[[Array, Integers], Array]
EXACT = 10  # changes whose combinations are all evaluated
N_ORDERS = 64  # random orders of more changes, each there and back


class Split(NamedTuple):
    """What is said about the changes of rows: (N, f) shares, order and path, filled part by part."""

    shares: Array
    order: Integers
    path: Array


def shares(rows: Array, own: Array, keys: Unsigned, value: Value) -> Split:
    """(N, f) shares of the change of the output from (N, f) own rows to changed rows, the order of the changes, a path.

    ``value(rows (M, f), which (M,)) -> (M,)`` gives the output of mixtures of some of them. The order counts from 1;
    0 stands for features that do not change. First comes the change that does most by itself, then the one that does
    most after it, and so on. The path has the output after each change in this order, NaN for other features.
    """
    moved = ~same(rows, own)
    split = Split(np.zeros(rows.shape), np.zeros(rows.shape, dtype=np.int64), np.full(rows.shape, np.nan))
    sizes = moved.sum(axis=1)
    parts = [np.flatnonzero(sizes == size) for size in range(1, EXACT + 1)]
    mixed = [_combinations(which, size, rows, own, moved) for size, which in enumerate(parts, start=1)]
    which = np.concatenate([np.repeat(part, 2**size) for size, part in enumerate(parts, start=1)])
    outputs = value(np.concatenate(mixed), which) if len(which) else np.zeros(0)
    ends = np.cumsum([len(part) for part in mixed])
    for size, (part, end) in enumerate(zip(parts, ends, strict=True), start=1):
        answers = outputs[end - len(part) * 2**size : end].reshape(-1, 2**size)
        _exact(part, size, np.nonzero(moved[part])[1].reshape(-1, size), answers, split)
    for one in np.flatnonzero(sizes > EXACT).tolist():
        _sampled(one, rows[one], own[one], keys[one : one + 1], value, split)
    return split


def _combinations(which: Integers, size: int, rows: Array, own: Array, moved: Flags) -> Array:
    """Every combination of the changes of rows with so many of them, row after row."""
    feature = np.nonzero(moved[which])[1].reshape(-1, 1, size)
    taken = np.zeros((len(which), 2**size, rows.shape[1]), dtype=bool)
    np.put_along_axis(taken, np.repeat(feature, 2**size, axis=1), _subsets(size)[None], axis=2)
    return np.where(taken, rows[which, None], own[which, None]).reshape(-1, rows.shape[1])


def _subsets(size: int) -> Flags:
    """(2**size, size) members of each subset."""
    return (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(bool)


def _exact(which: Integers, size: int, feature: Integers, outputs: Array, split: Split) -> None:
    """Fill in rows with so many changes, of (n, size) features, by the (n, 2**size) outputs of all combinations."""
    subsets, line = _subsets(size), np.arange(len(which))
    for place in range(size):
        without = np.flatnonzero(~subsets[:, place])
        n_taken = subsets[without].sum(axis=1).tolist()
        weight = np.array([factorial(n) * factorial(size - n - 1) for n in n_taken]) / factorial(size)
        gained = outputs[:, without + (1 << place)] - outputs[:, without]
        split.shares[which, feature[:, place]] = gained @ weight
    reached, sign = np.zeros(len(which), dtype=np.int64), np.sign(outputs[:, -1] - outputs[:, 0])
    for step in range(1, size + 1):
        options = reached[:, None] | (1 << np.arange(size))
        worth = np.where(options == reached[:, None], -np.inf, sign[:, None] * outputs[line[:, None], options])
        best = worth.argmax(axis=1)
        reached |= 1 << best
        split.order[which, feature[line, best]] = step
        split.path[which, feature[line, best]] = outputs[line, reached]


def _sampled(one: int, row: Array, own: Array, key: Unsigned, value: Value, split: Split) -> None:
    """Go random ways from a row to the changed one, each there and back; the order follows the shares."""
    features = np.flatnonzero(~same(row, own))
    size = len(features)
    counters = np.arange(N_ORDERS * size, dtype=np.uint64).reshape(N_ORDERS, size)
    ways = np.argsort(ORDERS.bits(key, counters)[0], axis=1)
    rank = np.argsort(np.concatenate([ways, ways[:, ::-1]]), axis=1)
    taken = np.arange(size + 1)[None, :, None] > rank[:, None, :]
    outputs = value(*_mixed(one, row, own, features, taken.reshape(-1, size))).reshape(len(rank), size + 1)
    share = np.take_along_axis(np.diff(outputs, axis=1), rank, axis=1).mean(axis=0)
    order = np.argsort(-(np.sign(share.sum()) or 1.0) * share, kind="stable")
    steps = np.arange(1, size + 1)[:, None] > np.argsort(order)
    split.shares[one, features] = share
    split.order[one, features[order]] = np.arange(1, size + 1)
    split.path[one, features[order]] = value(*_mixed(one, row, own, features, steps))


def _mixed(one: int, row: Array, own: Array, features: Integers, taken: Flags) -> tuple[Array, Integers]:
    """A row with some of its changes, for each line of (M, size) flags."""
    mixed = np.tile(own, (len(taken), 1))
    mixed[:, features] = np.where(taken, row[features], own[features])
    return mixed, np.full(len(taken), one)
