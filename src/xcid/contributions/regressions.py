"""Mean effects of the features of clouds without a plan: a regression on what was changed in each sample."""

from __future__ import annotations

import numpy as np

from xcid._kernels import ridge
from xcid._kernels.arrays import ratio
from xcid.cid.per_feature import kept
from xcid.contributions.effects import Measured
from xcid.records import Array, Flags, Perturbations

CLIP = 3.0  # standardised values beyond this count as this
MOST_LEVELS = 12  # of a category with columns of their own


def measured(cloud: Perturbations, responses: Array) -> Measured:
    """Measure effects on (n, s) responses; samples without weight do not count."""
    weight, changed = cloud.positive + cloud.negative, ~kept(cloud)
    counts = changed & (weight > 0)[:, :, None]
    parts, feature = [], []
    for at, columns in enumerate(cloud.features):
        made = [changed[:, :, at, None] * 1.0]
        for column in columns:
            make = _levels if cloud.discrete[column] else _numbers
            made.append(make(cloud.cells([column])[:, :, 0], counts[:, :, at]))
        parts += made
        feature += [at] * sum(part.shape[2] for part in made)
    matrix, owner = np.concatenate(parts, axis=2), np.array(feature)
    fit = ridge.fit(matrix, responses, weight + ~weight.any(axis=1, keepdims=True))  # without samples: no effect
    mean = ratio((matrix * counts[:, :, owner]).sum(axis=1), counts[:, :, owner].sum(axis=1) * 1.0)
    contrasts = mean[:, :, None] * (owner[:, None] == np.arange(len(cloud.features)))
    effects = -(fit.coefficients[:, None] @ contrasts)[:, 0]
    spread = ((fit.residuals**2)[:, None] @ (fit.solution @ contrasts) ** 2)[:, 0]
    count = np.sum(weight > 0, axis=1, keepdims=True)
    freedom = np.maximum(count - 1.0, 1.0)
    return Measured(effects, spread * count / freedom, freedom + np.zeros(effects.shape))


def _numbers(cells: Array, counts: Flags) -> Array:
    """(n, s, 2) the number that a feature was changed to, in standard deviations, and whether it went missing."""
    _, exponent = np.frexp(np.nanmax(np.abs(cells), initial=0.0))
    cells = np.ldexp(cells, -exponent)  # squares of 1e-300 and 1e300 are no numbers
    there = counts & ~np.isnan(cells)
    known = np.maximum(there.sum(axis=1, keepdims=True), 1)
    mean = np.sum(np.where(there, cells, 0.0), axis=1, keepdims=True) / known
    spread = np.sqrt(np.sum(np.where(there, cells - mean, 0.0) ** 2, axis=1, keepdims=True) / known)
    place = np.clip(np.nan_to_num((cells - mean) / np.where(spread > 0, spread, 1.0)), -CLIP, CLIP)
    moved = np.where(counts, place, 0.0)[:, :, None]
    return np.concatenate([moved, (counts & np.isnan(cells))[:, :, None]], axis=2)


def _levels(cells: Array, counts: Flags) -> Array:
    """(n, s, l) which level a category was changed to; -1 stands for a missing cell."""
    code = np.where(np.isnan(cells), -1.0, cells)
    return (code[:, :, None] == np.arange(-1.0, MOST_LEVELS)) * counts[:, :, None]
