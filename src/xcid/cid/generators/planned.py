"""Generators whose rows all follow one plan: what is bound to a background, what is drawn for a run, and the cloud."""

from __future__ import annotations

import functools
import threading
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from xcid._kernels.arrays import blocks
from xcid._kernels.random import LIMITS, below, run_key
from xcid.cid.generators.reach import Reach, counters
from xcid.cid.generators.search import Member, lacking
from xcid.records import Array, Flags, Integers, Perturbations, Plan, Texts, Unsigned
from xcid.table import FeatureSpace

LEAST_WEIGHT = 5.0  # of a set that can be compared with the other
MOST_PLANS = 16  # that a bound generator remembers
MOST_BYTES = 2**23  # of samples at a time: larger pieces are slower to get from the system than to fill


class Choice(Protocol):
    """What a user chose: how to draw a plan when background rows are in a given order."""

    def bind(self, space: FeatureSpace, outputs: Array) -> Bound: ...

    def plan(self, space: FeatureSpace, key: Unsigned, order: Integers) -> Plan: ...


class Bound:
    """A choice for one background: draws the plans of runs, and keeps the last ones in a cache.

    It looks like the choice in records of settings, and travels without its cache. Threads get one and the same plan.
    """

    def __init__(self, choice: Choice, order: Integers) -> None:
        self.choice, self.order = choice, order
        self._one_at_a_time = threading.Lock()
        self._plan = functools.lru_cache(MOST_PLANS)(functools.partial(_plan, choice, order))

    def __repr__(self) -> str:
        return repr(self.choice)

    def __reduce__(self) -> tuple[Any, ...]:
        return Bound, (self.choice, self.order)

    def bind(self, space: FeatureSpace, outputs: Array) -> Bound:
        """Bind the choice to another background."""
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
    """A generator that follows a plan: all of its samples are asked about and kept."""

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


def status(positive: Array) -> Texts:
    """(n,) what rows lack whose samples have (n, s) weights in C+."""
    return lacking(*(weights.sum(axis=1) < LEAST_WEIGHT for weights in (positive, 1 - positive)))


def planned(space: FeatureSpace, masks: Flags, donors: Array, **more: Any) -> Plan:
    """Put (p, f) masks and their donors together."""
    features = tuple((column,) for column in range(donors.shape[1]))
    more |= {"weights": space.weights}
    return Plan(masks, ~space.frozen, limited(space), donors, background=space.rows, features=features, **more)


def _fitted(new: Array, rows: Array, random: Unsigned, space: FeatureSpace) -> Array:
    """Fit (p, f) new values to what (n, f) rows may change to, by (n, p, f) random bits: (n, p, f).

    A frozen feature keeps its value. A value that the constraints forbid is replaced by an allowed background value at
    random; where there is none, by the row's own.
    """
    reach, own = Reach.of(rows, space), rows[:, None]
    count = reach.count[:, None]
    other = np.where(count > 0, reach.value(below(random, count)), own)
    new = np.where(reach.holds(new[None]) | ~limited(space), new, other)
    return np.where(space.frozen, own, new)


def limited(space: FeatureSpace) -> Flags:
    """(f,) features that some background values may not be changed to."""
    pools = space.pools
    return (pools.sizes + pools.n_missing < len(space.background)) | (space.direction != 0)
