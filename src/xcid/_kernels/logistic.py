"""Fractional logistic ridge regression of many rows at once, by Newton steps.

The columns may be the same for all rows: then everything but the memberships is computed once, and what is left are
products of matrices. The steps are solved by conjugate gradients with the inverse at equal weights as preconditioner,
so that no row needs a normal matrix of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import inner, namespace, products, ratio, times
from xcid.records import Array, Integers

LEAST = 0.02  # of a sample: where the fit is sure, p (1 - p) vanishes
TINY = 1e-300
STEEPEST = 8.0  # linear predictors end here
DIRECTIONS = 2  # of conjugate gradients in a step
LEAST_PENALTY = 1e-3  # in quarters of the number of samples
WIDE_PENALTY = 0.5  # the same, times the squared number of columns for each sample


class Columns(NamedTuple):
    """What n rows (or, with one for all, any number of them) are regressed on."""

    centred: Array  # (n or 1, s, c) columns of mean 0
    inverse: Array  # (n or 1, c, c) of their normal matrix with the penalty; (n or 1, s, s) where samples are fewer
    penalty: float
    freedom: Array  # (n or 1,) effective number of coefficients, the constant included

    @property
    def is_wide(self) -> bool:
        """Whether there are fewer samples than columns; the inverse is then that of the samples' own products."""
        return bool(self.centred.shape[1] < self.centred.shape[2])

    def solve(self, slope: Array) -> Array:
        """Multiply (n, c) slopes by the inverse of the normal matrix (by Woodbury's identity where it is wide)."""
        if not self.is_wide:
            return times(slope, self.inverse)
        seen = times(times(slope, self.centred.swapaxes(1, 2)), self.inverse)
        return (slope - times(seen, self.centred)) / self.penalty

    def influences(self, contrasts: Array, feature: Integers) -> Array:
        """(n or 1, s, f) what a unit of each residual does to (n or 1, c, f) contrasts; columns are of one feature."""
        if not self.is_wide:
            narrow: Array = self.centred @ (self.inverse @ contrasts)
            return narrow
        starts = np.searchsorted(feature, np.arange(contrasts.shape[2]))
        along = np.add.reduceat(self.centred * contrasts.sum(axis=2)[:, None, :], starts, axis=2)
        wide: Array = (along - products(self.centred) @ (self.inverse @ along)) / self.penalty
        return wide


class Fit(NamedTuple):
    """What the steps lead to."""

    coefficients: Array  # (n, c)
    residuals: Array  # (n, s) weighted memberships less the fitted ones
    curvature: Array  # (n, 1) mean weight of a sample


def prepare(columns: Array, weight: Array | None = None) -> Columns:
    """Centre (n or 1, s, c) columns and invert their normal matrix; (n, s) weights of samples are 1 by default."""
    n_samples, n_columns = columns.shape[1:]
    if weight is None:
        centred = columns - columns.mean(axis=1, keepdims=True)
    else:
        total = np.maximum(weight.sum(axis=1), TINY)[:, None, None]
        centred = columns - (weight[:, None, :] @ columns) / total
    penalty = n_samples / 4 * (LEAST_PENALTY + WIDE_PENALTY * (n_columns / n_samples) ** 2)
    if n_columns > n_samples:
        root = np.sqrt(np.ones((1, n_samples)) if weight is None else weight)
        both = root[:, :, None] * root[:, None, :]
        normal = products(centred) * both
    elif weight is None:
        normal = products(centred.transpose(0, 2, 1))
    else:
        normal = (centred * weight[:, :, None]).transpose(0, 2, 1) @ centred
    size = normal.shape[1]
    inverse = np.linalg.inv(normal + penalty * np.eye(size))
    freedom = 1 + size - penalty * np.trace(inverse, axis1=1, axis2=2)
    return Columns(centred, inverse * both if n_columns > n_samples else inverse, penalty, freedom)


def fit(columns: Columns, membership: Array, weight: Array | None, steps: int) -> Fit:
    """Fit (n, s) memberships, with (n, s) weights that are 1 by default; arrays of NumPy or tensors of torch."""
    xp, n_samples = namespace(membership), membership.shape[1]
    if weight is None:
        mean = membership.mean(axis=1, keepdims=True)
    else:
        mean = ratio(inner(membership, weight), weight.sum(axis=1, keepdims=True))
    mean = xp.clip(mean, LEAST, 1 - LEAST)
    level = xp.log(mean / (1 - mean))
    coefficients = xp.zeros_like(membership[:, :1] * columns.centred[0, :1])
    along = xp.zeros_like(membership)  # the linear predictor less its level
    residuals, curve = membership - mean, xp.broadcast_to(mean * (1 - mean), membership.shape)
    for step in range(steps):
        if weight is not None:
            residuals, curve = residuals * weight, curve * weight
        total = curve.sum(axis=1, keepdims=True)
        slope = times(residuals, columns.centred) - total / n_samples * columns.penalty * coefficients
        move, moved = _solved(columns, curve, total, slope, DIRECTIONS if step else 1)
        coefficients += move
        along += moved
        level += (residuals.sum(axis=1, keepdims=True) - inner(curve, moved)) / total
        residuals, curve = _left(membership, along, level)
    if weight is not None:
        residuals, curve = residuals * weight, curve * weight
    return Fit(coefficients, residuals, curve.mean(axis=1, keepdims=True))


def _left(membership: Array, along: Array, level: Array) -> tuple[Array, Array]:
    """(n, s) what a fit leaves of the memberships, and how much it bends at each sample."""
    xp, fitted = namespace(membership), along + level
    xp.clip(fitted, -STEEPEST, STEEPEST, out=fitted)
    xp.negative(fitted, out=fitted)
    xp.exp(fitted, out=fitted)
    fitted += 1
    xp.reciprocal(fitted, out=fitted)
    curve = 1 - fitted
    curve *= fitted
    xp.clip(curve, LEAST, None, out=curve)
    return xp.subtract(membership, fitted, out=fitted), curve


def _solved(columns: Columns, curve: Array, total: Array, slope: Array, directions: int) -> tuple[Array, Array]:
    """(n, c) the move that a slope asks for where samples have (n, s) curves, and (n, s) what it adds to each sample.

    ``total`` (n, 1) is the sum of the curves. With equal curves one direction is the solution.
    """
    xp, across = namespace(slope), columns.centred.swapaxes(1, 2)
    curvature = total / curve.shape[1]
    move, moved = xp.zeros_like(slope), xp.zeros_like(curve)
    direction = ahead = columns.solve(slope) / curvature
    size = inner(slope, ahead)
    for left in range(directions - 1, -1, -1):
        along = times(direction, across)
        bent = curve * along
        middle = bent.sum(axis=1, keepdims=True) / total
        steepness = inner(bent, along) - middle**2 * total + curvature * columns.penalty * inner(direction, direction)
        length = ratio(size, steepness)
        move += length * direction
        if left:
            bent -= curve * middle
            slope = slope - length * (times(bent, columns.centred) + curvature * columns.penalty * direction)
            ahead = columns.solve(slope) / curvature
            before, size = size, inner(slope, ahead)
            direction = ahead + ratio(size, before) * direction
        along *= length
        moved += along
    return move, moved
