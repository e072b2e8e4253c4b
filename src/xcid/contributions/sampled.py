"""Contributions by the samples of a plan: what present values add to a number, from its mean over reference rows.

They are Shapley values of the number, measured as :mod:`xcid.contributions.effects` measures mean effects, and they add
up to what the row's own number differs from that mean by.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid._kernels.arrays import blocks, namespace, ratio, same, student_quantile, student_tails
from xcid.contributions import effects
from xcid.contributions.effects import EffectRegression, Measured
from xcid.records import Array, Estimate, Flags, Perturbations, Plan

CONFIDENCE = 0.95
LEAST = 1e-12  # of what other numbers vary by, which keeps those that are multiples of each other apart
ROUNDING = 1e-8  # effects and errors below this share of the largest number that was given are 0
MOST_CELLS = 2**18  # of an array that is held for some rows at a time: they stay in the cache

Measure: TypeAlias = Callable[[Perturbations, Array], Measured]
"""From clouds of one plan and their (n, s) numbers to effects, as :func:`measure_values`."""


class Known(NamedTuple):
    """Other numbers of the same samples, whose contributions are known exactly: control variates."""

    numbers: Array  # (n, s, c)
    values: Array  # (n, f, c)


def contributions(
    cloud: Perturbations, numbers: Array, gap: Array, measure: Measure | None = None, known: Known | None = None
) -> Estimate:
    """Contributions to (n, s) numbers of the samples of a cloud, which add up to (n,) gaps.

    NaN for rows that follow no plan.
    """
    shape = len(cloud), len(cloud.features)
    found = Estimate(*(np.full(shape, np.nan) for _ in Estimate._fields))
    follows = np.zeros(len(cloud), dtype=np.int64) if cloud.follows is None else cloud.follows
    for at in np.unique(follows):
        rows = np.flatnonzero(follows == at)
        for part in blocks(len(rows), MOST_CELLS // numbers.shape[1]):
            some = rows[part]
            if (one_plan := cloud[some]).plan is not None:
                also = None if known is None else Known(*(each[some] for each in known))
                made = _contributions(one_plan, numbers[some], gap[some], measure or measure_values, also)
                for whole, one in zip(found, made, strict=True):
                    whole[some] = one
    return found


def _contributions(cloud: Perturbations, numbers: Array, gap: Array, measure: Measure, known: Known | None) -> Estimate:
    """Of numbers, from which what is known is taken as far as they go along with it, and to which it is added again."""
    plan, part = cloud.plan, np.zeros((len(cloud), 1))
    assert plan is not None
    if known is not None:
        slope = _slopes(share_regression(plan, cloud.discrete), numbers, known.numbers)
        part = np.einsum("nfc,nc->nf", known.values, slope)
        numbers = numbers - np.einsum("nsc,nc->ns", known.numbers, slope)
    unit = unit_of(numbers)
    left, able = (gap - part.sum(axis=1))[:, None] / unit, changes(cloud)
    return calibrate_values(measure(cloud, numbers / unit), left, unit, able, is_small(plan), part / unit)


def _slopes(plan: EffectRegression, numbers: Array, others: Array) -> Array:
    """(n, c) coefficients with which (n, s, c) other numbers take most of the chance from (n, s) numbers."""
    pairs = len(plan.columns)

    def differences(part: Array) -> Array:
        return part[..., :pairs] - part[..., pairs : 2 * pairs]

    def residuals(part: Array) -> Array:
        return np.asarray(part - (part @ plan.solution) @ plan.columns.T)

    whole = differences(np.moveaxis(others, -1, 1))  # (n, c, p)
    along, own = residuals(whole), residuals(differences(numbers))  # (n, c, p) and (n, p)
    square = along @ np.moveaxis(along, 1, 2)
    size = np.sum(whole**2, axis=(1, 2))[:, None, None]  # what the regression fits leaves rounding, which tells nothing
    ridge = np.where(size > 0, LEAST * size, 1.0) * np.eye(others.shape[2])
    return np.asarray(np.linalg.solve(square + ridge, along @ own[:, :, None])[:, :, 0])


def measure_values(cloud: Perturbations, numbers: Array) -> Measured:
    """Measure the effects of all features on (n, s) numbers."""
    plan = cloud.plan
    assert plan is not None
    return full(plan, effects.measure_effects(share_regression(plan, cloud.discrete), numbers))


def share_regression(plan: Plan, discrete: Flags) -> EffectRegression:
    """What the regressions of all rows of a plan share; made once."""
    return plan.once("effects", lambda plan: effects.prepare_effects(plan, discrete))


def is_small(plan: Plan) -> bool:
    """Whether a plan has so few reference rows that they cannot tell the features apart."""
    return len(plan.background) < max(effects.FEWEST, len(plan.free) // 2)


def unit_of(numbers: Array) -> Array:
    """(n, 1) the largest of (n, s) numbers in size; 1 where all are 0. Arrays of NumPy or tensors of torch."""
    xp = namespace(numbers)
    scale: Array = xp.amax(abs(numbers), 1)[:, None]
    return xp.where(scale > 0, scale, 1.0 + 0 * scale)


def full(plan: Plan, found: Measured) -> Measured:
    """What was measured for the features that may change, with 0 for all others; arrays or tensors."""
    if plan.free.all():
        return found
    xp, part = namespace(found.effects), namespace(found.effects).stack(tuple(found))
    whole = xp.zeros((*part.shape[:2], len(plan.free)), dtype=part.dtype, device=part.device)
    whole[:, :, np.flatnonzero(plan.free)] = part
    return Measured(*whole)


def changes(cloud: Perturbations) -> Flags:
    """(n, f) features that took another value in any sample."""
    plan = cloud.plan
    assert plan is not None
    if cloud.given is None:
        return differing(plan, cloud.origin, plan.once("fixed", find_fixed))
    moved = np.any(~same(cloud.given, cloud.origin[:, None]), axis=1)
    return np.stack([moved[:, [*columns]].any(axis=1) for columns in cloud.features], axis=1)


def differing(plan: Plan, rows: Array, value: Array) -> Flags:
    """(n, f) features of (n, d) rows that are free and have not the (d,) value that all donors have, if any."""
    xp, found = namespace(rows), ~same(rows, value)
    if any(columns != (at,) for at, columns in enumerate(plan.features)):
        found = xp.stack([found[:, list(columns)].any(1) for columns in plan.features], 1)
    if not plan.free.all():
        found[:, np.flatnonzero(~plan.free)] = False
    return found


def find_fixed(plan: Plan) -> Array:
    """(d,) the value that all donors have; infinite where they differ."""
    first = plan.new[0]
    return np.where(same(plan.new, first).all(axis=0), first, np.inf)


def calibrate_values(found: Measured, gap: Array, unit: Array, able: Flags, small: bool, part: Any = 0.0) -> Estimate:
    """Turn what was measured of numbers in a (n, 1) unit into contributions with limits, which add up to (n, 1) gaps.

    A ``part`` of them, which is known, is added. Features that are not ``able`` to change have none. Arrays of NumPy or
    tensors of torch.
    """
    xp = namespace(found.effects)
    found = effects.summing(Measured(*(xp.where(able, part, 0.0) for part in found)), gap[:, 0], able)
    effect, error = (xp.where(abs(part) < ROUNDING, 0.0, part) for part in (found.effects, xp.sqrt(found.variance)))
    size, left = abs(effect + part), gap - effect.sum(1)[:, None]  # what is left is rounding
    effect = effect + part + ratio(size, size.sum(1)[:, None]) * left
    error = xp.where(able, np.inf, 0.0) if small else error
    return estimate_values(effect * unit, error * unit, found.freedom)


def estimate_values(value: Array, error: Array, freedom: Array) -> Estimate:
    """Values with limits and p-values, by their standard errors; what has no error is not left to chance."""
    xp, freedom = namespace(value), freedom.clip(1.0)
    reach = xp.where(error > 0, student_quantile(freedom, (1 + CONFIDENCE) / 2) * error, 0.0)
    chance = student_tails(freedom, ratio(abs(value), error))
    return Estimate(value, value - reach, value + reach, xp.where((value != 0) & (error == 0), 0.0, chance))
