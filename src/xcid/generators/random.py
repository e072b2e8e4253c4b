"""The paper's generator: one feature changed at random, then two, and so on, as in DiCE's random method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import blocks, same
from xcid._kernels.random import RANDOM, below, bits, mix, uniform
from xcid.generators.reach import step_range, steps_per_unit
from xcid.generators.search import Member, Search, check_search
from xcid.records import Array, Flags, Integers, Perturbations, Unsigned
from xcid.space import FeatureSpace

MOST_DRAWS = 2**20  # changes drawn at a time, over some rows of a block


@dataclass(frozen=True, slots=True)
class Random:
    """Random perturbations in the manner of DiCE.

    A pool of copies of the row changes one random feature each, to a value drawn uniformly over the feature's range
    and rounded to its precision; then another one (a feature may be picked again: then nothing changes), and so on.
    Distinct candidates of the first two rounds are drawn in random order; further rounds follow only while samples
    of a kind are lacking, and further pools with as many changes as there are features while the budget lasts.

    Unlike DiCE it asks the model about as many candidates as it needs, not about all of the pool; the samples have the
    same distribution where the first two rounds suffice. Where they do not, it keeps what they have found, and DiCE
    draws anew from all rounds.

    Parameters
    ----------
    m, max_evaluations : int
        Positives and negatives to find for each row, and the most rows that the model is asked to predict for it.
    pool : int
        Copies of the row that are changed round by round.
    """

    m: int = 50
    max_evaluations: int = 20_000
    pool: int = 1_000

    def __post_init__(self) -> None:
        check_search(self, "pool")

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        search = Search(rows, space, member, self.m, self.max_evaluations)
        n_features = len(space.free)
        rounds, pool = range(min(2, n_features)), 0
        exhausted = np.zeros(len(rows), dtype=bool)  # all that can change in these rows was dealt
        dealt_before = 0  # candidates of each row
        dealt: dict[int, Unsigned] = {}  # content of the candidates of rows that need more than one deck
        while (open_rows := search.open[~exhausted[search.open]]).size:
            copies = pool * self.pool + np.arange(self.pool)
            parts = blocks(len(open_rows), MOST_DRAWS // (self.pool * rounds.stop))
            decks = [_shuffled_deck(rows, keys, open_rows[part], space, copies, rounds) for part in parts]
            for deck in decks:
                _mark_dealt(deck, dealt)
            _deal(search, decks, dealt_before)
            dealt_before += decks[0].fresh.shape[1]
            for deck in decks:
                _remember(deck, dealt, search)
            exhausted[open_rows] = np.concatenate([~deck.fresh.any(axis=1) for deck in decks])
            exhausted &= rounds.stop == n_features
            pool += rounds.stop == n_features
            rounds = range(min(rounds.stop, n_features - 1), min(rounds.stop + 1, n_features))
        return search.result()


class _Deck(NamedTuple):
    """Candidates of some rows in random order."""

    rows: Integers  # (a,)
    picked: Integers  # (a, copies, r) the feature that each copy changes in each round
    values: Array  # (a, copies, r) and its new value
    copy: Integers  # (a, c) the candidates: a copy,
    last: Integers  # (a, c) and the last round that has changed it
    fresh: Flags  # (a, c) False for a candidate that another one equals
    content: Unsigned  # (a, c) hash of the changes that make each candidate


def _mark_dealt(deck: _Deck, dealt: dict[int, Unsigned]) -> None:
    """Make candidates that earlier decks have dealt no longer fresh."""
    for at, row in enumerate(deck.rows.tolist()):
        if row in dealt:
            deck.fresh[at] &= ~np.isin(deck.content[at], dealt[row])


def _remember(deck: _Deck, dealt: dict[int, Unsigned], search: Search) -> None:
    """Keep the content of a deck for the rows that will need another one."""
    for at in np.flatnonzero(np.isin(deck.rows, search.open)):
        row = int(deck.rows[at])
        fresh = deck.content[at][deck.fresh[at]]
        dealt[row] = np.concatenate([dealt[row], fresh]) if row in dealt else fresh


def _deal(search: Search, decks: list[_Deck], dealt_before: int) -> None:
    """Offer candidates until the rows have what they need or the decks are empty."""
    start, size = 0, decks[0].fresh.shape[1]
    while start < size and search.open.size:
        stop = min(start + search.chunk(dealt_before + start), size)
        hands = [_hand(search, deck, slice(start, stop)) for deck in decks]
        rows, candidates, fresh = (np.concatenate(part) for part in zip(*hands, strict=True))
        if fresh.any():
            search.offer(rows, candidates, fresh)
        start = stop


def _hand(search: Search, deck: _Deck, part: slice) -> tuple[Integers, Array, Flags]:
    """Build some candidates of the open rows of a deck: rows (a,), candidates (a, c, d), which are fresh (a, c)."""
    at = np.flatnonzero(np.isin(deck.rows, search.open))
    rows, copy, last = deck.rows[at], deck.copy[at, part], deck.last[at, part]
    rounds = np.minimum(np.arange(deck.picked.shape[2]), last[:, :, None])  # the last change again is no change
    place = (at[:, None, None], copy[:, :, None], rounds)
    candidates = np.repeat(search.rows[rows, None, :], copy.shape[1], axis=1)
    np.put_along_axis(candidates, deck.picked[place], deck.values[place], axis=2)
    return rows, candidates, deck.fresh[at, part]


def _shuffled_deck(
    rows: Array, keys: Unsigned, chosen: Integers, space: FeatureSpace, copies: Integers, rounds: range
) -> _Deck:
    """Draw the candidates that the given rounds leave behind.

    Sorting them by a hash of their content puts them in random order and duplicates side by side.
    """
    n_features = rows.shape[1]
    first_counter = (copies * n_features)[:, None]
    pick_keys, value_keys = (stream.of(keys[chosen])[:, None, None] for stream in RANDOM)
    picks = bits(pick_keys, (first_counter + np.arange(rounds.stop)).astype(np.uint64))
    picked = space.free[below(picks, len(space.free))]
    ranked = space.rank[picked]
    origin = rows[chosen[:, None, None], picked]
    values = _draw(bits(value_keys, (first_counter + ranked).view(np.uint64)), rows[chosen], picked, space)
    values = np.where(np.isinf(values), origin, values)  # nothing is allowed there
    change = mix(values.view(np.uint64) + mix(ranked.view(np.uint64) + np.uint64(1)))
    change[same(values, origin)] = 0
    repeated = np.zeros(picked.shape, dtype=bool)
    for later in range(1, rounds.stop):
        repeated[:, :, later] = (picked[:, :, :later] == picked[:, :, later, None]).any(axis=2)
    change[repeated] = 0
    content = mix(np.cumsum(change, axis=2) + pick_keys)[:, :, rounds.start :].reshape(len(chosen), -1)

    order = np.argsort(content, axis=1)
    content = np.take_along_axis(content, order, axis=1)
    known = content == mix(pick_keys[:, :, 0])  # the row itself
    known[:, 1:] |= content[:, 1:] == content[:, :-1]
    copy, after = np.divmod(order, len(rounds))
    return _Deck(chosen, picked, values, copy, after + rounds.start, ~known, content)


def _draw(random: Unsigned, rows: Array, feature: Integers, space: FeatureSpace) -> Array:
    """Values uniform over what the given (a, copies, r) features of (a, d) rows may take; inf where that is nothing.

    Numbers are uniform over their range, on their lattice where they have one; levels are equally likely; a value is
    missing as often as in the background.
    """
    share = uniform(random)
    pools = space.pools
    missing = np.where(space.direction == 0, pools.n_missing / (pools.n_missing + pools.sizes), 0.0)[feature]
    is_missing = share < missing
    share = np.where(is_missing, 0.0, (share - missing) / (1 - missing))
    bounds = space.bounds(rows)
    row = np.arange(len(rows))[:, None, None]
    low, high, steps = bounds[0][row, feature], bounds[1][row, feature], steps_per_unit(space)[feature]
    first, last = step_range(low, high, steps)
    rounded = np.minimum(first + np.floor(share * (last - first + 1)), last) / steps
    on_lattice = space.resolution[feature] > 0
    values = np.where(on_lattice, rounded, low * (1 - share) + high * share)
    values = np.where(np.where(on_lattice, first > last, low > high), np.inf, values)
    if space.discrete.any():
        levels = space.distinct
        begin, count = (part[row, feature] for part in levels.between(*bounds))
        place = np.minimum(begin + np.floor(share * count).astype(np.int64), len(levels.values) - 1)
        level = np.where(count > 0, levels.values[place, feature], np.inf)
        values = np.where(space.discrete[feature], level, values)
    return np.where(is_missing, np.nan, values)
