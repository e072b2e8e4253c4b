"""Flips become as small as they can be: no change that can be taken back, and none larger than it has to be."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xcid._kernels.arrays import same
from xcid.records import Array, Flags, Integers
from xcid.whatif.evaluator import Evaluator, Found

SECTIONS, ROUNDS = 6, 3  # of the way back to the row's own number
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
        can = _taken_back(evaluator, rows, flips.owner, open_[line], alone) > 0
        worth = np.full(moved.shape, -np.inf)
        at = line[can], feature[can]
        worth[at] = sign[open_[line[can]]] * evaluator.search_space.gaps(rows[open_], own)[at]
        place, count = np.argsort(np.argsort(-worth, axis=1, kind="stable"), axis=1), (worth > -np.inf).sum(axis=1)
        changed = np.flatnonzero(count)
        size = _most_at_once(evaluator, rows, flips.owner, open_[changed], place[changed], count[changed])
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
        nearer = _nearer_to_usual(evaluator, rows[open_], found.owner[open_])
        changed = ~same(nearer, rows[open_]).all(axis=1)
        open_ = open_[changed]
        part = replace(found[open_], rows=nearer[changed])
        rows[open_] = prune(evaluator, part, largest_first[open_]).rows
    return replace(found, rows=rows, distance=evaluator.distance(rows, found.owner))


def _nearer_to_usual(evaluator: Evaluator, rows: Array, owner: Integers) -> Array:
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


def _taken_back(evaluator: Evaluator, rows: Array, owner: Integers, which: Integers, back: Flags) -> Array:
    """(M,) gains of some rows when they have (M, f) cells of their own again."""
    return evaluator.gain(np.where(back, evaluator.own[owner[which]], rows[which]), owner[which])


def _most_at_once(
    evaluator: Evaluator, rows: Array, owner: Integers, which: Integers, place: Integers, count: Integers
) -> Integers:
    """(M,) how many of the first (M,) changes of some rows can be taken back together, by halves of their number."""
    most = np.ones(len(which), dtype=np.int64)
    sizes = [(np.flatnonzero(count >= 2**power), power) for power in range(1, int(count.max(initial=1)).bit_length())]
    tried = [(at, np.minimum(count[at], -(-count[at] // 2 ** (power - 1)))) for at, power in sizes]
    if tried:
        line, size = (np.concatenate(part) for part in zip(*tried, strict=True))
        found = _taken_back(evaluator, rows, owner, which[line], place[line] < size[:, None])
        np.maximum.at(most, line[found > 0], size[found > 0])
    return most


def refine(evaluator: Evaluator, flips: Found) -> Found:
    """Move each changed number back towards the row's own as far as the flip lasts, the largest change first."""
    search_space, own = evaluator.search_space, evaluator.own[flips.owner]
    rows = flips.rows.copy()
    numbers = ~search_space.subject.features.space.discrete & ~np.isnan(own) & ~same(rows, own)
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
        points = _on_lattice(evaluator, points, feature, near, far, owner[at])
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


def _on_lattice(
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
