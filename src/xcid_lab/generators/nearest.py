"""Real rows on the other side, and the points where the way to them crosses the boundary."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import blocks, same
from xcid._kernels.random import NEAREST, below, uniform
from xcid.cid.generators.reach import Reach, differences, donors_of
from xcid.cid.generators.search import Member, Search, check_search, counters
from xcid.records import Array, Flags, Integers, Perturbations, Unsigned
from xcid.table import FeatureSpace

HALVINGS = 6  # of the way to a donor
MOST_CELLS = 2**22  # numbers in a work array
OWN_WAY = 0.25  # share of the features that go their own part of the way when points are lacking
_SWITCH, _END, _PART, _OWN_PART, _OWN_WAY = NEAREST


@dataclass(frozen=True, slots=True)
class Nearest:
    """Counterfactuals that are near: on the way to real rows of the background, where the output changes.

    The model is evaluated on background rows: by turns the nearest (numbers in robust standard deviations, 0 or 1 for
    levels), and others from near to far. The way to the first that flip is halved until the boundary is found; so is
    the way to what remains of them when features are put back, the most changed first, as long as the output still
    flips. Levels change at a random point of the way. Positives lie just beyond the boundary and between it and the
    donors, negatives just before it and among real rows that do not flip. No sample is given twice.

    These samples are made to be near and sparse, not to be drawn from one distribution that the model then splits:
    a feature that makes no difference still changes on the way, and so may score.

    Parameters
    ----------
    m : int
        Positives and negatives to find for each row; a quarter as many ways to donors are halved.
    max_evaluations : int
        Most rows that the model predicts for it; half of them may be donors.
    """

    m: int = 50
    max_evaluations: int = 4_000

    def __post_init__(self) -> None:
        check_search(self)

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        donors = donors_of(space.rows)
        parts = blocks(max(1, len(rows)), MOST_CELLS // donors.size)
        return Perturbations.concatenate(
            [self._part(rows[part], keys[part], space, _of_part(member, part), donors) for part in parts]
        )

    def _part(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member, donors: Array) -> Perturbations:
        search = Search(rows, space, member, self.m, self.max_evaluations)
        everyone, reach = np.arange(len(rows)), Reach.of(rows, space)
        real = _in_turn(reach, donors, max(1, len(donors) // (2 * self.m)))
        weights, asked = _ask_in_turn(search, real, max(1, self.m // 4))
        flipping = _first(real, weights, asked & (weights > 0.5), max(1, self.m // 4))
        known = _joined(_put_back(search, flipping), flipping)
        ends = np.concatenate([known.points, real], axis=1)
        paths = Paths(reach, ends, uniform(_SWITCH.bits(keys, counters(0, ends.shape[1], space))))
        crossing = _halve(search, paths, known)
        for points in (crossing.beyond, crossing.before, crossing.flips, Points(real, weights, asked), crossing.stays):
            search.keep(everyone, points.points, points.weights, points.there & search.fresh(everyone, points.points))
        _fill(search, paths, crossing, known.there, keys)
        return search.result()


class Points(NamedTuple):
    """Points (n, c, f) with their (n, c) weights in C+; places where ``there`` is False hold none."""

    points: Array
    weights: Array
    there: Flags


class Crossing(NamedTuple):
    """Where ways cross the boundary."""

    last: Array  # (n, q) the last part of the way that does not flip, as far as is known
    first: Array  # (n, q) the first that does
    before: Points  # the points there
    beyond: Points
    stays: Points  # others on the way, from coarse to fine
    flips: Points


class Paths(NamedTuple):
    """Ways from rows to (n, q, f) ends; ``switch`` (n, q, f) is the part of the way at which a level changes."""

    reach: Reach
    ends: Array
    switch: Array

    def point(self, at: Integers, which: Integers, part: Array) -> Array:
        """Go (a, c, f) parts of the way from (a,) rows to (a, c) of their ends."""
        reach, a = self.reach[at], at[:, None]
        own = reach.rows[:, None]
        ends, switch = self.ends[a, which], self.switch[a, which]
        between = own + part * (ends - own)
        between = np.where(reach.space.discrete | np.isnan(between), np.where(part > switch, ends, own), between)
        return reach.nearest(np.where(part < 1, between, ends))


def _of_part(member: Member, part: slice) -> Member:
    """Ask about the rows of a part of a block."""
    return lambda samples, owner: member(samples, owner + part.start)


def _in_turn(reach: Reach, donors: Array, stride: int) -> Array:
    """(n, N, f) donors as the rows may become them: by turns the nearest, and one of every ``stride`` from near to far.

    The nearest alone may never differ in some feature.
    """
    real, space = reach.nearest(donors[None]), reach.space
    distance = differences(reach.rows, real, _robust_scales(space), space.discrete).sum(axis=2)
    place = np.arange(len(donors))
    turn = np.where(place % stride == 0, np.minimum(2 * place, 2 * (place // stride) + 1), 2 * place)
    order = np.argsort(distance, axis=1, kind="stable")[:, np.argsort(turn, kind="stable")]
    return np.take_along_axis(real, order[:, :, None], axis=1)


def _ask_in_turn(search: Search, real: Array, wanted: int) -> tuple[Array, Flags]:
    """Ask about donors until enough of them flip, for half of the budget at most."""
    weights, asked = np.zeros(real.shape[:2]), np.zeros(real.shape[:2], dtype=bool)
    fresh = search.fresh(np.arange(len(real)), real)
    for start in range(0, min(real.shape[1], search.budget // 2), 2 * search.m):
        part = slice(start, min(start + 2 * search.m, search.budget // 2))
        rows = np.flatnonzero((weights > 0.5).sum(axis=1) < wanted)
        weights[rows, part], asked[rows, part] = search.ask(rows, real[rows, part], fresh[rows, part])
    return weights, asked


def _first(points: Array, weights: Array, chosen: Flags, count: int) -> Points:
    """The first of the chosen points."""
    order = np.argsort(~chosen, axis=1, kind="stable")[:, :count]
    row = np.arange(len(points))[:, None]
    return Points(points[row, order], weights[row, order], chosen[row, order])


def _joined(first: Points, second: Points) -> Points:
    return Points(*(np.concatenate(parts, axis=1) for parts in zip(first, second, strict=True)))


def _put_back(search: Search, flipping: Points) -> Points:
    """Put features back to the row's own, the most changed first, as long as the points flip.

    This takes as many evaluations as there are features for each point; a quarter of the budget limits the points.
    Those that lose nothing are left out.
    """
    space, everyone = search.space, np.arange(len(search.rows))
    n_features = len(space.rank)
    few = slice(0, search.budget // (4 * n_features))
    points, weights, there = flipping.points[:, few], flipping.weights[:, few], flipping.there[:, few]
    own = np.broadcast_to(search.rows[:, None], points.shape)
    by_rank = np.argsort(space.rank)
    change = differences(search.rows, points, _robust_scales(space), space.discrete)[:, :, by_rank]
    order = by_rank[np.argsort(-change, axis=2, kind="stable")]
    shorter = np.zeros(there.shape, dtype=bool)
    for step in range(n_features if there.any() else 0):
        back = np.arange(n_features) == order[:, :, step, None]
        trial = np.where(back, own, points)
        useful = there & ~same(trial, points).all(axis=2) & ~same(trial, own).all(axis=2)
        weight, asked = search.ask(everyone, trial, useful)
        flips = asked & (weight > 0.5)
        points, weights = np.where(flips[:, :, None], trial, points), np.where(flips, weight, weights)
        shorter |= flips
    return Points(points, weights, there & shorter)


def _halve(search: Search, paths: Paths, known: Points) -> Crossing:
    """Halve the first ways, whose ends are known to flip, towards the boundary."""
    shape = known.there.shape
    everyone, which = np.arange(shape[0]), np.broadcast_to(np.arange(shape[1]), shape)
    last, first = np.zeros(shape), np.ones(shape)
    before = Points(np.repeat(search.rows[:, None], shape[1], axis=1), np.zeros(shape), np.zeros(shape, dtype=bool))
    beyond, steps = known, []
    for _ in range(HALVINGS):
        middle = (last + first) / 2
        points = paths.point(everyone, which, np.repeat(middle[:, :, None], search.rows.shape[1], axis=2))
        weights, asked = search.ask(everyone, points, known.there)
        steps.append(Points(points, weights, asked))
        flips, stays = asked & (weights > 0.5), asked & (weights <= 0.5)
        last, first = np.where(stays, middle, last), np.where(flips, middle, first)
        before, beyond = _replaced(before, steps[-1], stays), _replaced(beyond, steps[-1], flips)
    halfway = functools.reduce(_joined, steps)
    kinds = halfway.weights <= 0.5, halfway.weights > 0.5
    return Crossing(last, first, before, beyond, *(halfway._replace(there=halfway.there & kind) for kind in kinds))


def _replaced(old: Points, new: Points, where: Flags) -> Points:
    """Put new points in the place of old ones."""
    points = np.where(where[:, :, None], new.points, old.points)
    return Points(points, np.where(where, new.weights, old.weights), where | old.there)


def _fill(search: Search, paths: Paths, crossing: Crossing, there: Flags, keys: Unsigned) -> None:
    """Offer random points before and beyond the boundary; a quarter, or all where none is known, on the way anywhere.

    Some features go another part of the way than the rest, so that there is no end of points. Points that are known
    cost nothing: what may be said of a row is limited, too.
    """
    n_paths, n_known, space = paths.ends.shape[1], there.shape[1], search.space
    usable, n_usable = np.argsort(~there, axis=1, kind="stable"), there.sum(axis=1)
    anywhere = np.ones((len(there), n_paths - n_known))
    last, first = (
        np.concatenate([known, other], axis=1)
        for known, other in ((crossing.last, anywhere), (crossing.first, 0 * anywhere))
    )
    for rows, start, size in search.rounds():
        if start >= 2 * search.budget:
            break
        number, a = np.arange(start, start + size, dtype=np.uint64), rows[:, None]
        picked = _END.bits(keys[rows], number)
        chosen = usable[a, below(picked, n_usable[a])]
        known = (n_usable[a] > 0) & (number % 4 < 3)
        which = np.where(known, chosen, n_known + below(picked, n_paths - n_known))
        share = uniform(_PART.bits(keys[rows], number))
        beyond = first[a, which] + share * (1 - first[a, which])
        part = np.where(number % 2 == 0, beyond, share * last[a, which])
        own_part, own_way = (
            uniform(stream.bits(keys[rows], counters(start, size, space))) for stream in (_OWN_PART, _OWN_WAY)
        )
        points = paths.point(rows, which, np.where(own_way < OWN_WAY, own_part, part[:, :, None]))
        search.offer(rows, points, search.fresh(rows, points))


def _robust_scales(space: FeatureSpace) -> Array:
    """(f,) spread of each number: the median absolute deviation, or the standard deviation where that is 0."""
    middle = np.nanmedian(space.background, axis=0)
    deviation = 1.4826 * np.nanmedian(np.abs(space.background - middle), axis=0)
    spread = np.where(deviation > 0, deviation, np.nanstd(space.background, axis=0))
    return np.where(spread > 0, spread, 1.0)
