"""Numbers on a lattice: so many steps in a unit, as many as the background's decimals tell."""

from __future__ import annotations

import numpy as np

from xcid.records import Array

ROUNDING = 1e-6  # of a step: what 0.1 * 10 may be off


def per_unit(resolution: Array) -> Array:
    """Steps in a unit; 1 where there is no lattice."""
    return np.maximum(resolution, 1.0)


def ends(low: Array, high: Array, resolution: Array) -> tuple[Array, Array]:
    """First and last step between two limits; they cross where there is none."""
    steps = per_unit(resolution)
    return np.ceil(low * steps - ROUNDING), np.floor(high * steps + ROUNDING)


def fitted(values: Array, low: Array, high: Array, resolution: Array) -> Array:
    """Bring numbers between two limits, and to the next step where they have a lattice; NaN passes."""
    steps = per_unit(resolution)
    rounded = np.clip(np.rint(values * steps), *ends(low, high, resolution)) / steps
    return np.where(resolution > 0, rounded, np.clip(values, low, high))


def outward(values: Array, own: Array, resolution: Array) -> Array:
    """Round away from the row's own numbers; less than half a step from them is no move."""
    steps = per_unit(resolution)
    away = np.where(values > own, np.ceil(values * steps - ROUNDING), np.floor(values * steps + ROUNDING)) / steps
    return np.where(resolution > 0, np.where(np.abs(values - own) * steps < 0.5, own, away), values)
