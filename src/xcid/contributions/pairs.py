"""Interactions of all pairs of features: by how much two together are worth more than the sum of both.

The sum of the responses to a sample and to its complement has every feature once from the row and once from the donor.
Where responses add up over features, it depends on the donor alone, not on which of the two samples takes which
feature, and sums of one donor are equal. By how much they differ is regressed on products of two signs, which say
whether the same sample takes two features. The signs are drawn at random, independently of all values: what the
features have to do with each other makes no difference.

The interaction of a pair is the mean, over reference rows and over which of the other features are taken, each with
probability 1/2, of what keeping both adds to what keeping either adds: Banzhaf's interaction index.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import blocks, products
from xcid._kernels.random import hadamard_order
from xcid.contributions import effects
from xcid.contributions.effects import FEWEST, MOST_COLUMNS, REST
from xcid.contributions.sampled import ROUNDING, changes, estimate_values, is_small, unit_of
from xcid.records import Array, Estimate, Flags, Integers, Perturbations, Plan

MOST_CELLS = 2**22  # of an array that is held for some pairs at a time


class PairRegression(NamedTuple):
    """What the regressions of all rows of a plan share: c columns of p sums, f features that may change, k pairs."""

    columns: Array  # (p, c) of the sums
    solution: Array  # (p, c) from sums to coefficients
    inflation: Array  # (p,) of residuals, for the freedom that the columns take
    signs: Array  # (p, f)
    first: Integers  # (k,) of each pair
    second: Integers  # (k,)
    run: int  # sums of one donor
    size: int  # sums of a block: those within which signs are orthogonal, if there are enough of these

    def influence(self, some: slice) -> Array:
        """(p, some) what a unit of each sum does to the interactions of some pairs."""
        own = apart(self.signs[:, self.first[some]] * self.signs[:, self.second[some]], self.run)
        found: Array = 2 * (own - self.solution @ (self.columns.T @ own)) / (own**2).sum(axis=0)
        if self.columns.shape[1]:  # the first of which are those of the pairs
            found += 2 * self.solution[:, : len(self.first)][:, some]
        return found


def pairs(cloud: Perturbations, numbers: Array) -> Estimate:
    """Interactions of all pairs of features, in the unit of (n, s) numbers of samples that follow a plan with runs.

    (n, f, f), symmetric; a feature does not interact with itself.
    """
    plan, unit = cloud.plan, unit_of(numbers)
    if plan is None or plan.run < 2:
        raise ValueError("pairs are scored by samples of which several in a row have the same donor")
    shared = plan.once("pairs", lambda plan: prepare_pairs(plan, cloud.discrete))
    found = measure_pairs(shared, numbers / unit)
    free, able = np.flatnonzero(plan.free), changes(cloud)
    first, second = free[shared.first], free[shared.second]
    counts = able[:, first] & able[:, second]
    effect, error, freedom = (np.where(counts, part, 0.0) for part in (found[0], np.sqrt(found[1]), found[2]))
    effect, error = (np.where(abs(part) < ROUNDING, 0.0, part) for part in (effect, error))
    error = np.where(counts, np.inf, 0.0) if is_small(plan) else error
    square = np.zeros((4, len(cloud), len(plan.free), len(plan.free)))
    square[3] = 1.0
    for whole, part in zip(square, estimate_values(effect * unit, error * unit, freedom), strict=True):
        whole[:, first, second] = whole[:, second, first] = part
    return Estimate(*square)


def prepare_pairs(plan: Plan, discrete: Flags) -> PairRegression:
    """Prepare the regression of a plan on products of signs, and on these times the values of both features.

    Where there are too many pairs for so many columns there are fewer, or none: then interactions are plain means.
    """
    signs = np.where(plan.masks[:, plan.free], 1.0, -1.0)
    first, second = np.triu_indices(signs.shape[1], k=1)
    room, parts = MOST_COLUMNS * len(signs), [np.empty((len(signs), 0))]
    if len(first) <= room:
        parts = [signs[:, first] * signs[:, second]]
    if 4 * len(first) <= room:
        values, known = _leading(plan, discrete)
        mean, joint = known.mean(axis=0), products(known.T) / len(known)
        parts += [
            parts[0] * (values[:, first] - mean[first]),
            parts[0] * (values[:, second] - mean[second]),
            parts[0] * (values[:, first] * values[:, second] - joint[first, second]),
        ]
    columns = apart(np.concatenate(parts, axis=1), plan.run)
    solution = effects.solution(columns, np.full(columns.shape[1], REST * len(signs)))
    inflation, order = effects.inflation(columns, solution), hadamard_order(len(plan.free))
    size = order if order >= plan.run and len(signs) >= FEWEST * order else plan.run
    return PairRegression(columns, solution, inflation, signs, first, second, plan.run, size)


def _leading(plan: Plan, discrete: Flags) -> tuple[Array, Array]:
    """(p, f) and (N, f) one number for each feature of donors and of reference rows; 0 where there is none to have."""
    stacked, found = np.concatenate([plan.values, plan.background]), []
    for feature in np.flatnonzero(plan.free):
        column = plan.features[feature][0]
        functions, _ = effects.functions_of(plan, column, bool(discrete[column]), 1)
        made = functions(stacked[:, column])
        found.append(made[:, :1] if made.shape[1] and not plan.fitted[feature] else np.zeros((len(stacked), 1)))
    made = np.concatenate(found, axis=1) if found else np.zeros((len(stacked), 0))
    return made[: len(plan.values)], made[len(plan.values) :]


def measure_pairs(plan: PairRegression, responses: Array) -> Array:
    """(3, n, k) the interactions of (n, s) responses, their variances, and the degrees of freedom of these."""
    n_pairs = len(plan.signs)
    sums = apart((responses[:, :n_pairs] + responses[:, n_pairs : 2 * n_pairs]).T, plan.run).T
    residuals = (sums - (sums @ plan.solution) @ plan.columns.T) * plan.inflation
    found = [np.zeros((3, len(sums), 0))]
    for some in blocks(len(plan.first), MOST_CELLS // max(n_pairs, len(sums) * (n_pairs // plan.size))):
        influence = plan.influence(some)
        variance, freedom = effects.over_blocks(residuals, influence, plan.size)
        found.append(np.stack([sums @ influence, variance, np.full_like(variance, freedom)]))
    return np.concatenate(found, axis=2)


def apart(part: Array, run: int) -> Array:
    """(p, c) what each of some numbers differs by from the mean of its run."""
    by_run = part.reshape(len(part) // run, run, part.shape[1])
    return (by_run - by_run.mean(axis=1, keepdims=True)).reshape(part.shape)
