"""Fractional logistic ridge regression of many rows at once, by Newton steps.

The penalty of every step comes from generalised cross-validation (Golub, Heath and Wahba, "Generalized cross-validation
as a method for choosing a good ridge parameter", Technometrics 1979).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._data import Array

PENALTIES = np.logspace(-4, 1.5, 10)  # in quarters of the number of samples
LEAST_WEIGHT = 0.02  # of a sample: where the fit is sure, p (1 - p) vanishes
STEEPEST = 8.0  # linear predictors end here
MOST_FREEDOM = 0.95  # of the number of samples


class Step(NamedTuple):
    """What one Newton step leaves behind for n rows, s samples and c columns.

    Attributes
    ----------
    coefficients : (n, c)
    predictor : (n, s)
        The linear predictor.
    centre : (n, c)
        Weighted mean of the design.
    scores : (n, s)
        Weighted residual of each sample.
    vectors, values : (n, c, c), (n, c)
        The penalised normal matrix, as its eigenvectors and eigenvalues.
    freedom : (n,)
        Effective number of coefficients, the constant included.
    """

    coefficients: Array
    predictor: Array
    centre: Array
    scores: Array
    vectors: Array
    values: Array
    freedom: Array

    def solve(self, contrasts: Array) -> Array:
        """Give (n, f, c) contrasts times the inverse of the penalised normal matrix."""
        result: Array = (contrasts @ self.vectors / self.values[:, None, :]) @ self.vectors.transpose(0, 2, 1)
        return result


def start(membership: Array, given: Array) -> Array:
    """(n, s) the linear predictor of the mean alone, for (n, s) memberships and weights."""
    known = np.clip(membership, LEAST_WEIGHT, 1 - LEAST_WEIGHT)
    total = np.sum(given, axis=1, keepdims=True)
    mean = np.sum(known * given, axis=1, keepdims=True) / np.where(total > 0, total, 1.0)
    mean = np.where(total > 0, mean, 0.5)
    return np.broadcast_to(np.log(mean / (1 - mean)), membership.shape)


def step(design: Array, membership: Array, given: Array, predictor: Array) -> Step:
    """Take one Newton step.

    Parameters
    ----------
    design : (n, s, c)
    membership, given, predictor : (n, s)
        What is explained, the weights of the samples, and the linear predictor so far.
    """
    n_samples = membership.shape[1]
    fitted = 1 / (1 + np.exp(-predictor))
    weight = np.maximum(fitted * (1 - fitted), LEAST_WEIGHT)
    working = predictor + (membership - fitted) / weight
    weight = weight * given
    mean = weight.mean(axis=1, keepdims=True)
    weight = weight / np.where(mean > 0, mean, 1.0)

    weighted = (weight[:, :, None] * design).transpose(0, 2, 1)  # (n, c, s)
    centre, level = weighted.mean(axis=2), (weight * working).mean(axis=1)
    normal = weighted @ design - n_samples * centre[:, :, None] * centre[:, None, :]
    target = (weighted @ working[:, :, None])[:, :, 0] - n_samples * centre * level[:, None]
    values, vectors = np.linalg.eigh(normal)
    values = np.maximum(values, 0.0)
    rotated = (target[:, None, :] @ vectors)[:, 0]  # (n, c)
    total = np.sum(weight * (working - level[:, None]) ** 2, axis=1)
    penalty = _penalty(values, rotated, total, n_samples)

    coefficients = (vectors @ (rotated / (values + penalty))[:, :, None])[:, :, 0]
    linear = (design @ coefficients[:, :, None])[:, :, 0] + (level - np.sum(centre * coefficients, axis=1))[:, None]
    return Step(
        coefficients,
        np.clip(linear, -STEEPEST, STEEPEST),
        centre,
        weight * (working - linear),
        vectors,
        values + penalty,
        1 + np.sum(values / (values + penalty), axis=1),
    )


def _penalty(values: Array, rotated: Array, total: Array, n_samples: int) -> Array:
    """(n, 1) the penalty with the least generalised cross-validation error; the largest where none may be had."""
    penalties = PENALTIES[:, None] * n_samples / 4
    values, rotated = values[:, None, :], rotated[:, None, :]
    coefficients = rotated / (values + penalties)  # (n, penalties, c)
    gain = np.sum(coefficients * (2 * rotated - coefficients * values), axis=2)
    residual = np.maximum(total[:, None] - gain, 0.0)
    freedom = np.sum(values / (values + penalties), axis=2) + 1
    left = 1 - freedom / n_samples
    error = np.where(left > 1 - MOST_FREEDOM, residual / np.maximum(left, 1e-9) ** 2, np.inf)
    best = np.where(np.isfinite(error).any(axis=1), np.argmin(error, axis=1), len(PENALTIES) - 1)
    return penalties[best]
