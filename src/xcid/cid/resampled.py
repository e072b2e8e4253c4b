"""p-values and limits for the d1 of single features, by permuting and resampling the cloud; no model calls."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from scipy import special

from xcid._check import as_int
from xcid._kernels.arrays import number_distinct, sum_weights
from xcid._kernels.random import RESAMPLED, below
from xcid.cid.densities.mixed import Mixed
from xcid.cid.per_feature import PerFeature, held_in_place
from xcid.records import SIGNIFICANT, Array, Density, Integers, Perturbations, Scores

NORMAL_95 = 1.959964
CELLS = 48  # of a smooth part
SHARE, REPEATS = 0.05, 5  # when a value is an atom; see Mixed
_PERMUTE, _RESAMPLE = RESAMPLED


@dataclass(frozen=True, slots=True)
class Resampled:
    """A score by single features with what chance does to it.

    p-values compare d1 with that of permuted labels within the row's own cloud. That is valid with any
    weights and with few flips, where a feature that makes no difference is independent of flipping, as it is under
    :class:`xcid.generators.Marginal`. Limits come from a bootstrap of the cloud: d1 less the bootstrap's bias, give or
    take two of its standard deviations, and down to 0 where p is above 0.05. Where they reach 0, the sign is open, and
    they reach to both sides.
    Both work on cells with a smoothing of their own, so that one pass over the samples serves all permutations.

    Parameters
    ----------
    score : PerFeature
    permutations, resamples : int
    """

    score: PerFeature = field(default_factory=lambda: PerFeature(Mixed(), direction=held_in_place))
    permutations: int = 200
    resamples: int = 200

    def __post_init__(self) -> None:
        as_int(self.permutations, "permutations", at_least=19)
        as_int(self.resamples, "resamples", at_least=20)

    @property
    def density(self) -> Density:
        """Of the evidence."""
        return self.score.density

    def __call__(self, cloud: Perturbations) -> Scores:
        """Score every feature, and say what chance may do to it; groups get no limits but 0 and 1."""
        found, samples = self.score(cloud), cloud.samples
        shape = found.values.shape
        p_values, low, high = np.ones(shape), np.zeros(shape), np.ones(shape)
        for row in range(len(cloud)):
            weights = np.stack([cloud.positive[row], cloud.negative[row]])
            used = np.flatnonzero(weights.sum(axis=0) > 0)
            if not weights.any(axis=1).all():
                continue  # nothing to compare
            weights = weights[:, used]
            permuted = weights[:, _permutations(len(used), self.permutations)]
            drawn = weights[:, :, None] * _counts(len(used), self.resamples).astype(np.float64)
            for feature, columns in enumerate(cloud.features):
                if len(columns) > 1:
                    continue
                code, smooth = _cells(samples[row, used, columns[0]], weights, bool(cloud.discrete[columns[0]]))
                here = float(_d1(weights[:, :, None], code, smooth)[0])
                null, again = _d1(permuted, code, smooth), _d1(drawn, code, smooth)
                p_values[row, feature] = (1 + np.sum(null >= here - 1e-12)) / (1 + self.permutations)
                centre, reach = 2 * here - again.mean(), NORMAL_95 * again.std(ddof=1)
                low[row, feature] = centre - reach if p_values[row, feature] <= SIGNIFICANT else 0.0
                high[row, feature] = centre + reach
        low, high = (np.clip(part, 0.0, 1.0) for part in (low, high))
        is_down, is_open = found.values < 0, (low == 0) & (self.score.direction(cloud) != 0)
        return found._replace(
            lower=np.where(is_down | is_open, -high, low),
            upper=np.where(is_down & ~is_open, -low, high),
            p_values=p_values,
            importance_lower=low,
            importance_upper=high,
            importance_p_values=p_values,
        )


@lru_cache(maxsize=8)
def _permutations(size: int, count: int) -> Integers:
    """(size, count) permutations; the same for all clouds of a size."""
    counters = np.arange(size * count, dtype=np.uint64).reshape(size, count)
    return np.argsort(_PERMUTE.constant(counters), axis=0)


@lru_cache(maxsize=8)
def _counts(size: int, count: int) -> Integers:
    """(size, count) how often each sample is drawn with replacement; the same for all clouds of a size."""
    drawn = below(_RESAMPLE.constant(np.arange(size * count, dtype=np.uint64).reshape(size, count)), size)
    return np.bincount((drawn + size * np.arange(count)).ravel(), minlength=size * count).reshape(count, size).T


def _cells(values: Array, weights: Array, discrete: bool) -> tuple[Integers, Array]:
    """(s,) cell of each sample, and the (c, c) smoothing from cells of samples to cells of masses."""
    filled = np.where(np.isnan(values), np.inf, values)[None]
    code, points = number_distinct(filled, np.ones(filled.shape, dtype=bool))
    mass = (weights / weights.sum(axis=1, keepdims=True)).mean(axis=0)[None]
    n_points = points.shape[1]
    heavy = (sum_weights(code, mass, n_points)[0] >= SHARE) & (np.bincount(code[0], minlength=n_points) >= REPEATS)
    exact = (heavy | np.isinf(points[0]))[code[0]] | discrete
    rest = values[~exact]
    spread = float(np.std(rest)) if rest.size else 0.0
    if spread == 0:
        _, code_of = np.unique(code[0], return_inverse=True)
        return code_of, np.eye(int(code_of.max()) + 1)
    bandwidth = spread * (0.75 * rest.size) ** -0.2
    low, high = rest.min() - 3 * bandwidth, rest.max() + 3 * bandwidth
    edges = np.linspace(low, high, CELLS + 1)
    middle = (edges[1:] + edges[:-1]) / 2
    reach = special.ndtr((edges - middle[:, None]) / bandwidth)
    smooth = np.diff(reach, axis=1).T  # (to, from)
    _, atoms = np.unique(code[0][exact], return_inverse=True)
    n_atoms = int(atoms.max(initial=-1)) + 1
    cell = np.empty(len(values), dtype=np.int64)
    cell[exact] = CELLS + atoms
    cell[~exact] = np.clip(np.searchsorted(edges, rest, side="right") - 1, 0, CELLS - 1)
    both = np.zeros((CELLS + n_atoms, CELLS + n_atoms))
    both[:CELLS, :CELLS] = smooth / smooth.sum(axis=0)
    both[CELLS:, CELLS:] = np.eye(n_atoms)
    return cell, both


def _d1(weights: Array, code: Integers, smooth: Array) -> Array:
    """(r,) d1 of (2, s, r) weights."""
    order = np.argsort(code, kind="stable")
    present, first = np.unique(code[order], return_index=True)
    sums = np.add.reduceat(weights[:, order], first, axis=1)  # (2, cells, r)
    total = np.maximum(sums.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
    p, q = smooth[:, present] @ (sums / total)
    overlap = np.minimum(p, q).sum(axis=0)
    result: Array = 1 - overlap / (2 - overlap)
    return result
