"""Which way a feature pulls: ``direction(cloud) -> (n, d)`` of -1, 0 and +1."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from xcid._kernels.arrays import same
from xcid.records import Array, Flags, Perturbations

Direction: TypeAlias = Callable[[Perturbations], Array]


def unsigned(cloud: Perturbations) -> Array:
    """Say nothing, as the paper: 0 for every feature."""
    return np.zeros((len(cloud), len(cloud.features)))


def held_in_place(cloud: Perturbations) -> Array:
    """Compare how often the present value survives among negatives and among positives.

    +1: it is commoner where the output stays, so it holds the output in place. -1: it pulls away from it.
    """
    unchanged = kept(cloud).astype(np.float64)
    shares = [
        np.einsum("nsd,ns->nd", unchanged, weights)
        / np.maximum(weights.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        for weights in (cloud.negative, cloud.positive)
    ]
    return np.sign(shares[0] - shares[1])


def kept(cloud: Perturbations) -> Flags:
    """(n, s, f) which features have the row's own value, or a group all of its own values."""
    cells = same(cloud.samples, cloud.origin[:, None, :])
    if all(columns == (at,) for at, columns in enumerate(cloud.features)):
        return cells  # every column is a feature
    return np.stack([cells[:, :, list(columns)].all(axis=2) for columns in cloud.features], axis=2)
