"""Flips of a block made small, and for rows with changes that usually hurt, others that go the usual way."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from xcid.records import Array, Flags
from xcid.whatif.choice import WITH_REAL
from xcid.whatif.evaluator import Evaluator, Found, join_found, pick_one_of_each_set, take_over_real_rows
from xcid.whatif.proof import Asked, prove
from xcid.whatif.pruning import prune, prune_and_refill, refine
from xcid.whatif.search import search_flips
from xcid.whatif.ways import Ways, go_against, restrict

ALONG = Asked(work=1e8)


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
    wanted = ways.wanted(evaluator, np.flatnonzero(evaluator.find_moved(both).any(axis=0)))
    is_against, proved = go_against(evaluator, both, wanted), np.zeros(len(evaluator.own))
    if not is_against.any():
        return wanted, flips, likeliest, proved
    wanted = ways.wanted(evaluator)
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
