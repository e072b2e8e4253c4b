"""By how much the present value of each feature moves a number that the model gives, in the number's own unit.

These are Shapley values of the number itself, measured by the samples of a plan as ``effects`` measures
log odds: they add up, and are exact for numbers that add up over features.
"""

from __future__ import annotations

import numpy as np

from xcid._kernels import student
from xcid._kernels.arrays import blocks, namespace, ratio
from xcid.contributions import effects
from xcid.contributions.adjusted import CONFIDENCE, MOST_CELLS, changes, full
from xcid.contributions.effects import Measured
from xcid.records import Array, Estimate, Flags, Perturbations

ROUNDING = 1e-10  # effects and errors below this share of the largest number that was given are 0


def moves(cloud: Perturbations, numbers: Array) -> Estimate:
    """Measure effects on (n, s) numbers of the samples of a cloud; NaN for rows that follow no plan."""
    shape = len(cloud), len(cloud.features)
    found = Estimate(*(np.full(shape, np.nan) for _ in Estimate._fields))
    follows = np.zeros(len(cloud), dtype=np.int64) if cloud.follows is None else cloud.follows
    for at in np.unique(follows):
        rows = np.flatnonzero(follows == at)
        for part in blocks(len(rows), MOST_CELLS // numbers.shape[1]):
            some = rows[part]
            if cloud[some].plan is not None:
                for whole, one in zip(found, _moves(cloud[some], numbers[some]), strict=True):
                    whole[some] = one
    return found


def _moves(cloud: Perturbations, numbers: Array) -> Estimate:
    plan = cloud.plan
    assert plan is not None
    shared = plan.once("effects", lambda plan: effects.shared(plan, cloud.discrete))
    unit = unit_of(numbers)
    return calibrated(full(plan, effects.measured(shared, numbers / unit)), unit, changes(cloud))


def unit_of(numbers: Array) -> Array:
    """(n, 1) the largest of (n, s) numbers in size; 1 where all are 0. Arrays of NumPy or tensors of torch."""
    xp = namespace(numbers)
    scale: Array = xp.amax(abs(numbers), 1)[:, None]
    return xp.where(scale > 0, scale, 1.0 + 0 * scale)


def calibrated(measured: Measured, unit: Array, able: Flags) -> Estimate:
    """Turn what was measured of numbers in a (n, 1) unit into effects with limits; (n, f) features may be able to.

    Arrays of NumPy or tensors of torch.
    """
    xp = namespace(measured.effects)
    effect, variance, freedom = (xp.where(able, part, 0.0) for part in measured)
    error = xp.sqrt(variance)
    effect, error = (xp.where(abs(part) < ROUNDING, 0.0, part) for part in (effect, error))
    freedom = freedom.clip(1.0)
    reach = xp.where(error > 0, student.quantile(freedom, (1 + CONFIDENCE) / 2) * error, 0.0)
    chance = student.both_tails(freedom, ratio(abs(effect), error))
    p_values = xp.where((effect != 0) & (error == 0), 0.0, chance)
    return Estimate(effect * unit, (effect - reach) * unit, (effect + reach) * unit, p_values)
