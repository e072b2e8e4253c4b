"""Ridge regression of many rows at once, with a weight for every sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import products, times
from xcid.records import Array

TINY = 1e-300
LEAST_PENALTY = 1e-3  # in quarters of the number of samples
WIDE_PENALTY = 0.5  # the same, times the squared number of columns for each sample
MOST_LEVERAGE = 0.95


class Fit(NamedTuple):
    """What (n, s) responses are made of."""

    coefficients: Array  # (n, c)
    residuals: Array  # (n, s) times the weights, at unit leverage
    solution: Array  # (n, s, c) from weighted residuals to coefficients


def fit(columns: Array, responses: Array, weight: Array) -> Fit:
    """Regress (n, s) responses on (n, s, c) columns and a constant, with (n, s) weights."""
    (n_samples, n_columns), count = columns.shape[1:], np.maximum(np.sum(weight > 0, axis=1), 1)
    total = np.maximum(weight.sum(axis=1), TINY)
    centred = columns - (weight[:, None, :] @ columns) / total[:, None, None]
    apart = responses - (np.sum(weight * responses, axis=1) / total)[:, None]
    penalty = (count / 4 * (LEAST_PENALTY + WIDE_PENALTY * (n_columns / count) ** 2))[:, None, None]
    if n_columns <= n_samples:
        normal = (centred * weight[:, :, None]).transpose(0, 2, 1) @ centred
        solution = np.linalg.solve(normal + penalty * np.eye(n_columns), centred.transpose(0, 2, 1)).transpose(0, 2, 1)
    else:
        root = np.sqrt(weight)[:, :, None]
        between = products(root * centred) + penalty * np.eye(n_samples)
        solution = np.linalg.solve(between, root * centred) / np.maximum(root, TINY)
    coefficients = times(weight * apart, solution)
    fitted = (centred @ coefficients[:, :, None])[:, :, 0]
    leverage = np.einsum("nsc,nsc->n", solution * weight[:, :, None], centred) / count
    return Fit(coefficients, weight * (apart - fitted) / (1 - leverage.clip(0, MOST_LEVERAGE))[:, None], solution)
