"""Flips become as small as they can be, and each change that is left gets its share of what the output changes by."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import factorial
from typing import NamedTuple, TypeAlias

import numpy as np

from xcid._kernels.arrays import same
from xcid._kernels.random import ORDERS
from xcid.records import Array, Flags, Integers, Unsigned
from xcid.whatif.evaluator import Evaluator, Found

SECTIONS, ROUNDS = 6, 4  # of the way back to the row's own number
MOST_MOVED = 12  # numbers of a flip that are moved back
POINTS = 20  # between the usual value of a missing number and the one that fills it, where a closer one is looked for


def prune(evaluator: Evaluator, flips: Found, largest_first: Flags) -> Found:
    """Take back changes until each that is left is needed: the largest first, or for other (N,) flips the smallest.

    In each round every change is taken back by itself; of those that can be, as many of the first as can be at once.
    """
    rows, open_ = flips.rows.copy(), np.arange(len(flips.rows))
    sign = np.where(largest_first, 1.0, -1.0)
    while open_.size:
        own = evaluator.own[flips.owner[open_]]
        moved = ~same(rows[open_], own)
        line, feature = np.nonzero(moved & (moved.sum(axis=1) > 1)[:, None])
        alone = np.arange(moved.shape[1]) == feature[:, None]
        can = _gain_without(evaluator, rows, flips.owner, open_[line], alone) > 0
        worth = np.full(moved.shape, -np.inf)
        at = line[can], feature[can]
        worth[at] = sign[open_[line[can]]] * evaluator.search_space.gaps(rows[open_], own)[at]
        place, count = np.argsort(np.argsort(-worth, axis=1, kind="stable"), axis=1), (worth > -np.inf).sum(axis=1)
        changed = np.flatnonzero(count)
        size = _count_at_once(evaluator, rows, flips.owner, open_[changed], place[changed], count[changed])
        open_ = open_[changed]
        rows[open_] = np.where(place[changed] < size[:, None], own[changed], rows[open_])
    return replace(flips, rows=rows, distance=evaluator.distance(rows, flips.owner))


def prune_and_refill(evaluator: Evaluator, flips: Found, largest_first: Flags) -> Found:
    """Prune flips, and bring numbers that fill missing cells as near to the usual ones as the flip allows.

    Either may make room for the other, so both go on with the lines that changed until there are none.
    """
    found = prune(evaluator, flips, largest_first)
    rows, open_ = found.rows.copy(), np.arange(len(found.rows))
    while open_.size:
        nearer = _bring_nearer_to_usual(evaluator, rows[open_], found.owner[open_])
        changed = ~same(nearer, rows[open_]).all(axis=1)
        open_ = open_[changed]
        part = replace(found[open_], rows=nearer[changed])
        rows[open_] = prune(evaluator, part, largest_first[open_]).rows
    return replace(found, rows=rows, distance=evaluator.distance(rows, found.owner))


def _bring_nearer_to_usual(evaluator: Evaluator, rows: Array, owner: Integers) -> Array:
    """Rows whose numbers in place of missing ones are the closest to usual that still flip, of some points between."""
    search_space, made = evaluator.search_space, rows.copy()
    filled = ~search_space.subject.features.space.discrete & np.isnan(evaluator.own[owner]) & ~np.isnan(rows)
    for at in np.flatnonzero(filled.any(axis=0)).tolist():
        line = np.flatnonzero(filled[:, at])
        low, high = (end[:, None] for end in search_space.limits(evaluator.own[owner[line]], at))
        usual, far = search_space.usual[at], made[line, at, None]
        points = search_space.fit_values(usual + np.arange(POINTS) / POINTS * (far - usual), at, low, high)
        is_closer = (points >= low) & (points <= high) & (np.abs(points - usual) < np.abs(far - usual))
        is_closer[:, 1:] &= points[:, 1:] != points[:, :-1]
        a, b = np.nonzero(is_closer)
        trial = made[line[a]]
        trial[:, at] = points[a, b]
        flips = np.zeros(points.shape, dtype=bool)
        flips[a, b] = evaluator.gain(trial, owner[line[a]]) > 0
        better = np.flatnonzero(flips.any(axis=1))
        made[line[better], at] = points[better, flips[better].argmax(axis=1)]
    return made


def _gain_without(evaluator: Evaluator, rows: Array, owner: Integers, which: Integers, back: Flags) -> Array:
    """(M,) gains of some rows when they have (M, f) cells of their own again."""
    return evaluator.gain(np.where(back, evaluator.own[owner[which]], rows[which]), owner[which])


def _count_at_once(
    evaluator: Evaluator, rows: Array, owner: Integers, which: Integers, place: Integers, count: Integers
) -> Integers:
    """(M,) how many of the first (M,) changes of some rows can be taken back together, by halves of their number."""
    most = np.ones(len(which), dtype=np.int64)
    sizes = [(np.flatnonzero(count >= 2**power), power) for power in range(1, int(count.max(initial=1)).bit_length())]
    tried = [(at, np.minimum(count[at], -(-count[at] // 2 ** (power - 1)))) for at, power in sizes]
    if tried:
        line, size = (np.concatenate(part) for part in zip(*tried, strict=True))
        found = _gain_without(evaluator, rows, owner, which[line], place[line] < size[:, None])
        np.maximum.at(most, line[found > 0], size[found > 0])
    return most


def refine(evaluator: Evaluator, flips: Found) -> Found:
    """Move each changed number back towards the row's own as far as the flip lasts, the largest change first."""
    search_space, own = evaluator.search_space, evaluator.own[flips.owner]
    rows = flips.rows.copy()
    numbers = ~search_space.subject.features.space.discrete | search_space.ordered
    numbers = numbers & ~np.isnan(own) & ~same(rows, own)
    order = np.argsort(-np.where(numbers, search_space.gaps(rows, own), -1.0), axis=1, kind="stable")
    for turn in range(min(MOST_MOVED, int(numbers.sum(axis=1).max(initial=0)))):
        at = np.flatnonzero(numbers.sum(axis=1) > turn)
        _move_back(evaluator, rows, flips.owner, at, order[at, turn])
    return replace(flips, rows=rows, distance=evaluator.distance(rows, flips.owner))


def _move_back(evaluator: Evaluator, rows: Array, owner: Integers, at: Integers, feature: Integers) -> None:
    """Move one number of each of some rows; between its own value, which does not flip, and one that does."""
    line = np.arange(len(at))
    near, far = evaluator.own[owner[at], feature], rows[at, feature]
    for _ in range(ROUNDS):
        parts = np.arange(1, SECTIONS) / SECTIONS
        points = near[:, None] + parts * (far - near)[:, None]
        points = _fit_points(evaluator, points, feature, near, far, owner[at])
        useful = (points != near[:, None]) & (points != far[:, None]) & ~np.isnan(points)
        useful[:, 1:] &= points[:, 1:] != points[:, :-1]
        a, b = np.nonzero(useful)
        if not a.size:
            break
        trial = rows[at[a]]
        trial[np.arange(len(a)), feature[a]] = points[a, b]
        found = np.full(points.shape, -np.inf)
        found[a, b] = evaluator.gain(trial, owner[at[a]])
        flips = found > 0
        first = np.where(flips.any(axis=1), flips.argmax(axis=1), SECTIONS - 1)
        better = flips.any(axis=1)
        place = np.minimum(first, SECTIONS - 2)
        far = np.where(better, points[line, place], far)
        tried = np.where(useful & (np.arange(SECTIONS - 1) < first[:, None]), points, np.nan)
        last = np.array([row[~np.isnan(row)][-1] if not np.isnan(row).all() else np.nan for row in tried])
        near = np.where(np.isnan(last), near, last)
        rows[at, feature] = far


def _fit_points(
    evaluator: Evaluator, points: Array, feature: Integers, near: Array, far: Array, owner: Integers
) -> Array:
    """Points on the lattice of their features, within the plausible values; NaN where there are none."""
    made, search_space = np.full(points.shape, np.nan), evaluator.search_space
    for at in np.unique(feature):
        part = np.flatnonzero(feature == at)
        low, high = search_space.limits(evaluator.own[owner[part]], int(at))
        low, high = np.fmax(low, np.fmin(near, far)[part]), np.fmin(high, np.fmax(near, far)[part])
        fitted = search_space.fit_values(points[part], int(at), low[:, None], high[:, None])
        fits = (fitted >= low[:, None]) & (fitted <= high[:, None])
        made[part] = np.where(fits, fitted, np.nan)
    return made


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
    mixed = [_combine_changes(which, size, rows, own, moved) for size, which in enumerate(parts, start=1)]
    which = np.concatenate([np.repeat(part, 2**size) for size, part in enumerate(parts, start=1)])
    outputs = value(np.concatenate(mixed), which) if len(which) else np.zeros(0)
    ends = np.cumsum([len(part) for part in mixed])
    for size, (part, end) in enumerate(zip(parts, ends, strict=True), start=1):
        answers = outputs[end - len(part) * 2**size : end].reshape(-1, 2**size)
        _share_exactly(part, size, np.nonzero(moved[part])[1].reshape(-1, size), answers, split)
    for one in np.flatnonzero(sizes > EXACT).tolist():
        _share_by_samples(one, rows[one], own[one], keys[one : one + 1], value, split)
    return split


def _combine_changes(which: Integers, size: int, rows: Array, own: Array, moved: Flags) -> Array:
    """Every combination of the changes of rows with so many of them, row after row."""
    feature = np.nonzero(moved[which])[1].reshape(-1, 1, size)
    taken = np.zeros((len(which), 2**size, rows.shape[1]), dtype=bool)
    np.put_along_axis(taken, np.repeat(feature, 2**size, axis=1), _list_subsets(size)[None], axis=2)
    return np.where(taken, rows[which, None], own[which, None]).reshape(-1, rows.shape[1])


def _list_subsets(size: int) -> Flags:
    """(2**size, size) members of each subset."""
    return (np.arange(2**size)[:, None] >> np.arange(size) & 1).astype(bool)


def _share_exactly(which: Integers, size: int, feature: Integers, outputs: Array, split: Split) -> None:
    """Fill in rows with so many changes, of (n, size) features, by the (n, 2**size) outputs of all combinations."""
    subsets, line = _list_subsets(size), np.arange(len(which))
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


def _share_by_samples(one: int, row: Array, own: Array, key: Unsigned, value: Value, split: Split) -> None:
    """Go random ways from a row to the changed one, each there and back; the order follows the shares."""
    features = np.flatnonzero(~same(row, own))
    size = len(features)
    counters = np.arange(N_ORDERS * size, dtype=np.uint64).reshape(N_ORDERS, size)
    ways = np.argsort(ORDERS.bits(key, counters)[0], axis=1)
    rank = np.argsort(np.concatenate([ways, ways[:, ::-1]]), axis=1)
    taken = np.arange(size + 1)[None, :, None] > rank[:, None, :]
    outputs = value(*_mix_rows(one, row, own, features, taken.reshape(-1, size))).reshape(len(rank), size + 1)
    share = np.take_along_axis(np.diff(outputs, axis=1), rank, axis=1).mean(axis=0)
    order = np.argsort(-(np.sign(share.sum()) or 1.0) * share, kind="stable")
    steps = np.arange(1, size + 1)[:, None] > np.argsort(order)
    split.shares[one, features] = share
    split.order[one, features[order]] = np.arange(1, size + 1)
    split.path[one, features[order]] = value(*_mix_rows(one, row, own, features, steps))


def _mix_rows(one: int, row: Array, own: Array, features: Integers, taken: Flags) -> tuple[Array, Integers]:
    """A row with some of its changes, for each line of (M, size) flags."""
    mixed = np.tile(own, (len(taken), 1))
    mixed[:, features] = np.where(taken, row[features], own[features])
    return mixed, np.full(len(taken), one)
