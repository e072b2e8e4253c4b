"""From a cloud to the columns of a regression: what was changed in each sample, and what its donor brings beside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._data import Array, Flags, Integers, Perturbations
from xcid._kernels.thinning import thinned
from xcid.scores.directions import kept

JUMP = 0.3  # scale of a 'changed' column: its penalty is 1 / JUMP**2 times that of a displacement
CLIP = 3.0  # standardised values beyond this count as this
MOST_LEVELS = 12  # of a category with columns of their own
BINS = 6  # of the values of a strong feature
MOST_SOURCES = 2_048  # background rows that stand for all


def changed_in(cloud: Perturbations) -> Flags:
    """(n, s, f) features that took another value; of pairs those that took the donor's, if that ever makes a change."""
    differs = ~kept(cloud)
    if cloud.masks is None:
        return differs
    return np.concatenate([cloud.masks, ~cloud.masks], axis=1) & differs.any(axis=1, keepdims=True)


def design_of(cloud: Perturbations, changed: Flags) -> tuple[Array, Array, Integers]:
    """What was changed in each sample.

    Returns
    -------
    design : (n, s, c)
    expected : (n, c)
        Mean of each column over new values of its feature.
    feature : (c,)
        The feature that each column is about.
    """
    parts: list[_Columns] = []
    feature: list[int] = []
    for at, columns in enumerate(cloud.features):
        one = changed[:, :, at]
        source = _Source.of(cloud, one, at)
        made = [_Columns(np.where(one[:, :, None], JUMP, 0.0), np.where(one.any(axis=1, keepdims=True), JUMP, 0.0))]
        for column in columns:
            make = _levels if cloud.discrete[column] else _displacement
            made.append(make(cloud, source, column, one))
        parts.extend(made)
        feature.extend([at] * sum(part.moved.shape[2] for part in made))
    moved, expected = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return moved, expected, np.array(feature)


class _Columns(NamedTuple):
    """What a column of the table brings to the design.

    Attributes
    ----------
    moved : (n, s, e)
        What was changed in each sample; 0 where the feature was not.
    expected : (n, e)
        Its mean over new values.
    """

    moved: Array
    expected: Array


class _Source(NamedTuple):
    """Where new values of a feature come from: the background where it is known, else the samples themselves.

    Attributes
    ----------
    values : (1, N, c) or (n, N, c)
    counts : (1, N) or (n, N) bool
        Which of them are new values.
    """

    values: Array
    counts: Flags

    @staticmethod
    def of(cloud: Perturbations, changed: Flags, feature: int) -> _Source:
        """Take what the cloud has."""
        if cloud.background is None or (cloud.limited is not None and cloud.limited[feature]):
            return _Source(cloud.samples, changed)
        values = cloud.background[thinned(len(cloud.background), MOST_SOURCES)]
        return _Source(values[None], np.ones((1, len(values)), dtype=bool))


def _displacement(cloud: Perturbations, source: _Source, column: int, changed: Flags) -> _Columns:
    """How far a number was moved, in standard deviations of new values; and whether it went missing."""
    new, counts = source.values[:, :, column], source.counts
    _, exponent = np.frexp(np.nanmax(np.abs(new), initial=0.0))
    values, own, new = (
        np.ldexp(part, -exponent) for part in (cloud.samples[:, :, column], cloud.origin[:, None, column], new)
    )  # squares of 1e-300 and 1e300 are no numbers
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    there = counts & ~np.isnan(new)
    known = np.maximum(there.sum(axis=1, keepdims=True), 1)
    mean = np.sum(np.where(there, new, 0.0), axis=1, keepdims=True) / known
    spread = np.sqrt(np.sum(np.where(there, new - mean, 0.0) ** 2, axis=1, keepdims=True) / known)
    spread = np.where(spread > 0, spread, 1.0)
    place, own_place, new_place = (
        np.clip(np.nan_to_num((part - mean) / spread), -CLIP, CLIP) for part in (values, own, new)
    )
    moved = np.where(changed, place - own_place, 0.0)[:, :, None]
    expected = np.sum(np.where(counts, new_place, 0.0), axis=1, keepdims=True) / total - own_place
    if not np.isnan(new).any():
        return _Columns(moved, expected)
    lost = (changed & np.isnan(values) & ~np.isnan(own))[:, :, None]
    share = np.where(np.isnan(own), 0.0, np.sum(counts & np.isnan(new), axis=1, keepdims=True) / total)
    return _Columns(np.concatenate([moved, lost], axis=2), np.concatenate([expected, share], axis=1))


def _levels(cloud: Perturbations, source: _Source, column: int, changed: Flags) -> _Columns:
    """Which other level a category was changed to; the rarest of many levels share no column."""
    code, own, new = (
        np.where(np.isnan(part), -1.0, part)
        for part in (cloud.samples[:, :, column], cloud.origin[:, None, column], source.values[:, :, column])
    )
    level = np.arange(-1.0, MOST_LEVELS)  # without a background no one knows which are common
    if cloud.background is not None:
        known = cloud.background[:, column]
        level, count = np.unique(np.where(np.isnan(known), -1.0, known), return_counts=True)
        level = level[np.argsort(-count, kind="stable")[:MOST_LEVELS]]
    counts = source.counts[:, :, None]
    other = own != level  # (n, l)
    share = np.sum((new[:, :, None] == level) & counts, axis=1) / np.maximum(counts.sum(axis=1), 1)
    moved = (code[:, :, None] == level) & changed[:, :, None] & other[:, None, :]
    return _Columns(moved.astype(np.float64), share * other)


def noise_columns(
    cloud: Perturbations, masks: Flags, design: Array, feature: Integers, coefficients: Array, strongest: int
) -> Array:
    """(n, s, e) columns that complements cancel: what the donors, not the changes, bring in.

    The effect of changing a feature may depend on the donor's own membership and, for strong features, on the bin of
    the donor's value.
    """
    sign = np.where(masks, 0.25, -0.25)  # (n, pairs, f)
    donors = np.zeros(masks.shape[:2]) if cloud.donors is None else cloud.donors
    output = donors - donors.mean(axis=1, keepdims=True)
    output = output / np.maximum(output.std(axis=1, keepdims=True), 0.02)
    parts = [sign * output[:, :, None]]

    n_features = sign.shape[2]
    variance = np.stack(
        [
            np.var((design[:, :, feature == at] @ coefficients[:, feature == at, None])[:, :, 0], axis=1)
            for at in range(n_features)
        ],
        axis=1,
    )
    chosen = np.argsort(-variance, axis=1, kind="stable")[:, None, :strongest]
    column = np.array([columns[0] for columns in cloud.features])[chosen]  # a group by its first column
    first, second = (np.take_along_axis(part, column, axis=2) for part in np.split(cloud.samples, 2, axis=1))
    half = np.take_along_axis(sign, chosen, axis=2)  # (n, pairs, strongest)
    inside = _in_bins(np.nan_to_num(np.where(half > 0, first, second)))
    inside -= inside.mean(axis=1, keepdims=True)
    inside *= half[:, :, :, None]
    noise = np.concatenate([*parts, inside.reshape(*inside.shape[:2], -1)], axis=2)
    return np.concatenate([noise, -noise], axis=1)


def _in_bins(values: Array) -> Array:
    """(n, p, k, BINS) indicators of the bins of (n, p, k) values, of about equal size."""
    ordered = np.sort(values.transpose(0, 2, 1), axis=2)
    edges = ordered[:, :, [len(values[0]) * part // BINS for part in range(1, BINS)]]  # (n, k, BINS - 1)
    code = np.zeros(values.shape, dtype=np.int8)
    for part in range(BINS - 1):
        code += values >= edges[:, None, :, part]
    return (code[:, :, :, None] == np.arange(BINS, dtype=np.int8)).astype(np.float64)
