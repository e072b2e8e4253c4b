"""Bring samples of any shape and scale into one form: a list of items of order one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid.records import Array, Flags, Integers

SMALLEST_UNIT, LARGEST_UNIT = 1e-303, 1e303  # so that neither a density nor the width of a cell overflows


@dataclass(frozen=True, slots=True, eq=False)
class Items:
    """Samples of b features, flattened over the leading axes, shifted and scaled to [0, 1]."""

    batch: tuple[int, ...]  # the leading axes
    values: Array  # (b, s) samples in units of the item's range; places without weight hold 0
    positive: Array  # (b, s) weights that sum to 1, or to 0 for an empty set
    negative: Array
    totals: tuple[Array, Array]  # (b, 1) what they summed to before
    shift: Array  # (b,) smallest sample and
    unit: Array  # length of one unit, both divided by 2**exponent
    exponent: np.ndarray[tuple[int, ...], np.dtype[np.int32]]

    @property
    def used(self) -> Flags:
        """Samples with weight in either set."""
        used: Flags = (self.positive > 0) | (self.negative > 0)
        return used

    @property
    def given_weights(self) -> tuple[Array, Array]:
        """Weights as they came: what a label-free bandwidth pools."""
        return self.positive * self.totals[0], self.negative * self.totals[1]

    @property
    def length(self) -> Array:
        """Length of one unit in the user's scale."""
        with np.errstate(over="ignore"):  # values from one end of the numbers to the other
            return np.clip(np.ldexp(self.unit, self.exponent), SMALLEST_UNIT, LARGEST_UNIT)

    def raw(self, points: Array, items: Integers) -> Array:
        """Bring (b, g) points of the given items back to the user's scale."""
        finite = np.finfo(np.float64).max
        with np.errstate(over="ignore"):
            raw = points * self.length[items, None]
            raw += np.ldexp(self.shift, self.exponent)[items, None]
        return np.clip(raw, -finite, finite, out=raw)


def flatten(values: Array, positive: Array, negative: Array) -> Items:
    """Make items; the power of two taken out first keeps scales of 1e-300 and 1e300 exact."""
    values, positive, negative = np.broadcast_arrays(values, positive, negative)
    batch, n_samples = values.shape[:-1], values.shape[-1]
    values, positive, negative = (part.reshape(-1, n_samples) for part in (values, positive, negative))
    totals = positive.sum(axis=1, keepdims=True), negative.sum(axis=1, keepdims=True)
    positive, negative = (_divided(part, total) for part, total in zip((positive, negative), totals, strict=True))
    used = (positive > 0) | (negative > 0)
    _, exponent = np.frexp(np.max(np.where(used, np.abs(values), 0), axis=1))
    values = np.ldexp(values, -exponent[:, None])
    low = np.min(np.where(used, values, np.inf), axis=1)
    high = np.max(np.where(used, values, -np.inf), axis=1)
    low = np.where(np.isfinite(low), low, 0.0)
    unit = np.where(high > low, high - low, 1.0)
    scaled = np.where(used, (values - low[:, None]) / unit[:, None], 0.0)
    return Items(batch, scaled, positive, negative, totals, low, unit, exponent)


def _divided(weights: Array, total: Array) -> Array:
    return np.divide(weights, total, out=np.zeros(weights.shape), where=total > 0)
