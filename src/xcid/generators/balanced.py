"""Masks with their complements; each pair takes its new values from one donor row of the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from xcid._check import as_float, as_int
from xcid._kernels import hadamard
from xcid._kernels.random import run_key, uniform, words
from xcid._kernels.thinning import thinned
from xcid.errors import InvalidParameter
from xcid.generators.donors import MOST_DONORS, centroids, fitted, limited, similar_order
from xcid.generators.reach import counters
from xcid.generators.search import Member
from xcid.records import Array, Flags, Integers, Perturbations, Plan, Unsigned
from xcid.space import FeatureSpace

FEW_FEATURES = 20  # beyond them a row needs more perturbations
LEAST_WEIGHT = 5.0  # of a set that can be told from the other
MOST_PLANS = 8  # that a generator remembers
MOST_BYTES = 2**23  # of samples at a time: larger pieces are slower to get from the system than to fill
_START, _MASKS, _CENTRES, _LIMITS, _SHUFFLE = np.arange(14, 19, dtype=np.uint64)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Balanced:
    """Perturbations in which features are orthogonal and donors evenly spread: the recommended setting.

    Donors follow an order of the background in which neighbours are alike, and have alike outputs. Runs of them share
    one shuffled Hadamard matrix as masks, so that within a run what a donor does through one feature does not leak
    into the others. Every mask comes with its complement and the same donor. A share of the pairs takes the
    background's centroid instead of a row.

    Masks and donors depend on the seed alone: all rows have the same, so that what follows from them is computed once,
    and rows are compared like with like. All samples are asked about and kept, with the weights that the outcome gives
    them.

    Parameters
    ----------
    n : int, optional
        Perturbations of each row; by default 1,000, and 3,000 for more than 20 features.
    centroid_share : float
        Share of the pairs whose donor is the centroid.
    """

    n: int | None = None
    centroid_share: float = 0.1
    order: Integers | None = field(default=None, repr=False)
    plan: Plan | None = field(default=None, repr=False)
    plans: dict[int, Plan] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _check(self.n, self.centroid_share)

    def bind(self, space: FeatureSpace, outputs: Array) -> Balanced:
        """Put the background in order."""
        return replace(self, order=similar_order(space, outputs), plans={})

    def draw(self, space: FeatureSpace, key: Unsigned) -> Balanced:
        """Draw the masks and donors of a run."""
        if self.order is None:
            return self.bind(space, np.zeros((len(space.background), 0))).draw(space, key)
        return replace(self, plan=_remembered(self.plans, key, lambda: self._drawn(space, key)))

    def _drawn(self, space: FeatureSpace, key: Unsigned) -> Plan:
        order = np.arange(len(space.background)) if self.order is None else self.order
        pairs = _pairs(self.n, len(space.names))
        n_centroids = round(self.centroid_share * pairs)
        n_donors = pairs - n_centroids
        start = uniform(words(key, _START))
        donors = order[((np.arange(n_donors) + start) * len(order) / max(n_donors, 1)).astype(np.int64) % len(order)]
        return _plan(space, key, hadamard.masks(key, space.rank, pairs), donors, n_centroids)

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        """Perturb each row n times."""
        if self.plan is None:
            return self.draw(space, run_key(0))(rows, keys, space, member)
        return _cloud(rows, keys, space, member, self.plan)


@dataclass(frozen=True, slots=True, eq=False)
class Complements:
    """Independent masks with their complements; donors are background rows in random order.

    Masks and donors depend on the seed alone. All samples are asked about and kept, with the weights that the outcome
    gives them.

    Parameters
    ----------
    n : int, optional
        Perturbations of each row; by default 1,000, and 3,000 for more than 20 features.
    centroid_share : float
        Share of the pairs whose donor is the centroid.
    """

    n: int | None = None
    centroid_share: float = 0.25
    plan: Plan | None = field(default=None, repr=False)
    plans: dict[int, Plan] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        _check(self.n, self.centroid_share)

    def bind(self, space: FeatureSpace, outputs: Array) -> Complements:
        """Forget plans for other backgrounds."""
        return replace(self, plans={})

    def draw(self, space: FeatureSpace, key: Unsigned) -> Complements:
        """Draw the masks and donors of a run."""
        return replace(self, plan=_remembered(self.plans, key, lambda: self._drawn(space, key)))

    def _drawn(self, space: FeatureSpace, key: Unsigned) -> Plan:
        pairs, known = _pairs(self.n, len(space.names)), thinned(len(space.background), MOST_DONORS)
        n_centroids = round(self.centroid_share * pairs)
        passes = -(-(pairs - n_centroids) // len(known))
        shuffle = words(words(key, _SHUFFLE), np.arange(passes * len(known), dtype=np.uint64))
        donors = known[np.argsort(shuffle.reshape(passes, -1), axis=1)].ravel()[: pairs - n_centroids]
        masks = (words(words(key, _MASKS), counters(0, pairs, space)) >> np.uint64(63)).astype(bool)
        return _plan(space, key, masks, donors, n_centroids)

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        """Perturb each row n times."""
        if self.plan is None:
            return self.draw(space, run_key(0))(rows, keys, space, member)
        return _cloud(rows, keys, space, member, self.plan)


def _check(n: int | None, centroid_share: float) -> None:
    if n is not None:
        as_int(n, "n (perturbations)", at_least=8)
    if not 0 <= as_float(centroid_share, "centroid_share") <= 1:
        raise InvalidParameter(f"centroid_share must lie in [0, 1], not {centroid_share}")


def _pairs(n: int | None, n_features: int) -> int:
    return (n or (1_000 if n_features <= FEW_FEATURES else 3_000)) // 2


def _remembered(plans: dict[int, Plan], key: Unsigned, make: Callable[[], Plan]) -> Plan:
    if int(key[0]) not in plans:
        if len(plans) >= MOST_PLANS:
            plans.clear()
        plans[int(key[0])] = make()
    return plans[int(key[0])]


def _plan(space: FeatureSpace, key: Unsigned, masks: Flags, donors: Integers, n_centroids: int) -> Plan:
    """Put (p, f) masks and their donors together; the first pairs take centroids."""
    values = np.concatenate([centroids(words(key, _CENTRES), space, n_centroids)[0], space.background[donors]])
    features = tuple((column,) for column in range(values.shape[1]))
    return Plan(masks, ~space.frozen, limited(space), values, space.background, features)


def _cloud(rows: Array, keys: Unsigned, space: FeatureSpace, member: Member, plan: Plan) -> Perturbations:
    """Ask about all samples of a plan."""
    n_samples = 2 * len(plan.masks)
    size = max(1, MOST_BYTES // (8 * n_samples * rows.shape[1]))
    given, positive = [], np.empty((len(rows), n_samples))
    for start in range(0, len(rows), size):
        part = slice(start, start + size)
        samples = _samples(rows[part], keys[part], space, plan)
        owner = np.repeat(np.arange(len(rows))[part], n_samples)
        positive[part] = member(samples.reshape(-1, rows.shape[1]), owner).reshape(-1, n_samples)
        given += [samples] if plan.fitted.any() else []
    negative = 1 - positive
    flips, stays = (part.sum(axis=1) < LEAST_WEIGHT for part in (positive, negative))
    return Perturbations(
        rows,
        np.concatenate(given) if given else None,
        positive,
        negative,
        np.full(len(rows), n_samples),
        np.where(flips, "insufficient_flips", np.where(stays, "insufficient_stays", "ok")),
        space.discrete,
        plan=plan,
    )


def _samples(rows: Array, keys: Unsigned, space: FeatureSpace, plan: Plan) -> Array:
    if not plan.fitted.any():
        return plan.samples(rows)
    new = fitted(plan.values[None], rows, words(keys, _LIMITS), space)
    return np.where(plan.taken, np.concatenate([new, new], axis=1), rows[:, None])
