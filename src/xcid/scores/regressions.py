"""What the regression of a cloud needs beside the memberships: columns, contrasts, influences, and their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels import hadamard, logistic
from xcid._kernels.arrays import namespace, same, times
from xcid.records import Array, Flags, Perturbations, Plan
from xcid.scores import designs

FEWEST = 12  # blocks, and donors, whose differences tell of chance


class Regression(NamedTuple):
    """What the regressions of n rows need, or one for all."""

    columns: logistic.Columns  # what memberships are regressed on
    contrasts: Array  # (n or 1, c, f) from coefficients to the mean effect of changing each feature
    influences: Array  # (n or 1, s, f) what a unit of residual does to these effects, at unit curvature


def prepared(cloud: Perturbations) -> Regression:
    """Take what all rows of a plan share, or make it for each row."""
    plan = cloud.plan
    if plan is not None and cloud.given is None:
        return plan.once("regression", lambda plan: _regression(designs.of_plan(plan, cloud.discrete), None))
    return _regression(designs.of_cloud(cloud), cloud.positive + cloud.negative)


def _regression(design: designs.Design, weight: Array | None) -> Regression:
    columns = logistic.prepare(design.columns, weight)
    contrasts = design.contrasts
    return Regression(columns, contrasts, columns.centred @ (columns.inverse @ contrasts))


def changes(cloud: Perturbations) -> Flags:
    """(n, f) features that took another value in any sample."""
    plan = cloud.plan
    if plan is None or cloud.given is not None:
        ever: Flags = np.any(designs.changed_in(cloud), axis=1)
        return ever
    fixed = plan.once("fixed", _fixed)
    differs = ~same(cloud.origin, fixed)
    return np.stack([differs[:, list(columns)].any(axis=1) for columns in plan.features], axis=1) & plan.free


def _fixed(plan: Plan) -> Array:
    """(d,) the value that all donors have; infinite where they differ."""
    first = plan.values[0]
    return np.where(same(plan.values, first).all(axis=0), first, np.inf)


def errors(cloud: Perturbations, influences: Array, residuals: Array) -> tuple[Array, Array]:
    """(n, f) standard errors of the effects by the sandwich formula, and (n,) degrees of freedom.

    Complements are taken together, and so are the pairs of a block of balanced masks. Blocks follow an order in which
    donors that are alike are neighbours, so that differences of neighbouring blocks measure what is left to chance.
    With few blocks each pair stands for itself, which is on the safe side; with few donors nothing is significant.
    """
    n, n_features = len(residuals), influences.shape[2]
    if cloud.plan is None:
        count = np.sum(cloud.positive + cloud.negative > 0, axis=1, keepdims=True)
        spread = times(residuals**2, influences**2)
        return np.sqrt(spread * count / np.maximum(count - 1, 1)), np.maximum(count[:, 0] - 1.0, 1.0)
    if len(cloud.plan.background) < max(FEWEST, n_features // 2):  # so few rows cannot tell the features apart
        return np.full((n, n_features), np.inf), np.ones(n)
    error, freedom = of_pairs(influences, residuals)
    return error, np.full(n, freedom)


def of_pairs(influences: Array, residuals: Array) -> tuple[Array, float]:
    """(n, f) standard errors of the effects where samples are pairs, and their degrees of freedom."""
    xp, n_features = namespace(residuals), influences.shape[2]
    pairs, size = residuals.shape[1] // 2, hadamard.order(n_features)
    if pairs < FEWEST * size:
        return xp.sqrt(_pair_squares(influences, residuals) * pairs / (pairs - 1)), pairs - 1.0
    sums = _block_sums(influences, residuals, size)
    n_blocks = sums.shape[1]
    apart = sums[:, 1:] - sums[:, :-1]
    apart *= apart
    return xp.sqrt(apart.sum(axis=1) / 2 * n_blocks / (n_blocks - 1)), 2 * (n_blocks - 1) / 3


def _pair_squares(influences: Array, residuals: Array) -> Array:
    """(n, f) sum of squares over pairs of what they do to the effects."""
    pairs = residuals.shape[1] // 2
    first, second = residuals[:, :pairs], residuals[:, pairs:]
    both = 2 * times(first * second, influences[:, :pairs] * influences[:, pairs:])
    squares: Array = (times(residuals**2, influences**2) + both).clip(min=0.0)
    return squares


def _block_sums(influences: Array, residuals: Array, size: int) -> Array:
    """(n, blocks, f) what blocks of ``size`` pairs do to the effects; the last block takes the rest."""
    pairs = residuals.shape[1] // 2
    n_blocks, used = pairs // size, pairs // size * size
    halves = [(influences[:, :pairs], residuals[:, :pairs]), (influences[:, pairs:], residuals[:, pairs:])]
    sums: Array = namespace(residuals).zeros_like(residuals[:, :n_blocks, None] * influences[0, 0])
    for influence, residual in halves:
        by_block = residual[:, :used].reshape(len(residual), n_blocks, size)
        matrices = influence[:, :used].reshape(len(influence), n_blocks, size, -1)
        if len(matrices) == 1:
            sums += (by_block.swapaxes(0, 1) @ matrices[0]).swapaxes(0, 1)
        else:
            sums += (by_block[:, :, None, :] @ matrices)[:, :, 0]
        sums[:, -1] += times(residual[:, used:], influence[:, used:])
    return sums
