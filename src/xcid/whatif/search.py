"""The search for flips of a block of rows: single changes, then combinations of the best, then real rows.

They are made small, and rows with changes that usually hurt are searched again for others that go the usual way. All
rows of a block are evaluated together: a few large calls of the model, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from xcid._kernels.random import content_keys
from xcid.records import Array, Flags, Integers
from xcid.whatif.choice import WITH_REAL
from xcid.whatif.evaluator import Evaluator, Found, join_found, pick_one_of_each_set, take_over_real_rows
from xcid.whatif.proof import Asked, prove
from xcid.whatif.pruning import prune, prune_and_refill, refine
from xcid.whatif.undeclared import Ways, go_against, restrict

KEPT, MOST_SLOTS = 12, 240  # values of a feature, and of all, that combinations are made of
PAIRS, MORE = 512, 64  # combinations of two changes, and of more, that are evaluated
DEEPEST = 8  # changes in a combination; beyond that real rows are taken over
BEAM = 8  # combinations that are extended
POOL = 16  # flips of a row that are worked on further, by different sets of features


class Singles(NamedTuple):
    """Single changes that do not flip: their features (K,), and (n, K) values, gains (-inf for none) and gaps.

    Those that are not ``allowed`` (n, K) may still be parts of combinations that are.
    """

    feature: Integers
    value: Array
    gain: Array
    gap: Array
    allowed: Flags


def search_flips(evaluator: Evaluator, start: Array, k: int) -> tuple[Found, Found]:
    """Flips of the rows, of different sets of features, and the best that was reached; ``start`` (n,) are own gains."""
    singles, flips = _try_singles(evaluator)
    parts = [flips]
    best = _measure_nearest(evaluator, flips)
    beam, found = _try_pairs(evaluator, singles, start, best)
    parts.append(found)
    beams = [beam]
    for _ in range(3, DEEPEST + 1):
        lacking = np.setdiff1d(np.arange(len(start)), join_found(parts).owner)
        if not lacking.size:
            break
        beam, found = _extend_beam(evaluator, singles, beam, start, lacking)
        parts.append(found)
        beams.append(beam)
    have = join_found(parts)
    lacking = np.setdiff1d(np.arange(len(start)), have.owner)
    parts.append(take_over_real_rows(evaluator, lacking)[0])
    return _pool_flips(evaluator, join_found(parts), k), _find_best_missed(evaluator, singles, join_found(beams), start)


def _try_singles(evaluator: Evaluator) -> tuple[Singles, Found]:
    """Evaluate every single change to plausible values."""
    search_space, own = evaluator.search_space, evaluator.own
    like, tried, slots = search_space.like(own), [], np.zeros(own.shape[1], dtype=np.int64)
    for at in np.flatnonzero(~search_space.fixed):
        values, there = search_space.choices(own, int(at), like)
        owner, place = np.nonzero(there)
        slots[at] = min(_count_kept_values(own.shape[1]), values.shape[1])
        value = values[owner, place]
        gap = search_space.gaps(value, own[owner, at], int(at))
        tried.append((np.full(len(owner), at), owner, value, gap))
    feature, owner, value, gap = (np.concatenate(part) for part in zip(*tried, strict=True))
    rows = own[owner]
    rows[np.arange(len(rows)), feature] = value
    gain, allowed = evaluator.gain_and_allowed(rows, owner)
    flips = allowed & (gain > 0)
    singles = _keep_best_values(len(own), slots, (feature, owner, value, gain, gap, allowed), np.flatnonzero(~flips))
    return singles, Found(rows[flips], owner[flips], gain[flips], evaluator.distance(rows[flips], owner[flips]))


def _count_kept_values(n_features: int) -> int:
    """How many values of a feature combinations are made of: fewer where features are many."""
    return max(1, min(KEPT, MOST_SLOTS // n_features))


def _keep_best_values(n: int, slots: Integers, tried: tuple[Any, ...], stays: Integers) -> Singles:
    """Of each feature of a row the values that help most without flipping by themselves, (f,) ``slots`` of them."""
    feature, owner, value, gain, gap, allowed = (part[stays] for part in tried)
    order = np.lexsort((gap, -gain, feature, owner))
    cell = (owner * len(slots) + feature)[order]
    place = np.arange(len(cell)) - np.searchsorted(cell, cell)
    kept = place < slots[feature[order]]
    order, place = order[kept], place[kept]
    at = owner[order], (np.cumsum(slots) - slots)[feature[order]] + place
    made = [np.full((n, slots.sum()), fill) for fill in (np.nan, -np.inf, np.inf, False)]
    for table, part in zip(made, (value, gain, gap, allowed), strict=True):
        table[at] = part[order]
    return Singles(np.repeat(np.arange(len(slots)), slots), made[0], made[1], made[2], made[3].astype(bool))


def _measure_nearest(evaluator: Evaluator, flips: Found) -> Array:
    best = np.full(len(evaluator.own), np.inf)
    np.minimum.at(best, flips.owner, flips.distance)
    return best


def _try_pairs(evaluator: Evaluator, singles: Singles, start: Array, best: Array) -> tuple[Found, Found]:
    """Evaluate pairs of changes: those that should help most, and the nearest of those that should flip."""
    first, second = np.triu_indices(len(singles.feature), 1)
    apart = singles.feature[first] != singles.feature[second]
    first, second = first[apart], second[apart]
    expected = singles.gain[:, first] + singles.gain[:, second] - start[:, None]
    gap = singles.gap[:, first] + singles.gap[:, second]
    rows, places = _choose_promising(expected, gap, best, PAIRS)
    made = evaluator.own[rows]
    line = np.arange(len(rows))
    for part in (first, second):
        made[line, singles.feature[part[places]]] = singles.value[rows, part[places]]
    return _evaluate(evaluator, made, rows)


def _choose_promising(expected: Array, gap: Array, best: Array, count: int) -> tuple[Integers, Integers]:
    """Which combinations to evaluate: half by what they promise, half the nearest that promise to flip.

    In the second half, those that are farther than a flip that is known are of no use.
    """
    there = expected > -np.inf
    half = min(count // 2, expected.shape[1])
    if not half:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    chosen = np.zeros(expected.shape, dtype=bool)
    line = np.arange(len(expected))[:, None]
    near = np.where(there & (expected > 0) & (gap < best[:, None]), gap, np.inf)
    for badness in (np.where(there, -expected, np.inf), near):
        part = np.argpartition(badness, half - 1, axis=1)[:, :half]
        chosen[line, part] |= np.take_along_axis(badness, part, axis=1) < np.inf
    rows, places = np.nonzero(chosen)
    return rows, places


def _evaluate(evaluator: Evaluator, made: Array, owner: Integers) -> tuple[Found, Found]:
    """Evaluate combinations: the best of those that do not flip, which may be extended, and those that do."""
    gain = evaluator.gain(made, owner)
    distance = evaluator.search_space.gaps(made, evaluator.own[owner]).sum(axis=1)
    found = Found(made, owner, gain, distance)
    flips = gain > 0
    stays = found[~flips & (gain > -np.inf)]
    order = np.lexsort((-stays.gain, stays.owner))
    stays = stays[order]
    first = np.searchsorted(stays.owner, stays.owner)
    beam = stays[np.arange(len(stays.owner)) - first < BEAM]
    flipped = found[flips]
    return beam, replace(flipped, distance=evaluator.distance(flipped.rows, flipped.owner))


def _extend_beam(
    evaluator: Evaluator, singles: Singles, beam: Found, start: Array, lacking: Integers
) -> tuple[Found, Found]:
    """Evaluate combinations of the beam with one more change, for rows that have no flip yet."""
    members = beam[np.isin(beam.owner, lacking)]
    moved = evaluator.find_moved(members)
    free = ~moved[:, singles.feature] & (singles.gain[members.owner] > -np.inf)
    expected = np.where(free, members.gain[:, None] + singles.gain[members.owner] - start[members.owner, None], -np.inf)
    line, single = np.nonzero(expected > -np.inf)
    order = np.lexsort((-expected[line, single], members.owner[line]))
    line, single = line[order], single[order]
    owner = members.owner[line]
    few = np.arange(len(owner)) - np.searchsorted(owner, owner) < BEAM * MORE // 2  # the same may come from several
    line, single, owner = line[few], single[few], owner[few]
    made = members.rows[line]
    made[np.arange(len(made)), singles.feature[single]] = singles.value[owner, single]
    _, first = np.unique(content_keys(np.column_stack([owner, made]), seed=0), return_index=True)
    first.sort()
    made, owner = made[first], owner[first]
    few = np.arange(len(owner)) - np.searchsorted(owner, owner) < MORE
    return _evaluate(evaluator, made[few], owner[few])


def _find_best_missed(evaluator: Evaluator, singles: Singles, missed: Found, start: Array) -> Found:
    """For each row the changed row that comes nearest to its goal; the row itself where nothing helps."""
    n = len(start)
    parts = [Found(evaluator.own.copy(), np.arange(n), start, np.zeros(n)), missed]
    if len(singles.feature):
        gain = np.where(singles.allowed, singles.gain, -np.inf)
        line = np.flatnonzero(gain.max(axis=1) > -np.inf)
        top, rows = gain.argmax(axis=1)[line], evaluator.own[line]
        rows[np.arange(len(line)), singles.feature[top]] = singles.value[line, top]
        parts.append(Found(rows, line, gain[line, top], singles.gap[line, top]))
    everything = join_found(parts)
    order = np.lexsort((everything.distance, -everything.gain, everything.owner))
    ordered = everything[order]
    return ordered[np.searchsorted(ordered.owner, np.arange(n))]


def _pool_flips(evaluator: Evaluator, flips: Found, k: int) -> Found:
    """For each row the nearest flip of each set of features: the smallest sets, and the nearest ones."""
    moved = evaluator.find_moved(flips)
    flips = flips[pick_one_of_each_set(moved, flips.owner, flips.distance)]
    moved = evaluator.find_moved(flips)
    size, count = moved.sum(axis=1), max(POOL, 2 * k)
    chosen: Flags = np.zeros(len(size), dtype=bool)
    for keys in ((flips.distance, size, flips.owner), (flips.distance, flips.owner)):
        order = np.lexsort(keys)
        place = np.arange(len(order)) - np.searchsorted(flips.owner[order], flips.owner[order])
        chosen[order[place < -(-count // 2)]] = True
    return flips[chosen]


ALONG = Asked(work=1e8)  # of the search for what goes the usual way


def finish(evaluator: Evaluator, flips: Found, k: int) -> tuple[Found, Found]:
    """Make flips as small as they can be, and for each row the one that is nearest to a real row.

    Of all flips with the same features the nearest stays. The likeliest takes over from a real row what makes the
    difference: it loses its smallest changes first, and its numbers stay where the real row has them.
    """
    many = evaluator.find_moved(flips).sum(axis=1) > 2  # pairs are made of changes that do not flip alone
    flips = join_found([flips[~many], prune(evaluator, flips[many], np.ones(many.sum(), dtype=bool))])
    near = refine(evaluator, flips)
    taken, donors = take_over_real_rows(evaluator, np.arange(len(evaluator.own) if k >= WITH_REAL else 0))
    is_near = np.arange(len(near.owner) + len(taken.owner)) < len(near.owner)
    both = prune_and_refill(evaluator, join_found([near, taken]), is_near)
    near, taken = both[is_near], both[~is_near]
    order = np.lexsort((evaluator.search_space.metric.between(taken.rows, donors), taken.owner))
    first = order[np.unique(taken.owner[order], return_index=True)[1]]
    return near[pick_one_of_each_set(evaluator.find_moved(near), near.owner, near.distance)], taken[first]


def search_along(
    evaluator: Evaluator, ways: Ways, flips: Found, likeliest: Found, asked: tuple[int, float | None]
) -> tuple[Array, Found, Found, Array]:
    """The (n, f) ways that are wanted of numbers, and for rows with changes against them flips without such, too.

    Such a row is searched by the ways of all numbers, whichever rows are beside it. Last stands what no (n,) changes
    that go along are nearer than, where that is proved; where the nearest goes along itself, there is nothing to prove.
    What is ``asked`` are k lines within a time limit.
    """
    both, (k, time_limit) = join_found([flips, likeliest]), asked
    wanted = ways.find_wanted(evaluator, np.flatnonzero(evaluator.find_moved(both).any(axis=0)))
    is_against, proved = go_against(evaluator, both, wanted), np.zeros(len(evaluator.own))
    if not is_against.any():
        return wanted, flips, likeliest, proved
    wanted = ways.find_wanted(evaluator)
    along, taken = [flips], [likeliest[~is_against[len(flips.owner) :]]]
    is_open = _find_contrary_best(evaluator, flips, wanted)
    for rows, part in restrict(evaluator, wanted, np.unique(both.owner[is_against])):
        found, _ = search_flips(part, part.goal.gain(part.outputs, part.outputs), k)
        near, real = finish(part, found, k)
        evaluator.n_evaluations[rows] += part.n_evaluations
        along.append(replace(near, owner=rows[near.owner]))
        taken.append(replace(real, owner=rows[real.owner]))
        some = np.flatnonzero(is_open[rows])
        mine = near[np.isin(near.owner, some)]
        lines = part.of_rows(some)
        made = prove(lines, replace(mine, owner=np.searchsorted(some, mine.owner)), time_limit, ALONG)
        evaluator.n_evaluations[rows[some]] += lines.n_evaluations
        along.append(replace(made.better, owner=rows[some[made.better.owner]]))
        proved[rows[some]] = made.nearest
    real = join_found([*taken, likeliest])  # of each row the first
    first = np.unique(real.owner, return_index=True)[1]
    return wanted, join_found(along), real[first], proved


def _find_contrary_best(evaluator: Evaluator, flips: Found, wanted: Array) -> Flags:
    """(n,) rows of which the nearest flip, or the best of the fewest changes, goes against a way."""
    is_against, size = go_against(evaluator, flips, wanted), evaluator.find_moved(flips).sum(axis=1)
    found: Flags = np.zeros(len(evaluator.own), dtype=bool)
    for keys in ((flips.distance, flips.owner), (flips.distance, is_against, size, flips.owner)):
        order = np.lexsort(keys)
        first = order[np.unique(flips.owner[order], return_index=True)[1]]
        found[flips.owner[first]] |= is_against[first]
    return found
