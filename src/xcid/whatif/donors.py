"""Real rows that have the wanted output already: taken over as far as a row may become them, and pruned."""

from __future__ import annotations

import numpy as np

from xcid._kernels.arrays import blocks
from xcid.records import Array, Integers
from xcid.whatif.asker import Asker
from xcid.whatif.found import Found
from xcid.whatif.plausibility import MOST_CELLS, reaching

TRIED, KEPT = 12, 2  # real rows that are asked about, and of those that flip, how many are worked on


def taken_over(asker: Asker, rows: Integers) -> tuple[Found, Array]:
    """What some rows become when they take over all that the nearest real rows with the wanted output have.

    Given are those that flip, and (N, f) the real rows themselves.
    """
    owner, donors = _nearest(asker, rows, TRIED)
    made = _become(asker, owner, donors)
    gain = asker.gain(made, owner)
    flips = np.flatnonzero(gain > 0)
    flips = flips[np.arange(len(flips)) - np.searchsorted(owner[flips], owner[flips]) < KEPT]
    found = Found(made[flips], owner[flips], gain[flips], asker.distance(made[flips], owner[flips]))
    return found, donors[flips]


def _nearest(asker: Asker, rows: Integers, count: int) -> tuple[Integers, Array]:
    """The nearest real rows that reach the goal of some rows, with their owners."""
    world = asker.world
    owners, donors = [np.zeros(0, dtype=np.int64)], [world.donors[:0]]
    count = min(count, len(world.donors))
    for part in blocks(len(rows), MOST_CELLS // len(world.donors)):
        at = rows[part]
        distance = world.metric.between(asker.own[at, None], world.donors[None])
        distance = np.where(reaching(world, asker.goal, asker.outputs[at]), distance, np.inf)
        nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
        line, place = np.nonzero(np.take_along_axis(distance, nearest, axis=1) < np.inf)
        owners.append(at[line])
        donors.append(world.donors[nearest[line, place]])
    return np.concatenate(owners), np.concatenate(donors)


def _become(asker: Asker, owner: Integers, donors: Array) -> Array:
    """(N, f) donors as their owners may become them: within limits, and the own cell where it may not change."""
    world, own = asker.world, asker.own[owner]
    made, space = own.copy(), world.subject.features.space
    for at in np.flatnonzero(~world.fixed).tolist():
        low, high = world.limits(own, at)
        cells = donors[:, at]
        if space.discrete[at]:
            pool = space.distinct.values[: space.distinct.sizes[at], at]
            allowed = np.isin(cells, pool) & world.may_become(own[:, at], cells, at)
        else:
            allowed = (cells >= world.lower[at]) & (cells <= world.upper[at])  # neither missing nor a code
            cells = world.fitted(cells, at, low, high)
        allowed &= (cells >= low) & (cells <= high)
        made[:, at] = np.where(allowed, cells, own[:, at])
    return made
