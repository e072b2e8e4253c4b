"""Rows that lend their values: their order, the centroid among them, and how they fit the limits of a row."""

from __future__ import annotations

import numpy as np

from xcid._data import Array, Flags, Integers, Words
from xcid._kernels.random import below, uniform, words
from xcid.space import FeatureSpace

MOST_DONORS = 4_096  # put in order; more do not spread any better
LEAF = 4  # rows that are not told apart
OUTPUT_WEIGHT = 2.0  # of the model's outputs beside the features
CLIP = 3.0  # standardised values beyond this count as this
POWER_STEPS = 6
DECIMALS = 9


def similar_order(space: FeatureSpace, outputs: Array) -> Integers:
    """Put the background in an order in which neighbours are alike, by halving it along its leading direction.

    Parameters
    ----------
    space : FeatureSpace
    outputs : (N, k)
        The model's outputs for the background; k may be 0.

    Returns
    -------
    (at most MOST_DONORS,)
        Positions of background rows.
    """
    chosen = np.linspace(0, len(space.background) - 1, min(len(space.background), MOST_DONORS)).round().astype(np.int64)
    points = np.concatenate(
        [
            _standardised(space.background[chosen]) / np.sqrt(space.background.shape[1]),
            OUTPUT_WEIGHT * np.round(_scaled(outputs[chosen]), DECIMALS - 3),
        ],
        axis=1,
    )
    order, waiting = [], [np.arange(len(chosen))]
    while waiting:
        rows = waiting.pop()
        if len(rows) <= LEAF:
            order.append(rows)
            continue
        rows = rows[np.argsort(_leading(points[rows]), kind="stable")]
        waiting += [rows[len(rows) // 2 :], rows[: len(rows) // 2]]
    return chosen[np.concatenate(order)]


def _standardised(values: Array) -> Array:
    """Columns of mean 0 and spread 1; missing cells and constant columns are 0."""
    spread = np.nanstd(values, axis=0)
    centred = (values - np.nanmean(values, axis=0)) / np.where(spread > 0, spread, 1.0)
    return np.clip(np.nan_to_num(centred), -CLIP, CLIP)


def _scaled(outputs: Array) -> Array:
    """Probabilities as they are, two of them as one; other numbers in units of four standard deviations."""
    if outputs.shape[1] == 0:
        return outputs
    if outputs.min() >= 0 and outputs.max() <= 1:
        return outputs / np.sqrt(2) if outputs.shape[1] > 1 else outputs
    return _standardised(outputs) / 4


def _leading(points: Array) -> Array:
    """(n,) places of points along their leading principal direction, rounded so that ties stay ties."""
    centred = points - points.mean(axis=0)
    direction = centred[np.argmax(np.round(np.sum(centred**2, axis=1), DECIMALS))]
    for _ in range(POWER_STEPS):
        direction = (centred @ direction) @ centred
        direction = direction / (np.sqrt(direction @ direction) + 1e-300)
    place = np.round(centred @ direction, DECIMALS)
    return np.where(np.sum(place**3) < 0, -place, place)


def centroids(keys: Words, space: FeatureSpace, count: int) -> Array:
    """(n, count, f) centroids of the background.

    A number has the mean; on a lattice it is rounded up or down at random so as to keep the mean. A category takes a
    random background value.
    """
    n_features = len(space.rank)
    counters = (np.arange(count)[:, None] * n_features + space.rank).astype(np.uint64)
    random = words(keys[:, None, None], counters)
    mean = np.nanmean(space.background, axis=0)
    per_unit = np.where(space.resolution > 0, space.resolution, 1.0)
    rounded = np.floor(mean * per_unit + uniform(random)) / per_unit
    centre = np.where(space.resolution > 0, rounded, mean)
    if not space.discrete.any():
        return centre
    pools = space.pools
    place = below(random, np.maximum(pools.sizes, 1))
    return np.where(space.discrete, pools.values[place, np.arange(n_features)], centre)


def fitted(new: Array, rows: Array, keys: Words, space: FeatureSpace) -> Array:
    """Fit (n, p, f) new values to what (n, f) rows may change to.

    A frozen feature keeps its value. A value that the constraints forbid is replaced by an allowed background value at
    random; where there is none, by the row's own.
    """
    bound = limited(space)
    new = np.where(space.frozen, rows[:, None, :], new)
    if not bound.any():
        return new
    low, high = (part[:, None, :] for part in space.bounds(rows))
    start, count = (part[:, None, :] for part in space.pools.between(low[:, 0], high[:, 0]))
    missing = np.where(space.direction == 0, space.pools.n_missing, 0) > 0
    n_features = new.shape[2]
    counters = (np.arange(new.shape[1])[:, None] * n_features + space.rank).astype(np.uint64)
    place = start + below(words(keys[:, None, None], counters), np.maximum(count, 1))
    other = space.pools.values[np.minimum(place, len(space.pools.values) - 1), np.arange(n_features)]
    fits = np.where(np.isnan(new), missing, (new >= low) & (new <= high) & _known(new, space))
    new = np.where(fits | ~bound, new, np.where(count > 0, other, rows[:, None, :]))
    return np.where(space.frozen, rows[:, None, :], new)


def limited(space: FeatureSpace) -> Flags:
    """(f,) features that some background values may not be changed to."""
    pools = space.pools
    return (pools.sizes + pools.n_missing < len(space.background)) | (space.direction != 0)


def _known(new: Array, space: FeatureSpace) -> Flags:
    """Which values of categories are among the allowed levels; all numbers are."""
    known = np.ones(new.shape, dtype=bool)
    for feature in np.flatnonzero(space.discrete):
        known[..., feature] = np.isin(new[..., feature], space.pools.values[: space.pools.sizes[feature], feature])
    return known
