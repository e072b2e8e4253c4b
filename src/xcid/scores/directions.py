"""Which way a feature pulls: ``direction(cloud) -> (n, d)`` of -1, 0 and +1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from xcid._data import Array, Perturbations

Direction: TypeAlias = Callable[[Perturbations], Array]


def unsigned(cloud: Perturbations) -> Array:
    """Say nothing, as the paper: 0 for every feature."""
    return np.zeros(cloud.origin.shape)


def held_in_place(cloud: Perturbations) -> Array:
    """Compare how often the present value survives among negatives and among positives.

    +1: it is commoner where the output stays, so it holds the output in place. -1: it pulls away from it.
    """
    origin = cloud.origin[:, None, :]
    kept = ((cloud.samples == origin) | (np.isnan(cloud.samples) & np.isnan(origin))).astype(np.float64)
    negative, positive = (_mean(kept, weights) for weights in (cloud.negative, cloud.positive))
    return np.sign(negative - positive)


def _mean(kept: Array, weights: Array) -> Array:
    total = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    result: Array = np.einsum("nsd,ns->nd", kept, weights) / total
    return result
