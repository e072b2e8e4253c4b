"""A search by independent masks, and one that resumes where another gives up: further out, then among its finds."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from xcid._check import as_int, require_callable
from xcid._kernels.arrays import blocks, thinned
from xcid._kernels.random import GROWING, MARGINAL, WALK, below, uniform
from xcid.cid.generators.reach import Reach, donors_of
from xcid.cid.generators.search import Generator, Member, Search, check_search, counters
from xcid.errors import InvalidParameter
from xcid.records import Array, Flags, Integers, Perturbations, Unsigned
from xcid.table import FeatureSpace

SEEDS = 5  # finds that end the exploration, if it has not taken half of what is left
STEPS = 16  # of every walker
RADII = ((0.5, 0.0), (1.0, 0.0), (1.0, 0.5), (1.0, 0.9), (1.0, 1.0))  # share of features to change, and how far out
STAYS, FLIPS = 0, 1
AT_ONCE = 100  # candidates of an exploration
_CHANGE, _SIDE, _FAR, _STAYS, _FLIPS = GROWING
_NEW, _EACH, _ODDS, _FORCED = WALK


@dataclass(frozen=True, slots=True)
class Marginal:
    """Independent masks with values from the reference data's marginals.

    Each feature of each candidate is replaced with probability 1/2, by the value of a random reference row, drawn for
    every feature by itself, among the values that the constraints allow. So a feature that makes no difference is
    independent of flipping.

    Parameters
    ----------
    m, max_evaluations : int
        Positives and negatives to find for each row, and the most evaluations for it.
    """

    m: int = 200
    max_evaluations: int = 4_000

    def __post_init__(self) -> None:
        check_search(self)

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        search = Search(rows, space, member, self.m, self.max_evaluations)
        reach = Reach.of(rows, space)
        for at, start, size in search.rounds():
            search.offer(at, reach[at].masked(MARGINAL.bits(keys[at], counters(start, size, space))))
        return search.result()


@dataclass(frozen=True, slots=True)
class Growing:
    """Let another generator search, and search further where it lacks flips or stays.

    Rows that it serves keep what it found. For others the model is called for real rows of the reference data, then
    for perturbations with more features changed and with values further out, until some flip. From there m walkers
    set out: each step redraws some features as :class:`Marginal` does, and counts if the output still flips. So what
    rare flips look like in the end is what Marginal would find in a very long search. Stays that are rare are looked
    for from the row itself. Rows that get all they need in this way have the status "rare_flips" or "rare_stays".

    Parameters
    ----------
    inner : generator
        Half of the places in its result is m.
    max_evaluations : int
        Most evaluations for each row, those of the inner generator included.
    """

    inner: Generator = field(default_factory=lambda: Marginal(max_evaluations=2_000))
    max_evaluations: int = 10_000

    def __post_init__(self) -> None:
        require_callable(self.inner, "inner", "xcid.generators.Marginal()")
        inner = getattr(self.inner, "max_evaluations", 0)
        if as_int(self.max_evaluations, "max_evaluations", at_least=1) <= inner:
            raise InvalidParameter(
                f"max_evaluations must be more than the {inner} of the inner generator, not {self.max_evaluations}"
            )

    def bind(self, space: FeatureSpace, outputs: Array) -> Growing:
        """Let the inner generator learn about the reference data, if it wants to."""
        bind: Any = getattr(self.inner, "bind", None)
        return self if bind is None else replace(self, inner=bind(space, outputs))

    def draw(self, space: FeatureSpace, key: Unsigned) -> Growing:
        """Let the inner generator draw what all rows share, if there is such a thing."""
        draw: Any = getattr(self.inner, "draw", None)
        return self if draw is None else replace(self, inner=draw(space, key))

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        cloud = self.inner(rows, keys, space, member)
        cloud = replace(cloud, given=cloud.samples, plans=())  # what is added follows no plan
        lacking = np.flatnonzero(cloud.status != "ok")
        if not lacking.size:
            return cloud
        part = cloud[lacking]
        m = cloud.samples.shape[1] // 2
        search = Search(part.origin, space, lambda s, owner: member(s, lacking[owner]), m, self.max_evaluations)
        search.n_evaluations[:] = part.n_evaluations
        search.keep(np.arange(len(part)), part.samples, part.positive, part.positive + part.negative > 0)
        few = search.found < m
        _explore(search, keys[lacking])
        for kind in (FLIPS, STAYS):
            _walk(search, keys[lacking], kind)
        return _merge_found(cloud, lacking, search.result(), few)


def _explore(search: Search, keys: Unsigned) -> None:
    """Look for flips: among real rows, then further and further out; those without any until the budget is spent."""
    space = search.space
    half = (search.n_evaluations + search.budget) // 2

    def exploring() -> Integers:
        n_flips = search.found[:, FLIPS]
        hopeful = (n_flips < min(SEEDS, search.m)) & (search.n_evaluations < half)
        return np.flatnonzero((hopeful | (n_flips == 0)) & (search.n_evaluations < search.budget))

    donors = donors_of(space.rows)
    donors = donors[thinned(len(donors), search.budget // 8)]
    reach, levels = (Reach.of(search.rows, space, pools) for pools in (space.pools, space.distinct))
    for part in blocks(len(donors), AT_ONCE):
        if (rows := exploring()).size:
            search.offer(rows, reach[rows].nearest(donors[None, part]))
    start = 0
    while (rows := exploring()).size:
        radius = RADII[start // AT_ONCE % len(RADII)]
        search.offer(rows, _far_out(reach[rows], levels[rows], keys[rows], start, radius))
        start += AT_ONCE


def _far_out(reach: Reach, levels: Reach, keys: Unsigned, start: int, radius: tuple[float, float]) -> Array:
    """(a, c, f) perturbations that change a share of the features to values in the tails; levels are equally likely."""
    (share, far), space = radius, reach.space
    cells = counters(start, AT_ONCE, space)
    change, side, place = (stream.bits(keys, cells) for stream in (_CHANGE, _SIDE, _FAR))
    depth = uniform(place) * (1 - far)
    tails = reach.quantile(np.where((side >> np.uint64(63)).astype(bool), 1 - depth, depth))
    values = np.where(space.discrete, levels.quantile(uniform(place)), tails)
    total, count = reach.total[:, None], reach.count[:, None]
    missing = uniform(side << np.uint64(1)) * total >= count
    values = np.where(missing, np.nan, values)
    return np.where((uniform(change) < share) & (total > 0), values, reach.rows[:, None])


def _walk(search: Search, keys: Unsigned, kind: int) -> None:
    """Let m walkers set out from the samples of a kind, and let the places they come to stand for these samples.

    A step redraws one feature at least, and each other one with odds of 1/2, 1/4, 1/8 or 1/16. Redrawing leaves the
    law of :class:`Marginal` as it is, and a step that would leave the kind is not made: so the walkers tend to that law
    within the kind (a Metropolis walk). They make a fixed number of steps, and more until each has moved.
    """
    m, space = search.m, search.space
    lacking = (search.found[:, kind] < m) & (search.n_evaluations < search.budget)
    rows = np.flatnonzero(lacking & ((search.found[:, kind] > 0) | (kind == STAYS)))
    keys = (_STAYS, _FLIPS)[kind].of(keys[rows])
    n_seeds = search.found[rows, kind, None]
    start = kind * m + np.arange(m) % np.maximum(n_seeds, 1)  # the place of a sample, or an empty one: the row itself
    place, weight = search.samples[rows[:, None], start], search.weights[rows[:, None], start]
    moved = np.arange(m) < n_seeds
    reach, step = Reach.of(search.rows[rows], space), 0
    while True:
        unfinished = ~moved.all(axis=1) | (step < STEPS)
        at = np.flatnonzero(unfinished & (search.n_evaluations[rows] < search.budget))
        if not at.size:
            break
        new = reach[at].masked(_NEW.bits(keys[at], counters(step * m, m, space)))
        here = np.where(moved[at, :, None], place[at], np.roll(place[at], step, axis=1))  # the stuck follow others
        trial = np.where(_redrawn(keys[at], step * m, m, space), new, here)
        weights, asked = search.ask(rows[at], trial)
        arrived = asked & ((weights > 0.5) == bool(kind))
        place[at] = np.where(arrived[:, :, None], trial, place[at])
        weight[at] = np.where(arrived, weights, weight[at])
        moved[at] |= arrived
        step += 1
    search.found[rows, kind] = 0
    search.keep(rows, place, weight, moved)


def _redrawn(keys: Unsigned, start: int, size: int, space: FeatureSpace) -> Flags:
    """(a, size, f) which features a step redraws."""
    number = np.arange(start, start + size, dtype=np.uint64)
    odds, forced = (stream.bits(keys, number) for stream in (_ODDS, _FORCED))
    share = 0.5 ** (1 + below(odds, 4))
    drawn = uniform(_EACH.bits(keys, counters(start, size, space)))
    one = space.free[below(forced, len(space.free))]
    return (drawn < share[:, :, None]) | (np.arange(drawn.shape[2]) == one[:, :, None])


def _merge_found(cloud: Perturbations, at: Integers, found: Perturbations, few: Flags) -> Perturbations:
    """Put what was found for some rows in the place of what there was."""
    samples, positive, negative = cloud.samples.copy(), cloud.positive.copy(), cloud.negative.copy()
    n_evaluations, status = cloud.n_evaluations.copy(), cloud.status.astype("U32")
    places = slice(0, found.samples.shape[1])
    positive[at], negative[at] = 0.0, 0.0
    samples[at, places], positive[at, places], negative[at, places] = found.samples, found.positive, found.negative
    n_evaluations[at] = found.n_evaluations
    rare = np.where(few[:, FLIPS], "rare_flips", np.where(few[:, STAYS], "rare_stays", "ok"))
    status[at] = np.where(found.status == "ok", rare, found.status)
    return replace(
        cloud, given=samples, positive=positive, negative=negative, n_evaluations=n_evaluations, status=status
    )
