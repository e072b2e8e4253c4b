"""From a cloud to the columns of a regression: what was changed in each sample."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels.thinning import thinned
from xcid.records import Array, Flags, Integers, Perturbations, Plan
from xcid.scores.directions import kept

CLIP = 3.0  # standardised values beyond this count as this
MOST_LEVELS = 12  # of a category with columns of their own
MOST_SOURCES = 2_048  # background rows that stand for all


class Design(NamedTuple):
    """Columns of a regression, for each of n rows or one for all."""

    columns: Array  # (n or 1, s, c) whether each feature was changed, and to what; 0 where it was not
    expected: Array  # (n or 1, c) mean of each column over new values of its feature
    feature: Integers  # (c,) the feature that each column is about

    @property
    def contrasts(self) -> Array:
        """(n or 1, c, f) what turns coefficients into the mean effect of changing each feature."""
        about = self.feature[:, None] == np.arange(self.feature[-1] + 1)
        return np.where(about, self.expected[:, :, None], 0.0)


class _Values(NamedTuple):
    """Cells of one feature."""

    changed: Flags  # (n or 1, s)
    new: Array  # (n or 1, N, d) where new values come from: the background if it is known, else the samples themselves
    counts: Flags  # (n or 1, N) which of them are new values


def of_plan(plan: Plan, discrete: Flags) -> Design:
    """The columns that all rows of a plan share."""
    taken, donors = plan.taken[None], np.concatenate([plan.values, plan.values])[None]
    new = plan.background[thinned(len(plan.background), MOST_SOURCES)][None]
    features = [_of_background(taken[:, :, at], new) for at in range(len(plan.features))]
    return _design(donors, features, plan.features, discrete, new)


def of_cloud(cloud: Perturbations) -> Design:
    """Columns for each row by itself."""
    changed, plan = changed_in(cloud), cloud.plan
    new = None if plan is None else plan.background[None]
    features = [
        _Values(changed[:, :, at], cloud.samples, changed[:, :, at])
        if plan is None or new is None or plan.fitted[at]
        else _of_background(changed[:, :, at], new)
        for at in range(len(cloud.features))
    ]
    return _design(cloud.samples, features, cloud.features, cloud.discrete, new)


def _of_background(changed: Flags, background: Array) -> _Values:
    return _Values(changed, background, np.ones(background.shape[:2], dtype=bool))


def changed_in(cloud: Perturbations) -> Flags:
    """(n, s, f) features that took another value; of pairs those that took the donor's, if that ever makes a change."""
    differs = ~kept(cloud)
    return differs if cloud.plan is None else cloud.plan.taken & differs.any(axis=1, keepdims=True)


def _design(
    samples: Array,
    values: list[_Values],
    features: tuple[tuple[int, ...], ...],
    discrete: Flags,
    background: Array | None,
) -> Design:
    parts: list[tuple[Array, Array]] = []
    feature: list[int] = []
    for at, (one, columns) in enumerate(zip(values, features, strict=True)):
        ever: Flags = np.any(one.changed, axis=1, keepdims=True)
        made = [(one.changed[:, :, None].astype(np.float64), ever.astype(np.float64))]
        for column in columns:
            if discrete[column]:
                levels = _common_levels(None if background is None else background[0, :, column])
                made.append(_levels(samples[:, :, column], one, column, levels))
            else:
                made.append(_numbers(samples[:, :, column], one, column))
        parts.extend(made)
        feature.extend([at] * sum(part.shape[2] for part, _ in made))
    n = max(max(part.shape[0] for part in pair) for pair in parts)
    columns_, expected = (
        np.concatenate([np.broadcast_to(part, (n, *part.shape[1:])) for part in one], axis=-1)
        for one in zip(*parts, strict=True)
    )
    return Design(columns_, expected, np.array(feature))


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
