"""What generators share: a search that goes on until there are m samples of each kind, and plans that rows follow."""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from xcid._check import as_float, as_int
from xcid._kernels.arrays import blocks
from xcid._kernels.random import LIMITS, below, content_keys, count_variants, run_key
from xcid.cid.generators.reach import Reach
from xcid.errors import InvalidParameter
from xcid.records import Array, Flags, Integers, Perturbations, Plan, Texts, Unsigned
from xcid.table import FeatureSpace

Member: TypeAlias = Callable[[Array, Integers], Array]
"""``member(samples (N, d), owner (N,)) -> (N,)``: how far a sample belongs to C+, mostly 0 or 1."""


class Generator(Protocol):
    """Anything that perturbs rows into positives and negatives; a plain function qualifies."""

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations: ...


class Search:
    """Positives and negatives found so far for a block of rows.

    The first m of each kind are kept, in the order in which candidates are offered. So the samples of a row do not
    depend on the other rows of its block, and with offers of a fixed schedule its count of evaluations does not.
    """

    def __init__(self, rows: Array, space: FeatureSpace, member: Member, m: int, max_evaluations: int) -> None:
        self.rows, self.space, self.member, self.m, self.budget = rows, space, member, m, max_evaluations
        self.has_ties = bool(getattr(member, "has_ties", False))  # see xcid.outcomes.Question
        self.samples = np.repeat(rows[:, None, :], 2 * m, axis=1)
        self.weights = np.zeros((len(rows), 2 * m))  # in C+
        self.found = np.zeros((len(rows), 2), dtype=np.int64)  # negatives, positives
        self.n_evaluations = np.zeros(len(rows), dtype=np.int64)

    @property
    def lacking(self) -> Integers:
        """Rows that still lack samples."""
        return np.flatnonzero((self.found < self.m).any(axis=1))

    @property
    def open(self) -> Integers:
        """Rows that still lack samples and have evaluations left."""
        return self.affording(1)

    def affording(self, count: int) -> Integers:
        """Rows that still lack samples and have so many evaluations left."""
        return self.lacking[self.n_evaluations[self.lacking] <= self.budget - count]

    def chunk(self, start: int) -> int:
        """How many candidates to offer after the first ``start`` ones: a fixed schedule that grows by halves."""
        return max(2 * self.m, start // 2)

    def rounds(self) -> Iterator[tuple[Integers, int, int]]:
        """The open rows, the number of the first candidate and how many to offer, until nothing is open."""
        start = 0
        while (rows := self.open).size:
            yield rows, start, self.chunk(start)
            start += self.chunk(start)

    def offer(self, rows: Integers, candidates: Array, there: Flags | None = None) -> None:
        """Evaluate (a, c, d) candidates of (a,) rows; places where ``there`` (a, c) is False hold none."""
        weights, asked = self.ask(rows, candidates, there)
        self.keep(rows, candidates, weights, asked)

    def ask(self, rows: Integers, candidates: Array, there: Flags | None = None) -> tuple[Array, Flags]:
        """Evaluate without keeping: (a, c) weights in C+, and for which candidates the budget was enough."""
        there = np.ones(candidates.shape[:2], dtype=bool) if there is None else there
        left = self.budget - self.n_evaluations[rows]
        asked = there & (np.cumsum(there, axis=1) <= left[:, None])
        weights = np.zeros(there.shape)
        a, c = np.nonzero(asked)
        if a.size:
            weights[a, c] = self.member(candidates[a, c], rows[a])
        self.n_evaluations[rows] += asked.sum(axis=1)
        return weights, asked

    def keep(self, rows: Integers, candidates: Array, weights: Array, there: Flags) -> None:
        """Keep candidates whose (a, c) weights in C+ are known, as long as samples of their kind are lacking.

        A tie, where the question has any, is a candidate of both kinds.
        """
        flips, tied = weights > 0.5, (weights == 0.5) & self.has_ties
        for kind, chosen in enumerate((there & ~flips, there & (flips | tied))):
            place = np.cumsum(chosen, axis=1) - 1 + self.found[rows, kind, None]
            a, c = np.nonzero(chosen & (place < self.m))
            at = (rows[a], place[a, c] + kind * self.m)
            self.samples[at], self.weights[at] = candidates[a, c], np.where(tied[a, c], kind, weights[a, c])
            self.found[rows, kind] = np.minimum(self.found[rows, kind] + chosen.sum(axis=1), self.m)

    def draw_anew(self, rows: Integers) -> None:
        """Give back the samples of the kinds of which some rows lack some, to be drawn again among more candidates."""
        self.found[rows] = np.where(self.found[rows] < self.m, 0, self.found[rows])

    def fresh(self, rows: Integers, candidates: Array) -> Flags:
        """(a, c) candidates that are neither the row itself, nor among its samples, nor here for a second time."""
        known = np.concatenate([self.samples[rows], self.rows[rows, None], candidates], axis=1)
        return first_seen(contents(known))[:, 2 * self.m + 1 :]

    def result(self) -> Perturbations:
        """The samples found: m places for negatives, then m for positives; empty places have weight 0."""
        return gathered(self.rows, self.samples, self.weights, self.found, self.n_evaluations, self.space)


def contents(samples: Array) -> Unsigned:
    """(n, c) hash of each of (n, c, f) samples."""
    return content_keys(samples.reshape(-1, samples.shape[2]), seed=0).reshape(samples.shape[:2])


def first_seen(content: Unsigned) -> Flags:
    """(n, c) hashes that do not repeat an earlier one of their row."""
    order = np.argsort(content, axis=1, kind="stable")
    ordered = np.take_along_axis(content, order, axis=1)
    first = np.ones(content.shape, dtype=bool)
    first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    seen = np.empty(content.shape, dtype=bool)
    np.put_along_axis(seen, order, first, axis=1)
    return seen


def gathered(
    rows: Array, samples: Array, weights: Array, found: Integers, n_evaluations: Integers, space: FeatureSpace
) -> Perturbations:
    """Make a cloud of (n, 2m, d) samples with (n, 2m) weights in C+: m places for negatives, then m for positives.

    ``found`` (n, 2) says how many of the m places are filled; the others get weight 0.
    """
    m = weights.shape[1] // 2
    filled = (np.arange(m) < found[:, :, None]).reshape(weights.shape)
    few_stays, few_flips = (found < m).T
    status = lacking(few_flips, few_stays)
    return Perturbations(rows, samples, weights * filled, (1 - weights) * filled, n_evaluations, status, space.discrete)


def lacking(few_flips: Flags, few_stays: Flags) -> Texts:
    """(n,) the status of rows that lack flips, lack stays or have enough of both."""
    return np.where(few_flips, "insufficient_flips", np.where(few_stays, "insufficient_stays", "ok"))


def check_search(sought: Any, *counts: str) -> None:
    """Refuse ``max_evaluations`` too few for m samples of each kind, and named counts below 1."""
    m, most = as_int(sought.m, "m (samples of each kind)", at_least=2), sought.max_evaluations
    if as_int(most, "max_evaluations") < 2 * m:
        raise InvalidParameter(f"max_evaluations must be at least 2 * m = {2 * m}, not {most}")
    for name in counts:
        as_int(getattr(sought, name), name, at_least=1)


def check_weights(holder: object, *names: str) -> None:
    """Refuse weights that are no numbers from 0 up."""
    for name in names:
        value = getattr(holder, name)
        if not 0 <= as_float(value, name) < float("inf"):
            raise InvalidParameter(f"{name} must be a number from 0 up, not {value}")


LEAST_WEIGHT = 5.0  # of a set that can be compared with the other
RUNS = 2  # whose plans a bound generator remembers
MOST_BYTES = 2**23  # of samples at a time: larger pieces are slower to get from the system than to fill


class Choice(Protocol):
    """What a user chose: how to draw a plan when reference rows are in a given order."""

    def bind(self, space: FeatureSpace, outputs: Array) -> Bound: ...

    def plan(self, space: FeatureSpace, key: Unsigned, order: Integers) -> Plan: ...


class Bound:
    """A choice for one set of reference data: draws the plans of runs, and keeps the last ones in a cache.

    It looks like the choice in records of settings, and travels without its cache. Threads get one and the same plan.
    """

    def __init__(self, choice: Choice, order: Integers, n_features: int) -> None:
        self.choice, self.order, self.n_features = choice, order, n_features
        self._one_at_a_time = threading.Lock()
        self._plan = functools.lru_cache(RUNS * count_variants(n_features))(functools.partial(_plan, choice, order))

    def __repr__(self) -> str:
        return repr(self.choice)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bound, (self.choice, self.order, self.n_features)

    def bind(self, space: FeatureSpace, outputs: Array) -> Bound:
        """Bind the choice to other reference data."""
        return self.choice.bind(space, outputs)

    def draw(self, space: FeatureSpace, key: Unsigned) -> Drawn:
        """Draw the masks and donors of a run, or take those of an earlier one with the same key."""
        with self._one_at_a_time:
            return Drawn(self._plan(space, int(key[0])))

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        """Perturb each row by the plan of seed 0."""
        return self.draw(space, run_key(0))(rows, keys, space, member)


def _plan(choice: Choice, order: Integers, space: FeatureSpace, key: int) -> Plan:
    return choice.plan(space, np.array([key], dtype=np.uint64), order)


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """A generator that follows a plan: all of its samples are evaluated and kept."""

    plan: Plan

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        """Perturb each row as often as the plan says."""
        n_samples = len(self.plan.taken)
        given, positive = [], np.empty((len(rows), n_samples))
        for part in blocks(len(rows), MOST_BYTES // (8 * n_samples * rows.shape[1])):
            samples = self._samples(rows[part], keys[part], space)
            owner = np.repeat(np.arange(len(rows))[part], n_samples)
            positive[part] = member(samples.reshape(-1, rows.shape[1]), owner).reshape(-1, n_samples)
            given += [samples] if self.plan.fitted.any() else []
        return self.cloud(rows, positive, space, np.concatenate(given) if given else None)

    def cloud(self, rows: Array, positive: Array, space: FeatureSpace, given: Array | None = None) -> Perturbations:
        """The cloud of rows whose samples have (n, s) weights in C+; given are those that do not follow the plan."""
        spent = np.full(len(rows), positive.shape[1])
        more = (spent, status(positive), space.discrete)
        return Perturbations(rows, given, positive, 1 - positive, *more, plans=(self.plan,))

    def _samples(self, rows: Array, keys: Unsigned, space: FeatureSpace) -> Array:
        if not self.plan.fitted.any():
            return self.plan.samples(rows)
        plan, pairs = self.plan, len(self.plan.values)
        random = LIMITS.bits(keys, counters(0, len(plan.new) - pairs, space))
        random[:, :pairs] = random[:, np.arange(pairs) // plan.run * plan.run]
        new = _fitted(plan.new[pairs:], rows, random, space)  # complements take what their pairs take
        return np.where(plan.taken, np.concatenate([new[:, :pairs], new], axis=1), rows[:, None])


def counters(start: int, size: int, space: FeatureSpace) -> Unsigned:
    """(size, f) counters of the random bits of some candidates; they follow the order of the ranks."""
    return (np.arange(start, start + size)[:, None] * len(space.rank) + space.rank).astype(np.uint64)


def status(positive: Array) -> Texts:
    """(n,) what rows lack whose samples have (n, s) weights in C+."""
    return lacking(*(weights.sum(axis=1) < LEAST_WEIGHT for weights in (positive, 1 - positive)))


def make_plan(space: FeatureSpace, masks: Flags, donors: Array, **more: Any) -> Plan:
    """Put (p, f) masks and their donors together."""
    features = tuple((column,) for column in range(donors.shape[1]))
    more |= {"weights": space.weights}
    return Plan(masks, ~space.frozen, limited(space), donors, background=space.rows, features=features, **more)


def _fitted(new: Array, rows: Array, random: Unsigned, space: FeatureSpace) -> Array:
    """Fit (p, f) new values to what (n, f) rows may change to, by (n, p, f) random bits: (n, p, f).

    A frozen feature keeps its value. A value that the constraints forbid is replaced by an allowed reference value at
    random; where there is none, by the row's own.
    """
    reach, own = Reach.of(rows, space), rows[:, None]
    count = reach.count[:, None]
    other = np.where(count > 0, reach.value(below(random, count)), own)
    new = np.where(reach.holds(new[None]) | ~limited(space), new, other)
    return np.where(space.frozen, own, new)


def limited(space: FeatureSpace) -> Flags:
    """(f,) features that some reference values may not be changed to."""
    pools = space.pools
    return (pools.sizes + pools.n_missing < len(space.background)) | (space.direction != 0)


def has_limits(space: FeatureSpace) -> bool:
    """Whether some feature may not take every value that the reference data have."""
    return bool(space.frozen.any() or limited(space).any())
