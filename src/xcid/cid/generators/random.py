"""The paper's generator: one feature changed at random, then two, and so on, as in DiCE's random method."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import blocks, same
from xcid._kernels.random import RANDOM, below, bits, mix, uniform
from xcid.cid.generators.search import Member, Search, check_search
from xcid.records import Array, Flags, Integers, Perturbations, Unsigned
from xcid.table import FeatureSpace
from xcid.table.features import step_range

MOST_DRAWS = 2**16  # changes drawn at a time, over some rows of a block: more would be fresh memory again and again
AT_ONCE = 1 / 2  # of a deck is dealt where an earlier one was not enough: most of it will be needed


@dataclass(frozen=True, slots=True)
class Random:
    """Random perturbations by the law of DiCE's random method.

    A pool of copies of the row changes one random feature each, to a value drawn uniformly over the feature's range;
    then another one (a feature may be picked again: then nothing changes), and so on. Of the distinct candidates of the
    first two rounds m of each kind are drawn. Where they have too few of a kind, its m are drawn from the first three
    rounds, and so on; and where all rounds have too few, further pools add to them while the budget lasts: there DiCE
    makes do with fewer.

    Values are rounded as DiCE does it. A column whose type is of whole numbers gets whole numbers, each alike. A column
    of floats gets the decimals of its most frequent value, at least one (0.0 and 1.0 give tenths), and may exceed its
    largest value by a step, so that even a constant moves. Where ``kinds`` or ``constraints`` say what a column may
    hold, it holds nothing else.

    What the question puts on both sides alike is a candidate of both kinds: under :class:`xcid.CID` a tie of two
    classes is, since for DiCE a probability of 1/2 is enough for either class.

    Unlike DiCE it evaluates as many candidates as it needs, not all of the pool, and does without a second pool
    for the samples that do not flip.

    Parameters
    ----------
    m, max_evaluations : int
        Positives and negatives to find for each row, and the most evaluations for it.
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
        answers: dict[int, _Answers] = {}  # of rows that need more than one deck
        while (open_rows := search.open[~exhausted[search.open]]).size:
            copies = pool * self.pool + np.arange(self.pool)
            parts = blocks(len(open_rows), MOST_DRAWS // (self.pool * rounds.stop))
            decks = [_shuffled_deck(rows, keys, open_rows[part], space, copies, rounds) for part in parts]
            for deck in decks:
                _recall(deck, answers)
            is_new = [deck.fresh & np.isnan(deck.weights) for deck in decks]
            if pool == 0:
                search.draw_anew(open_rows)
            else:
                decks = [deck._replace(fresh=new) for deck, new in zip(decks, is_new, strict=True)]
            _deal(search, decks, AT_ONCE if answers else 0.0)
            for deck in decks:
                _remember(deck, answers, search)
            is_last = rounds.stop == n_features
            exhausted[open_rows] = ~np.concatenate([new.any(axis=1) for new in is_new]) & is_last
            pool += is_last
            rounds = range(n_features - 1, n_features) if is_last else range(rounds.stop + 1)
        return search.result()


class _Answers(NamedTuple):
    """What the model has said about the candidates of a row."""

    content: Unsigned  # (k,) ascending
    weights: Array  # (k,) in C+


class _Deck(NamedTuple):
    """Candidates of some rows in random order."""

    rows: Integers  # (a,)
    picked: Integers  # (a, copies, r) the feature that each copy changes in each round
    values: Array  # (a, copies, r) and its new value
    copy: Integers  # (a, c) the candidates: a copy,
    last: Integers  # (a, c) and the last round that has changed it
    fresh: Flags  # (a, c) False for a candidate that another one equals
    content: Unsigned  # (a, c) hash of the changes that make each candidate
    weights: Array  # (a, c) in C+; NaN for those that were not evaluated


def _recall(deck: _Deck, answers: dict[int, _Answers]) -> None:
    """Fill in what the model has said about candidates of earlier decks."""
    for at, row in enumerate(deck.rows.tolist()):
        if row in answers:
            known = answers[row]
            place = np.minimum(np.searchsorted(known.content, deck.content[at]), len(known.content) - 1)
            is_known = known.content[place] == deck.content[at]
            deck.weights[at] = np.where(is_known, known.weights[place], np.nan)


def _remember(deck: _Deck, answers: dict[int, _Answers], search: Search) -> None:
    """Keep what is known of a deck for the rows that will need another one."""
    for at in np.flatnonzero(np.isin(deck.rows, search.open)):
        row, asked = int(deck.rows[at]), deck.fresh[at] & ~np.isnan(deck.weights[at])
        content, weights = deck.content[at][asked], deck.weights[at][asked]
        if row in answers:
            content, first = np.unique(np.concatenate([answers[row].content, content]), return_index=True)
            weights = np.concatenate([answers[row].weights, weights])[first]
        if content.size:
            answers[row] = _Answers(content, weights)


def _deal(search: Search, decks: list[_Deck], share: float) -> None:
    """Go through the decks until the rows have what they need; evaluate candidates that no earlier deck had.

    At least such a share of them is dealt at a time.
    """
    start, size = 0, decks[0].fresh.shape[1]
    while start < size:
        count = max(search.chunk(start), round(share * size))
        part = slice(start, min(start + count, size))
        places = [_places(search, deck, part) for deck in decks]
        hands = [_hand(search, deck, at, part) for deck, at in zip(decks, places, strict=True)]
        rows, candidates, fresh, known = (np.concatenate(one) for one in zip(*hands, strict=True))
        weights, asked = search.ask(rows, candidates, fresh & np.isnan(known))
        weights = np.where(asked, weights, known)
        search.keep(rows, candidates, weights, fresh & ~np.isnan(weights))
        ends = np.cumsum([len(at) for at in places])
        for deck, at, found in zip(decks, places, np.split(weights, ends[:-1]), strict=True):
            deck.weights[at, part] = found
        start = part.stop


def _places(search: Search, deck: _Deck, part: slice) -> Integers:
    """Rows of a deck that lack samples and may find some here: they can afford evaluations, or know what these gave."""
    is_known = ~np.isnan(deck.weights[:, part]).all(axis=1)
    return np.flatnonzero(np.isin(deck.rows, search.lacking) & (is_known | np.isin(deck.rows, search.open)))


def _hand(search: Search, deck: _Deck, at: Integers, part: slice) -> tuple[Integers, Array, Flags, Array]:
    """Build some candidates: rows (a,), candidates (a, c, d), which are fresh (a, c), and known weights (a, c)."""
    rows, copy, last = deck.rows[at], deck.copy[at, part], deck.last[at, part]
    rounds = np.minimum(np.arange(deck.picked.shape[2]), last[:, :, None])  # the last change again is no change
    place = (at[:, None, None], copy[:, :, None], rounds)
    candidates = np.repeat(search.rows[rows, None, :], copy.shape[1], axis=1)
    np.put_along_axis(candidates, deck.picked[place], deck.values[place], axis=2)
    return rows, candidates, deck.fresh[at, part], deck.weights[at, part]


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
    fresh = np.ones(content.shape, dtype=bool)
    fresh[:, 1:] = content[:, 1:] != content[:, :-1]
    copy, after = np.divmod(order, len(rounds))
    unknown = np.full(content.shape, np.nan)
    return _Deck(chosen, picked, values, copy, after + rounds.start, fresh, content, unknown)


def _draw(random: Unsigned, rows: Array, feature: Integers, space: FeatureSpace) -> Array:
    """Values uniform over what the given (a, copies, r) features of (a, d) rows may take; inf where that is nothing.

    Numbers are uniform over their range and rounded as DiCE does it where its rule applies, else on their lattice where
    they have one; levels are equally likely; a value is missing as often as in the reference data.
    """
    share = uniform(random)
    pools = space.pools
    missing = np.where(space.direction == 0, pools.n_missing / (pools.n_missing + pools.sizes), 0.0)[feature]
    is_missing = share < missing
    share = np.where(is_missing, 0.0, (share - missing) / (1 - missing))
    bounds = space.bounds(rows)
    row = np.arange(len(rows))[:, None, None]
    low, high, steps = bounds[0][row, feature], bounds[1][row, feature], space.steps_per_unit[feature]
    first, last = step_range(low, high, steps)
    rounded = np.minimum(first + np.floor(share * (last - first + 1)), last) / steps
    on_lattice = space.resolution[feature] > 0
    values = np.where(on_lattice, rounded, np.where(low == high, low, low * (1 - share) + high * share))
    values = np.where(np.where(on_lattice, first > last, low > high), np.inf, values)
    per_unit = space.rounding[feature]
    between = (low * (1 - share) + high * share) * per_unit + share  # in steps: up to one above the highest value
    values = np.where(per_unit > 0, np.rint(between) / np.maximum(per_unit, 1.0), values)
    if space.discrete.any():
        levels = space.distinct
        begin, count = (part[row, feature] for part in levels.between(*bounds))
        place = np.minimum(begin + np.floor(share * count).astype(np.int64), len(levels.values) - 1)
        level = np.where(count > 0, levels.values[place, feature], np.inf)
        values = np.where(space.discrete[feature], level, values)
    return np.where(is_missing, np.nan, values)
