"""Which way a feature pulls: ``direction(cloud) -> (n, d)`` of -1, 0 and +1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from xcid.records import Array, Flags, Perturbations

Direction: TypeAlias = Callable[[Perturbations], Array]


def unsigned(cloud: Perturbations) -> Array:
    """Say nothing, as the paper: 0 for every feature."""
    return np.zeros((len(cloud), len(cloud.features)))


def held_in_place(cloud: Perturbations) -> Array:
    """Compare how often the present value survives among negatives and among positives.

    +1: it is commoner where the output stays, so it holds the output in place. -1: it pulls away from it.
    """
    same = kept(cloud).astype(np.float64)
    negative, positive = (_mean(same, weights) for weights in (cloud.negative, cloud.positive))
    return np.sign(negative - positive)


def kept(cloud: Perturbations) -> Flags:
    """(n, s, f) which features have the row's own value, or a group all of its own values."""
    origin = cloud.origin[:, None, :]
    same = (cloud.samples == origin) | (np.isnan(cloud.samples) & np.isnan(origin))
    if len(cloud.features) == same.shape[2]:
        return same
    return np.stack([same[:, :, list(columns)].all(axis=2) for columns in cloud.features], axis=2)


def _mean(kept: Array, weights: Array) -> Array:
    total = np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    result: Array = np.einsum("nsd,ns->nd", kept, weights) / total
    return result
