"""Flips become as small as they can be: no change that can be taken back, and none larger than it has to be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xcid._kernels.arrays import same
from xcid.records import Array, Integers
from xcid.whatif.found import Found
from xcid.whatif.world import Asker

SECTIONS, ROUNDS = 6, 3  # of the way back to the row's own number


def pruned(asker: Asker, flips: Found, worth_of: Callable[[Array], Array] = np.positive) -> Found:
    """Take back changes, the farthest that can be first (or by another worth), until each that is left is needed."""
    rows, gain = flips.rows.copy(), flips.gain.copy()
    open_ = np.arange(len(rows))
    while open_.size:
        own = asker.own[flips.owner[open_]]
        moved = ~same(rows[open_], own)
        line, feature = np.nonzero(moved & (moved.sum(axis=1) > 1)[:, None])
        if not line.size:
            break
        trial = rows[open_[line]]
        trial[np.arange(len(trial)), feature] = own[line, feature]
        found = asker.gain(trial, flips.owner[open_[line]])
        gaps = asker.world.gaps(rows[open_], own)[line, feature]
        worth = np.where(found > 0, worth_of(gaps), -np.inf)
        order = np.lexsort((-worth, line))
        first = order[np.searchsorted(line[order], np.unique(line))]
        first = first[worth[first] > -np.inf]
        changed = open_[line[first]]
        rows[changed], gain[changed] = trial[first], found[first]
        open_ = changed
    return Found(rows, flips.owner, gain, asker.distance(rows, flips.owner))


def refined(asker: Asker, flips: Found) -> Found:
    """Move each changed number back towards the row's own as far as the flip lasts, the largest change first."""
    world, own = asker.world, asker.own[flips.owner]
    rows, gain = flips.rows.copy(), flips.gain.copy()
    numbers = ~world.subject.features.space.discrete & ~np.isnan(own) & ~same(rows, own)
    order = np.argsort(-np.where(numbers, world.gaps(rows, own), -1.0), axis=1, kind="stable")
    for turn in range(int(numbers.sum(axis=1).max(initial=0))):
        at = np.flatnonzero(numbers.sum(axis=1) > turn)
        _move_back(asker, rows, gain, flips.owner, at, order[at, turn])
    return Found(rows, flips.owner, gain, asker.distance(rows, flips.owner))


def _move_back(asker: Asker, rows: Array, gain: Array, owner: Integers, at: Integers, feature: Integers) -> None:
    """Move one number of each of some rows; between its own value, which does not flip, and one that does."""
    line = np.arange(len(at))
    near, far = asker.own[owner[at], feature], rows[at, feature]
    for _ in range(ROUNDS):
        parts = np.arange(1, SECTIONS) / SECTIONS
        points = near[:, None] + parts * (far - near)[:, None]
        points = _on_lattice(asker, points, feature, near, far, owner[at])
        useful = (points != near[:, None]) & (points != far[:, None]) & ~np.isnan(points)
        useful[:, 1:] &= points[:, 1:] != points[:, :-1]
        a, b = np.nonzero(useful)
        if not a.size:
            break
        trial = rows[at[a]]
        trial[np.arange(len(a)), feature[a]] = points[a, b]
        found = np.full(points.shape, -np.inf)
        found[a, b] = asker.gain(trial, owner[at[a]])
        flips = found > 0
        first = np.where(flips.any(axis=1), flips.argmax(axis=1), SECTIONS - 1)
        better = flips.any(axis=1)
        place = np.minimum(first, SECTIONS - 2)
        far = np.where(better, points[line, place], far)
        gain[at] = np.where(better, found[line, place], gain[at])
        asked = np.where(useful & (np.arange(SECTIONS - 1) < first[:, None]), points, np.nan)
        last = np.array([row[~np.isnan(row)][-1] if not np.isnan(row).all() else np.nan for row in asked])
        near = np.where(np.isnan(last), near, last)
        rows[at, feature] = far


def _on_lattice(asker: Asker, points: Array, feature: Integers, near: Array, far: Array, owner: Integers) -> Array:
    """Points on the lattice of their features, within the plausible values; NaN where there are none."""
    made, world = np.full(points.shape, np.nan), asker.world
    for at in np.unique(feature):
        part = np.flatnonzero(feature == at)
        low, high = world.limits(asker.own[owner[part]], int(at))
        low, high = np.fmax(low, np.fmin(near, far)[part]), np.fmin(high, np.fmax(near, far)[part])
        fitted = world.fitted(points[part], int(at), low[:, None], high[:, None])
        fits = (fitted >= low[:, None]) & (fitted <= high[:, None])
        made[part] = np.where(fits, fitted, np.nan)
    return made
