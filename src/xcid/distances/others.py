"""Other distances between densities of mass 1, for comparison."""

from __future__ import annotations

import numpy as np

from xcid.records import Array


def total_variation(p: Array, q: Array, weights: Array) -> Array:
    """Half the integral of ``|p - q|``; for unit masses d_1 = 2T / (1 + T), so that both rank alike."""
    result: Array = 0.5 * np.einsum("...g,...g->...", np.abs(p - q), weights)
    return result


def hellinger(p: Array, q: Array, weights: Array) -> Array:
    """Root of half the integral of (sqrt p - sqrt q)**2."""
    gap = np.sqrt(p) - np.sqrt(q)
    result: Array = np.sqrt(0.5 * np.einsum("...g,...g,...g->...", gap, gap, weights))
    return result
