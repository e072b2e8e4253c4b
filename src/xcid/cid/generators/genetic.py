"""A genetic search for perturbations that are valid, near, sparse and diverse, all rows of a block at once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._check import as_int
from xcid._kernels.arrays import same
from xcid._kernels.random import GENETIC, below, uniform
from xcid.cid.generators.reach import Metric, Reach
from xcid.cid.generators.search import (
    Member,
    Search,
    check_search,
    check_weights,
    contents,
    counters,
    first_seen,
    gathered,
)
from xcid.errors import InvalidParameter
from xcid.records import Array, Flags, Integers, Perturbations, Unsigned
from xcid.table import FeatureSpace

BROOD = 2  # children of both kinds for each member of a population
NEWCOMERS = 0.15  # of the children have no parents
BACK, NEARER = 0.2, 0.3  # of the changed features return to the row's own value, or part of the way
MUTATIONS = 0.5  # features of a child that take a reference value, expected
PATIENCE = 3  # generations without a new candidate before a row gives up


@dataclass(frozen=True, slots=True)
class Genetic:
    """Near, sparse and diverse perturbations by a genetic search in the manner of DiCE's and of NSGA-II.

    A row has two populations, one of candidates that flip and one of candidates that do not, and every candidate that
    the model has evaluated may enter the one where it belongs. Children mix the features of two parents; then some
    features take a reference value, go back to the row's own, or part of the way. Some children have no parents but
    reference values in a random share of their features. Nothing is evaluated twice.

    A population keeps those of the best mean rank in three aims: a short distance to the row (in mean absolute
    deviations), few changes, and changes to values that are rare and far from those of the others. In the end m of each
    population are chosen one by one, the one farthest from all chosen before.

    Parameters
    ----------
    m, max_evaluations : int
        Positives and negatives to find for each row, and the most evaluations for it.
    population : int
        Candidates of each kind to keep; a generation has twice as many children.
    generations : int
        After them a row is done; while samples of a kind are lacking, more follow as long as evaluations last.
    diversity : float
        Weight of a fourth aim, as many such changes as can be: 0 for what is near and sparse; at 4 samples are some
        three times as far from the row, and from each other.
    """

    m: int = 50
    max_evaluations: int = 4_000
    population: int = 75
    generations: int = 20
    diversity: float = 0.0

    def __post_init__(self) -> None:
        check_search(self, "generations")
        if as_int(self.population, "population") < self.m:
            raise InvalidParameter(f"population must be at least m = {self.m}, not {self.population}")
        check_weights(self, "diversity")

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        search = Search(rows, space, member, 0, self.max_evaluations)  # it asks, and herds keep what it finds
        herds = _Herds(search, self)
        generation = 0
        while (at := herds.open(self.m if generation >= self.generations else np.inf)).size:
            herds.ask(at, _children(herds, keys[at], at, self.m, generation))
            generation += 1
        place = herds.spread(self.m)
        samples = np.take_along_axis(herds.samples, place[..., None], axis=2).reshape(len(rows), 2 * self.m, -1)
        weights = np.take_along_axis(herds.weights, place, axis=2).reshape(len(rows), 2 * self.m)
        return gathered(rows, samples, weights, np.minimum(herds.found, self.m), search.n_evaluations, space)


class _Herds:
    """The populations of a block of rows, best first: (n, 2, p), negatives and positives."""

    def __init__(self, search: Search, settings: Genetic) -> None:
        self.search, self.size, self.diversity = search, settings.population, settings.diversity
        self.reach, self.metric = Reach.of(search.rows, search.space), Metric.of(search.space)
        n_rows, n_features = search.rows.shape
        self.samples = np.repeat(search.rows, 2 * self.size, axis=0).reshape(n_rows, 2, self.size, n_features)
        self.weights = np.zeros((n_rows, 2, self.size))  # in C+
        self.found = np.zeros((n_rows, 2), dtype=np.int64)
        self.known = contents(search.rows[:, None])  # the rows, and what was asked
        self.barren = np.zeros(n_rows, dtype=np.int64)  # generations in a row without a new candidate

    def open(self, wanted: float) -> Integers:
        """Rows that lack some of the wanted number of each kind and may still find them."""
        lacking = (self.found < wanted).any(axis=1)
        affordable = self.search.n_evaluations < self.search.budget
        return np.flatnonzero(lacking & affordable & (self.barren < PATIENCE))

    def ask(self, at: Integers, children: Array) -> None:
        """Evaluate (a, c, f) children of some rows, and let the best stay."""
        content, n_known = contents(children), self.known.shape[1]
        new = first_seen(np.concatenate([self.known[at], content], axis=1))[:, n_known:]
        weights, there = self.search.ask(at, children, new)
        self.barren[at] = np.where(there.any(axis=1), 0, self.barren[at] + 1)
        own = np.repeat(self.known[:, :1], content.shape[1], axis=1)
        self.known = np.concatenate([self.known, own], axis=1)
        self.known[at, n_known:] = np.where(there, content, own[at])
        for kind, chosen in enumerate((there & (weights <= 0.5), there & (weights > 0.5))):
            self._admit(at, kind, children, weights, chosen)

    def _admit(self, at: Integers, kind: int, children: Array, weights: Array, chosen: Flags) -> None:
        """Keep the best of a population and its new members."""
        samples = np.concatenate([self.samples[at, kind], children], axis=1)
        weights = np.concatenate([self.weights[at, kind], weights], axis=1)
        there = np.concatenate([np.arange(self.size) < self.found[at, kind, None], chosen], axis=1)
        cost = _cost(samples, there, self.reach.rows[at], self.metric, self.diversity)
        order = np.argsort(cost, axis=1, kind="stable")[:, : self.size]
        self.samples[at, kind] = np.take_along_axis(samples, order[..., None], axis=1)
        self.weights[at, kind] = np.take_along_axis(weights, order, axis=1)
        self.found[at, kind] = np.minimum(there.sum(axis=1), self.size)

    def spread(self, m: int) -> Integers:
        """(n, 2, m) places of members chosen one by one: first the best, then the farthest from those chosen."""
        row, kind = np.ogrid[: len(self.found), :2]
        nearest = np.where(np.arange(self.size) < self.found[:, :, None], np.inf, -np.inf)
        place = np.zeros((len(self.found), 2, m), dtype=np.int64)
        for turn in range(m):
            place[:, :, turn] = np.argmax(nearest, axis=2)
            chosen = self.samples[row, kind, place[:, :, turn]]
            nearest = np.minimum(nearest, self.metric.between(self.samples, chosen[:, :, None, :]))
            nearest[row, kind, place[:, :, turn]] = -1.0  # above what is not there
        return place


def _cost(samples: Array, there: Flags, rows: Array, metric: Metric, diversity: float) -> Array:
    """(a, p) sum of the standings in the aims; infinite for what is not there."""
    distance = metric.between(samples, rows[:, None])
    changes = np.sum(~same(samples, rows[:, None]), axis=2)
    room = np.zeros(there.shape)
    for feature in metric.order:
        room += _room(samples[..., feature], there, metric, feature)
    aims = distance, changes, -room / np.maximum(changes, 1)
    cost = sum(_standing(aim, there) for aim in aims) + (diversity * _standing(-room, there) if diversity else 0.0)
    return np.where(there, cost, np.inf)


def _room(values: Array, there: Flags, metric: Metric, feature: int) -> Array:
    """(a, p) distance of each value to the nearest other one, shared by all that have it."""
    order = np.lexsort((np.where(np.isnan(values), np.inf, values), ~there), axis=1)
    ordered, present = np.take_along_axis(values, order, axis=1), np.take_along_axis(there, order, axis=1)
    place = np.arange(values.shape[1] + 1)
    gaps = np.full((len(values), values.shape[1] + 1), np.inf)
    gaps[:, 1:-1] = np.where(present[:, 1:], metric.gap(ordered[:, 1:], ordered[:, :-1], feature), np.inf)
    first = np.maximum.accumulate(np.where(gaps > 0, place, 0)[:, :-1], axis=1)  # of the same value
    last = np.minimum.accumulate(np.where(gaps > 0, place, place[-1])[:, :0:-1], axis=1)[:, ::-1]
    nearest = np.minimum(np.take_along_axis(gaps, first, axis=1), np.take_along_axis(gaps, last, axis=1))
    room = np.empty(values.shape)
    np.put_along_axis(room, order, np.where(np.isinf(nearest), 0.0, nearest) / (last - first), axis=1)
    return room


def _standing(values: Array, there: Flags) -> Array:
    """(a, p) places of values in ascending order, as shares of those that are there."""
    order = np.argsort(np.where(there, values, np.inf), axis=1, kind="stable")
    ordered = np.take_along_axis(values, order, axis=1)
    later = np.ones(values.shape, dtype=bool)
    later[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    first = np.maximum.accumulate(np.where(later, np.arange(values.shape[1]), 0), axis=1)  # ties share a place
    place = np.empty(values.shape)
    np.put_along_axis(place, order, first, axis=1)
    return place / np.maximum(there.sum(axis=1, keepdims=True), 1)


def _children(herds: _Herds, keys: Unsigned, at: Integers, m: int, generation: int) -> Array:
    """(a, c, f) candidates of some rows."""
    reach, n_children, n_features = herds.reach[at], BROOD * herds.size, len(herds.metric.order)
    of_child = (generation * n_children + np.arange(n_children)).astype(np.uint64)
    of_cell = counters(generation * n_children, n_children, reach.space)
    first, second, new, share = (stream.bits(keys, of_child) for stream in GENETIC[:4])
    cross, kind, value, step = (stream.bits(keys, of_cell) for stream in GENETIC[4:])

    lacking = herds.found[at] < m  # a child is to be of the kind that is lacking, or of either by turns
    sought = np.where(lacking[:, :1] == lacking[:, 1:], np.arange(n_children) % 2, lacking[:, 1:])
    size = np.take_along_axis(herds.found[at], sought, axis=1)
    best_of_two = [np.minimum(below(random, size), below(random << np.uint64(32), size)) for random in (first, second)]
    mixed = np.where(uniform(cross) < 0.5, *(herds.samples[at[:, None], sought, place] for place in best_of_two))

    drawn, own = reach.drawn(value), reach.rows[:, None]
    part_of_the_way = reach.fitted(own + (mixed - own) * uniform(step))
    part_of_the_way = np.where(herds.metric.discrete | np.isnan(part_of_the_way), own, part_of_the_way)
    chance, moved = uniform(kind), ~same(mixed, own)
    changed = np.where(moved & (chance < BACK), own, mixed)
    changed = np.where(moved & (chance >= BACK) & (chance < BACK + NEARER), part_of_the_way, changed)
    changed = np.where(chance >= 1 - MUTATIONS / n_features, drawn, changed)

    newcomer = np.where(uniform(cross) < uniform(share)[..., None] ** 2, drawn, own)
    return np.where(((uniform(new) < NEWCOMERS) | (size == 0))[..., None], newcomer, changed)
