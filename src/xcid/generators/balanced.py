"""Masks with their complements; each pair takes its new values from one donor row of the background."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from xcid._check import real, whole
from xcid._data import Array, Flags, Integers, Perturbations, Words
from xcid._kernels import hadamard
from xcid._kernels.random import uniform, words
from xcid._kernels.thinning import thinned
from xcid.errors import InvalidParameter
from xcid.generators.donors import MOST_DONORS, centroids, fitted, limited, similar_order
from xcid.generators.reach import counters
from xcid.generators.search import Member
from xcid.space import FeatureSpace

FEW_FEATURES = 20  # beyond them a row needs more perturbations
LEAST_WEIGHT = 5.0  # of a set that can be told from the other
_START, _MASKS, _CENTRES, _LIMITS, _SHUFFLE = np.arange(14, 19, dtype=np.uint64)[:, None]


@dataclass(frozen=True, slots=True, eq=False)
class Balanced:
    """Perturbations in which features are orthogonal and donors evenly spread: the recommended setting.

    Donors follow an order of the background in which neighbours are alike, and have alike outputs. Runs of them share
    one shuffled Hadamard matrix as masks, so that within a run what a donor does through one feature does not leak
    into the others. Every mask comes with its complement and the same donor. A share of the pairs takes the
    background's centroid instead of a row.

    All samples are asked about and kept, with the weights that the outcome gives them.

    Parameters
    ----------
    n : int, optional
        Perturbations of each row; by default 1,000, and 3,000 for more than 20 features.
    centroid_share : float
        Share of the pairs whose donor is the centroid.
    """

    n: int | None = None
    centroid_share: float = 0.1
    order: Integers | None = None

    def __post_init__(self) -> None:
        _check(self.n, self.centroid_share)

    def __repr__(self) -> str:
        return f"Balanced(n={self.n}, centroid_share={self.centroid_share})"

    def bind(self, space: FeatureSpace, outputs: Array) -> Balanced:
        """Put the background in order."""
        return replace(self, order=similar_order(space, outputs))

    def __call__(self, rows: Array, keys: Words, space: FeatureSpace, member: Member) -> Perturbations:
        """Perturb each row n times."""
        order = similar_order(space, np.zeros((len(space.background), 0))) if self.order is None else self.order
        pairs = _pairs(self.n, rows.shape[1])
        n_centroids = round(self.centroid_share * pairs)
        n_donors = pairs - n_centroids
        start = uniform(words(keys, _START))[:, None]
        donors = order[((np.arange(n_donors) + start) * len(order) / max(n_donors, 1)).astype(np.int64) % len(order)]
        return _cloud(rows, keys, space, member, hadamard.masks(keys, space.rank, pairs), donors, n_centroids)


@dataclass(frozen=True, slots=True)
class Complements:
    """Independent masks with their complements; donors are background rows in random order.

    All samples are asked about and kept, with the weights that the outcome gives them.

    Parameters
    ----------
    n : int, optional
        Perturbations of each row; by default 1,000, and 3,000 for more than 20 features.
    centroid_share : float
        Share of the pairs whose donor is the centroid.
    """

    n: int | None = None
    centroid_share: float = 0.25

    def __post_init__(self) -> None:
        _check(self.n, self.centroid_share)

    def __call__(self, rows: Array, keys: Words, space: FeatureSpace, member: Member) -> Perturbations:
        """Perturb each row n times."""
        pairs, known = _pairs(self.n, rows.shape[1]), thinned(len(space.background), MOST_DONORS)
        n_centroids = round(self.centroid_share * pairs)
        passes = -(-(pairs - n_centroids) // len(known))
        shuffle = words(words(keys, _SHUFFLE)[:, None], np.arange(passes * len(known), dtype=np.uint64))
        donors = known[np.argsort(shuffle.reshape(len(rows), passes, -1), axis=2)].reshape(len(rows), -1)
        masks = (words(words(keys, _MASKS)[:, None, None], counters(0, pairs, space)) >> np.uint64(63)).astype(bool)
        return _cloud(rows, keys, space, member, masks, donors[:, : pairs - n_centroids], n_centroids)


def _check(n: int | None, centroid_share: float) -> None:
    if n is not None:
        whole(n, "n (perturbations)", at_least=8)
    if not 0 <= real(centroid_share, "centroid_share") <= 1:
        raise InvalidParameter(f"centroid_share must lie in [0, 1], not {centroid_share}")


def _pairs(n: int | None, n_features: int) -> int:
    return (n or (1_000 if n_features <= FEW_FEATURES else 3_000)) // 2


def _cloud(
    rows: Array, keys: Words, space: FeatureSpace, member: Member, masks: Flags, donors: Integers, n_centroids: int
) -> Perturbations:
    """Ask about (n, pairs, f) masks and their complements with (n, pairs - n_centroids) donors."""
    pairs = masks.shape[1]
    new = np.concatenate([centroids(words(keys, _CENTRES), space, n_centroids), space.background[donors]], axis=1)
    new = fitted(new, rows, words(keys, _LIMITS), space)
    samples = np.concatenate([np.where(masks, new, rows[:, None, :]), np.where(masks, rows[:, None, :], new)], axis=1)
    owner = np.repeat(np.arange(len(rows)), 2 * pairs)
    positive = member(samples.reshape(-1, rows.shape[1]), owner).reshape(len(rows), 2 * pairs)
    flips, stays = (part.sum(axis=1) < LEAST_WEIGHT for part in (positive, 1 - positive))
    known = getattr(member, "of_background", None)
    outputs = np.zeros((len(rows), pairs))
    if known is not None and donors.size:
        outputs[:, n_centroids:] = known(donors)
        outputs[:, :n_centroids] = outputs[:, n_centroids:].mean(axis=1, keepdims=True)
    return Perturbations(
        rows,
        samples,
        positive,
        1 - positive,
        np.full(len(rows), 2 * pairs),
        np.where(flips, "insufficient_flips", np.where(stays, "insufficient_stays", "ok")),
        space.discrete,
        masks=masks,
        donors=outputs,
        background=space.background,
        limited=limited(space),
    )
