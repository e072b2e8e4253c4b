"""Real rows: how near counterfactuals are to them, in numbers and in words, and what rows may take over from them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import blocks, thinned
from xcid.records import Array, Flags, Integers, Texts
from xcid.whatif.evaluator import Evaluator, Found, Goal
from xcid.whatif.search_space import SearchSpace

N_MEASURED = 128  # reference rows whose distance to the next one says what is usual
USUAL = 0.9  # of the reference rows are nearer to another one than a row that is like them
MOST_GROUPS = 8  # of reference rows with different wanted outputs that are measured by themselves
LIKE_REAL, RARE_ROW, UNLIKE = "like real rows", "rare among real rows", "unlike any reference row"
NO_SUCH_ROW = "no reference row has this output"
MOST_CELLS = 2**21
TRIED, KEPT = 12, 2  # real rows that are evaluated, and of those that flip, how many are worked on


class Nearness(NamedTuple):
    """How far (m,) rows are from the nearest reference row with the wanted output, and the same in words."""

    distance: Array
    words: Texts


def measure_nearness(search_space: SearchSpace, goal: Goal, rows: Array, owner: Integers, outputs: Array) -> Nearness:
    """Compare (m, f) rows with the reference rows that reach the goal of their owner; the (n, k) outputs are of owners.

    Words compare the distance with those of such reference rows to their own next ones.
    """
    distance, words = np.full(len(rows), np.nan), np.full(len(rows), NO_SUCH_ROW)
    owners = np.unique(owner)
    parts = blocks(max(1, len(owners)), MOST_CELLS // len(search_space.donors))
    there = np.concatenate([find_reaching(search_space, goal, outputs[owners[part]]) for part in parts])
    _, first, which = np.unique(np.packbits(there, axis=1), axis=0, return_index=True, return_inverse=True)
    group = which.ravel()[np.searchsorted(owners, owner)]
    usual = _usual(search_space, search_space.donors)
    for at, line in enumerate(first):
        donors, mine = search_space.donors[there[line]], np.flatnonzero(group == at)
        if len(donors):
            distance[mine] = _nearest(search_space, rows[mine], donors)
            like, rare = _usual(search_space, donors) if len(first) <= MOST_GROUPS and len(donors) > 1 else usual
            words[mine] = np.where(distance[mine] <= rare, RARE_ROW, UNLIKE)
            words[mine] = np.where(distance[mine] <= like, LIKE_REAL, words[mine])
    return Nearness(distance, words)


def _usual(search_space: SearchSpace, donors: Array) -> tuple[float, float]:
    """How far 9 in 10 reference rows are from the next one, at most, and how far any is."""
    some = thinned(len(donors), N_MEASURED)
    between = search_space.metric.between(donors[some, None], donors[None])
    between[np.arange(len(some)), some] = np.inf
    nearest = between.min(axis=1)
    return float(np.quantile(nearest, USUAL)), float(nearest.max())


def find_reaching(search_space: SearchSpace, goal: Goal, outputs: Array) -> Flags:
    """(n, N) which reference rows have what is wanted of rows with (n, k) outputs."""
    n, n_donors = len(outputs), len(search_space.donors)
    there = goal.gain(np.tile(search_space.donor_outputs, (n, 1)), np.repeat(outputs, n_donors, axis=0)) > 0
    return there.reshape(n, n_donors)


def _nearest(search_space: SearchSpace, rows: Array, donors: Array) -> Array:
    parts = blocks(len(rows), MOST_CELLS // max(1, len(donors)))
    return np.concatenate([search_space.metric.between(rows[part, None], donors[None]).min(axis=1) for part in parts])


def take_over_real_rows(evaluator: Evaluator, rows: Integers) -> tuple[Found, Array]:
    """What some rows become when they take over all that the nearest real rows with the wanted output have.

    Given are those that flip, and (N, f) the real rows themselves.
    """
    owner, donors = _nearest_donors(evaluator, rows, TRIED)
    made = _become(evaluator, owner, donors)
    gain = evaluator.gain(made, owner)
    flips = np.flatnonzero(gain > 0)
    flips = flips[np.arange(len(flips)) - np.searchsorted(owner[flips], owner[flips]) < KEPT]
    found = Found(made[flips], owner[flips], gain[flips], evaluator.distance(made[flips], owner[flips]))
    return found, donors[flips]


def _nearest_donors(evaluator: Evaluator, rows: Integers, count: int) -> tuple[Integers, Array]:
    """The nearest real rows that reach the goal of some rows, with their owners."""
    search_space = evaluator.search_space
    owners, donors = [np.zeros(0, dtype=np.int64)], [search_space.donors[:0]]
    count = min(count, len(search_space.donors))
    for part in blocks(len(rows), MOST_CELLS // len(search_space.donors)):
        at = rows[part]
        distance = search_space.metric.between(evaluator.own[at, None], search_space.donors[None])
        distance = np.where(find_reaching(search_space, evaluator.goal, evaluator.outputs[at]), distance, np.inf)
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
        line, place = np.nonzero(np.take_along_axis(distance, nearest, axis=1) < np.inf)
        owners.append(at[line])
        donors.append(search_space.donors[nearest[line, place]])
    return np.concatenate(owners), np.concatenate(donors)


def _become(evaluator: Evaluator, owner: Integers, donors: Array) -> Array:
    """(N, f) donors as their owners may become them: within limits, and the own cell where it may not change."""
    search_space, own = evaluator.search_space, evaluator.own[owner]
    made, space = own.copy(), search_space.subject.features.space
    for at in np.flatnonzero(~search_space.fixed).tolist():
        low, high = search_space.limits(own, at)
        cells = donors[:, at]
        if space.discrete[at]:
            pool = space.distinct.values[: space.distinct.sizes[at], at]
            allowed = np.isin(cells, pool) & search_space.may_become(own[:, at], cells, at)
        else:
            lower, upper = search_space.lower[at], search_space.upper[at]
            allowed = (cells >= lower) & (cells <= upper)  # neither missing nor a code
            cells = search_space.fit_values(cells, at, low, high)
        allowed &= (cells >= low) & (cells <= high)
        made[:, at] = np.where(allowed, cells, own[:, at])
    return made
