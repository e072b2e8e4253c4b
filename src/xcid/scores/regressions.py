"""The regression of a cloud on what was changed in its samples: columns, contrasts, influences, and their errors."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels import logistic
from xcid._kernels.arrays import namespace, same, thinned, times
from xcid._kernels.random import hadamard_order
from xcid.records import Array, Flags, Perturbations, Plan
from xcid.scores.per_feature import kept

FEWEST = 12  # blocks, and donors, whose differences tell of chance
CLIP = 3.0  # standardised values beyond this count as this
MOST_LEVELS = 12  # of a category with columns of their own
MOST_SOURCES = 2_048  # background rows that stand for all


class Regression(NamedTuple):
    """What the regressions of n rows need, or one for all."""

    columns: logistic.Columns  # what memberships are regressed on
    contrasts: Array  # (n or 1, c, f) from coefficients to the mean effect of changing each feature
    influences: Array  # (n or 1, s, f) what a unit of residual does to these effects, at unit curvature


def prepared(cloud: Perturbations) -> Regression:
    """Take what all rows of a plan share, or make it for each row."""
    plan = cloud.plan
    if plan is not None and cloud.given is None:
        return plan.once("regression", lambda plan: _of_plan(plan, cloud.discrete))
    changed = _changed_in(cloud)
    features = [
        _Values(one, cloud.samples, one)
        if plan is None or plan.fitted[at]
        else _of_background(one, plan.background[None])
        for at, one in enumerate(np.moveaxis(changed, 2, 0))
    ]
    background = None if plan is None else plan.background
    return _regression(
        cloud.samples, features, cloud.features, cloud.discrete, background, cloud.positive + cloud.negative
    )


def changes(cloud: Perturbations) -> Flags:
    """(n, f) features that took another value in any sample."""
    plan = cloud.plan
    if plan is None or cloud.given is not None:
        ever: Flags = np.any(_changed_in(cloud), axis=1)
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
    pairs, size = residuals.shape[1] // 2, hadamard_order(n_features)
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


class _Values(NamedTuple):
    """Cells of one feature."""

    changed: Flags  # (n or 1, s)
    new: Array  # (n or 1, N, d) where new values come from: the background if it is known, else the samples themselves
    counts: Flags  # (n or 1, N) which of them are new values


def _of_background(changed: Flags, background: Array) -> _Values:
    return _Values(changed, background, np.ones(background.shape[:2], dtype=bool))


def _of_plan(plan: Plan, discrete: Flags) -> Regression:
    """The regression that all rows of a plan share."""
    donors = np.concatenate([plan.values, plan.values])[None]
    new = plan.background[thinned(len(plan.background), MOST_SOURCES)]
    features = [_of_background(taken, new[None]) for taken in np.moveaxis(plan.taken[None], 2, 0)]
    return _regression(donors, features, plan.features, discrete, new, None)


def _changed_in(cloud: Perturbations) -> Flags:
    """(n, s, f) features that took another value; of pairs those that took the donor's, if that ever makes a change."""
    differs = ~kept(cloud)
    return differs if cloud.plan is None else cloud.plan.taken & differs.any(axis=1, keepdims=True)


def _regression(
    samples: Array,
    values: list[_Values],
    features: tuple[tuple[int, ...], ...],
    discrete: Flags,
    background: Array | None,
    weight: Array | None,
) -> Regression:
    """Make columns of whether each feature was changed, and to what; they are 0 where it was not."""
    parts: list[tuple[Array, Array]] = []  # (n or 1, s, c) columns, and (n or 1, c) their means over new values
    feature: list[int] = []  # that each column is about
    for at, (one, columns) in enumerate(zip(values, features, strict=True)):
        ever: Flags = np.any(one.changed, axis=1, keepdims=True)
        made = [(one.changed[:, :, None].astype(np.float64), ever.astype(np.float64))]
        for column in columns:
            if discrete[column]:
                levels = _common_levels(None if background is None else background[:, column])
                made.append(_levels(samples[:, :, column], one, column, levels))
            else:
                made.append(_numbers(samples[:, :, column], one, column))
        parts.extend(made)
        feature.extend([at] * sum(part.shape[2] for part, _ in made))
    n = max(max(part.shape[0] for part in pair) for pair in parts)
    matrix, expected = (
        np.concatenate([np.broadcast_to(part, (n, *part.shape[1:])) for part in one], axis=-1)
        for one in zip(*parts, strict=True)
    )
    contrasts = np.where(np.array(feature)[:, None] == np.arange(len(features)), expected[:, :, None], 0.0)
    regressors = logistic.prepare(matrix, weight)
    return Regression(regressors, contrasts, regressors.influences(contrasts, np.array(feature)))


def _numbers(cells: Array, values: _Values, column: int) -> tuple[Array, Array]:
    """The number that a feature was changed to, in standard deviations of new values; and whether it went missing."""
    new, counts = values.new[:, :, column], values.counts
    _, exponent = np.frexp(np.nanmax(np.abs(new), initial=0.0))
    cells, new = (np.ldexp(part, -exponent) for part in (cells, new))  # squares of 1e-300 and 1e300 are no numbers
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    there = counts & ~np.isnan(new)
    known = np.maximum(there.sum(axis=1, keepdims=True), 1)
    mean = np.sum(np.where(there, new, 0.0), axis=1, keepdims=True) / known
    spread = np.sqrt(np.sum(np.where(there, new - mean, 0.0) ** 2, axis=1, keepdims=True) / known)
    spread = np.where(spread > 0, spread, 1.0)
    place, new_place = (np.clip(np.nan_to_num((part - mean) / spread), -CLIP, CLIP) for part in (cells, new))
    moved = np.where(values.changed, place, 0.0)[:, :, None]
    expected = np.sum(np.where(counts, new_place, 0.0), axis=1, keepdims=True) / total
    if not np.isnan(new).any():
        return moved, expected
    lost = (values.changed & np.isnan(cells))[:, :, None]
    share = np.sum(counts & np.isnan(new), axis=1, keepdims=True) / total
    return np.concatenate([moved, lost], axis=2), np.concatenate([expected, share], axis=1)


def _levels(cells: Array, values: _Values, column: int, levels: Array) -> tuple[Array, Array]:
    """Which level a category was changed to; the rarest of many levels share no column."""
    code, new = (np.where(np.isnan(part), -1.0, part) for part in (cells, values.new[:, :, column]))
    counts = values.counts[:, :, None]
    share = np.sum((new[:, :, None] == levels) & counts, axis=1) / np.maximum(counts.sum(axis=1), 1)
    moved = (code[:, :, None] == levels) & values.changed[:, :, None]
    return moved.astype(np.float64), share


def _common_levels(known: Array | None) -> Array:
    """The commonest codes, -1 for missing cells; without a background no one knows which these are."""
    if known is None:
        return np.arange(-1.0, MOST_LEVELS)
    level, count = np.unique(np.where(np.isnan(known), -1.0, known), return_counts=True)
    return level[np.argsort(-count, kind="stable")[:MOST_LEVELS]]
