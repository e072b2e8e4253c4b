"""Rows that lend their values: their order, the centroid among them, and how they fit the limits of a row."""

from __future__ import annotations

import numpy as np

from xcid._kernels.random import below, uniform
from xcid._kernels.thinning import thinned
from xcid.generators.lattice import per_unit
from xcid.generators.reach import Reach
from xcid.records import Array, Flags, Integers, Unsigned
from xcid.space import FeatureSpace

MOST_DONORS = 4_096  # background rows that are looked at; more do not spread any better
LEAF = 4  # rows that are close enough to stay in any order
OUTPUT_WEIGHT = 2.0  # of the model's outputs beside the features
CLIP = 3.0  # standardised values beyond this count as this
POWER_STEPS = 6
DECIMALS = 9


def background_rows(space: FeatureSpace) -> Array:
    """Background rows, evenly thinned where there are very many."""
    return space.background[thinned(len(space.background), MOST_DONORS)]


def similar_order(space: FeatureSpace, outputs: Array) -> Integers:
    """Put the background in an order in which neighbours are alike, by halving it along its leading direction.

    Gives positions of at most ``MOST_DONORS`` rows; (N, k) are the model's outputs for the background, k may be 0.
    """
    chosen = thinned(len(space.background), MOST_DONORS)
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


def centroids(random: Unsigned, space: FeatureSpace) -> Array:
    """(c, f) centroids of the background, by (c, f) random bits.

    A number has the mean; on a lattice it is rounded up or down at random so as to keep the mean. A category takes a
    random background value.
    """
    mean, steps = np.nanmean(space.background, axis=0), per_unit(space.resolution)
    centre = np.where(space.resolution > 0, np.floor(mean * steps + uniform(random)) / steps, mean)
    place = below(random, np.maximum(space.pools.sizes, 1))
    return np.where(space.discrete, space.pools.values[place, np.arange(len(mean))], centre)


def fitted(new: Array, rows: Array, random: Unsigned, space: FeatureSpace) -> Array:
    """Fit (p, f) new values to what (n, f) rows may change to, by (n, p, f) random bits: (n, p, f).

    A frozen feature keeps its value. A value that the constraints forbid is replaced by an allowed background value at
    random; where there is none, by the row's own.
    """
    reach, own = Reach.of(rows, space), rows[:, None]
    count = reach.count[:, None]
    other = np.where(count > 0, reach.value(below(random, count)), own)
    new = np.where(reach.holds(new[None]) | ~limited(space), new, other)
    return np.where(space.frozen, own, new)


def limited(space: FeatureSpace) -> Flags:
    """(f,) features that some background values may not be changed to."""
    pools = space.pools
    return (pools.sizes + pools.n_missing < len(space.background)) | (space.direction != 0)
