"""Fractional logistic ridge regression of many rows at once, by Newton steps.

The columns may be the same for all rows: then everything but the memberships is computed once, and what is left are
products of matrices. The steps are solved by conjugate gradients with the inverse at equal weights as preconditioner,
so that no row needs a normal matrix of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._data import Array

LEAST_WEIGHT = 0.02  # of a sample: where the fit is sure, p (1 - p) vanishes
STEEPEST = 8.0  # linear predictors end here
DIRECTIONS = 2  # of conjugate gradients in a step
LEAST_PENALTY = 1e-3  # in quarters of the number of samples
WIDE_PENALTY = 0.5  # the same, times the squared number of columns for each sample


class Columns(NamedTuple):
    """What n rows (or, with one for all, any number of them) are regressed on.

    Attributes
    ----------
    centred : (n or 1, s, c)
        Columns of mean 0.
    inverse : (n or 1, c, c)
        Inverse of their normal matrix with the penalty.
    penalty : float
    freedom : (n or 1,)
        Effective number of coefficients, the constant included.
    """

    centred: Array
    inverse: Array
    penalty: float
    freedom: Array


class Fit(NamedTuple):
    """What the steps lead to.

    Attributes
    ----------
    coefficients : (n, c)
    residuals : (n, s)
        Weighted memberships less the fitted ones.
    curvature : (n, 1)
        Mean weight of a sample.
    """

    coefficients: Array
    residuals: Array
    curvature: Array


def prepare(columns: Array, weight: Array | None = None) -> Columns:
    """Centre (n or 1, s, c) columns and invert their normal matrix; (n, s) weights of samples are 1 by default."""
    n_samples, n_columns = columns.shape[1:]
    if weight is None:
        centred = columns - columns.mean(axis=1, keepdims=True)
        normal = centred.transpose(0, 2, 1) @ centred
    else:
        total = np.maximum(weight.sum(axis=1), 1e-300)[:, None, None]
        centred = columns - (weight[:, None, :] @ columns) / total
        normal = (centred * weight[:, :, None]).transpose(0, 2, 1) @ centred
    penalty = n_samples / 4 * (LEAST_PENALTY + WIDE_PENALTY * (n_columns / n_samples) ** 2)
    inverse = np.linalg.inv(normal + penalty * np.eye(n_columns))
    freedom = 1 + n_columns - penalty * np.trace(inverse, axis1=1, axis2=2)
    return Columns(centred, inverse, penalty, freedom)


def fit(columns: Columns, membership: Array, weight: Array | None, steps: int) -> Fit:
    """Fit (n, s) memberships, with (n, s) weights that are 1 by default."""
    given = np.ones((1, membership.shape[1])) if weight is None else weight
    total = np.maximum(given.sum(axis=1, keepdims=True), 1e-300)
    mean = np.clip(np.sum(membership * given, axis=1, keepdims=True) / total, LEAST_WEIGHT, 1 - LEAST_WEIGHT)
    level = np.log(mean / (1 - mean))
    coefficients = np.zeros((len(membership), columns.centred.shape[2]))
    along = np.zeros(membership.shape)  # the linear predictor less its level
    residuals = membership - mean
    curve = np.broadcast_to(mean * (1 - mean), membership.shape)
    for step in range(steps):
        if weight is not None:
            residuals, curve = residuals * weight, curve * weight
        curvature = curve.mean(axis=1, keepdims=True)
        slope = times(residuals, columns.centred) - curvature * columns.penalty * coefficients
        move, moved = _solved(columns, curve, curvature, slope, DIRECTIONS if step else 1)
        coefficients += move
        along += moved
        level += (residuals.mean(axis=1, keepdims=True) - np.mean(curve * moved, axis=1, keepdims=True)) / curvature
        fitted = 1 / (1 + np.exp(-np.clip(along + level, -STEEPEST, STEEPEST)))
        residuals = membership - fitted
        curve = np.maximum(fitted * (1 - fitted), LEAST_WEIGHT)
    if weight is not None:
        residuals, curve = residuals * weight, curve * weight
    return Fit(coefficients, residuals, curve.mean(axis=1, keepdims=True))


def times(rows: Array, matrices: Array) -> Array:
    """Multiply (n, k) rows by (n, k, l) matrices, or all of them by one (1, k, l)."""
    if len(matrices) == 1:
        one: Array = rows @ matrices[0]
        return one
    each: Array = (rows[:, None, :] @ matrices)[:, 0]
    return each


def _solved(columns: Columns, curve: Array, curvature: Array, slope: Array, directions: int) -> tuple[Array, Array]:
    """(n, c) the move that a slope asks for where samples have (n, s) curves, and (n, s) what it adds to each sample.

    With equal curves one direction is the solution.
    """
    across = columns.centred.transpose(0, 2, 1)
    move, moved = np.zeros(slope.shape), np.zeros(curve.shape)
    direction = ahead = times(slope, columns.inverse) / curvature
    size = np.sum(slope * ahead, axis=1, keepdims=True)
    for left in range(directions - 1, -1, -1):
        along = times(direction, across)
        bent = curve * along
        steepness = np.sum(bent * along, axis=1, keepdims=True) - bent.sum(axis=1, keepdims=True) ** 2 / curve.sum(
            axis=1, keepdims=True
        )
        steepness += curvature * columns.penalty * np.sum(direction**2, axis=1, keepdims=True)
        length = np.divide(size, steepness, out=np.zeros(size.shape), where=steepness > 0)
        move += length * direction
        moved += length * along
        if left:
            bent -= curve * (bent.mean(axis=1, keepdims=True) / curvature)
            slope = slope - length * (times(bent, columns.centred) + curvature * columns.penalty * direction)
            ahead = times(slope, columns.inverse) / curvature
            before, size = size, np.sum(slope * ahead, axis=1, keepdims=True)
            direction = ahead + np.divide(size, before, out=np.zeros(size.shape), where=before > 0) * direction
    return move, moved
