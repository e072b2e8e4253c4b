"""What each change contributes: Shapley shares of the change of the output, and the order in which changes work."""

from __future__ import annotations

from collections.abc import Callable
from math import factorial

import numpy as np

from xcid._kernels.arrays import same
from xcid._kernels.random import ORDERS
from xcid.records import Array, Flags, Integers, Unsigned

EXACT = 10  # changes whose combinations are all asked about
N_ORDERS = 64  # random orders of more changes, each there and back


def shares(
    rows: Array, own: Array, keys: Unsigned, value: Callable[[Array, Integers], Array]
) -> tuple[Array, Integers, Array]:
    """(N, f) shares of the change of the output from (N, f) own rows to changed rows, the order of the changes, a path.

    ``value(rows (M, f), which (M,)) -> (M,)`` gives the output of mixtures of some of them. The order counts from 1;
    0 stands for features that do not change. First comes the change that does most by itself, then the one that does
    most after it, and so on. The path has the output after each change in this order, NaN for other features.
    """
    moved = ~same(rows, own)
    found, order, path = np.zeros(rows.shape), np.zeros(rows.shape, dtype=np.int64), np.full(rows.shape, np.nan)
    sizes = moved.sum(axis=1)
    for size in np.unique(sizes[sizes > 0]).tolist():
        which = np.flatnonzero(sizes == size)
        if size <= EXACT:
            _exact(which, size, rows, own, moved, value, found, order, path)
        else:
            _sampled(which, rows, own, moved, keys, value, found, order, path)
    return found, order, path


def _exact(
    which: Integers,
    size: int,
    rows: Array,
    own: Array,
    moved: Flags,
    value: Callable[[Array, Integers], Array],
    found: Array,
    order: Integers,
    path: Array,
) -> None:
    """Ask about every combination of the changes of rows with so many of them."""
    feature = np.nonzero(moved[which])[1].reshape(-1, size)
    subsets = (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(bool)
    taken = np.zeros((len(which), 2**size, rows.shape[1]), dtype=bool)
    np.put_along_axis(taken, np.broadcast_to(feature[:, None], (len(which), 2**size, size)), subsets[None], axis=2)
    mixed = np.where(taken, rows[which, None], own[which, None]).reshape(-1, rows.shape[1])
    outputs = value(mixed, np.repeat(which, 2**size)).reshape(-1, 2**size)
    n_taken, at = subsets.sum(axis=1), np.arange(2**size)
    for place in range(size):
        without = at[~subsets[:, place]]
        weight = np.array([factorial(int(s)) * factorial(size - int(s) - 1) for s in n_taken[without]]) / factorial(
            size
        )
        gained = outputs[:, without + (1 << place)] - outputs[:, without]
        found[which, feature[:, place]] = gained @ weight
    reached, sign = np.zeros(len(which), dtype=np.int64), np.sign(outputs[:, -1] - outputs[:, 0])
    line = np.arange(len(which))
    for step in range(1, size + 1):
        options = reached[:, None] | (1 << np.arange(size))
        worth = np.where(options == reached[:, None], -np.inf, sign[:, None] * outputs[line[:, None], options])
        best = worth.argmax(axis=1)
        order[which, feature[line, best]] = step
        reached |= 1 << best
        path[which, feature[line, best]] = outputs[line, reached]


def _sampled(
    which: Integers,
    rows: Array,
    own: Array,
    moved: Flags,
    keys: Unsigned,
    value: Callable[[Array, Integers], Array],
    found: Array,
    order: Integers,
    path: Array,
) -> None:
    """Go random ways from the row to the changed one, each there and back; the order follows the shares."""
    for one in which:
        features = np.flatnonzero(moved[one])
        size = len(features)
        counters = np.arange(N_ORDERS * size, dtype=np.uint64).reshape(N_ORDERS, size)
        ways = np.argsort(ORDERS.bits(keys[one : one + 1], counters)[0], axis=1)
        ways = np.concatenate([ways, ways[:, ::-1]])
        rank = np.argsort(ways, axis=1)
        taken = np.arange(size + 1)[None, :, None] > rank[:, None, :]
        mixed = np.repeat(own[one][None], len(ways) * (size + 1), axis=0)
        mixed[:, features] = np.where(taken.reshape(-1, size), rows[one, features], own[one, features])
        outputs = value(mixed, np.full(len(mixed), one)).reshape(len(ways), size + 1)
        gained = np.diff(outputs, axis=1)
        share = np.take_along_axis(gained, rank, axis=1).mean(axis=0)
        found[one, features] = share
        sign = np.sign(share.sum()) or 1.0
        ordered = features[np.argsort(-sign * share, kind="stable")]
        order[one, ordered] = np.arange(1, size + 1)
        steps = np.repeat(own[one][None], size, axis=0)
        for step, at in enumerate(ordered):
            steps[step:, at] = rows[one, at]
        path[one, ordered] = value(steps, np.full(size, one))
