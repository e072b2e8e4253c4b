"""The recommended score: what keeping each feature does to the odds of the present output, adjusted for the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

import numpy as np

from xcid._kernels import student
from xcid._kernels.arrays import blocks, functions, namespace, ratio, same
from xcid.cid.densities.mixed import Mixed
from xcid.cid.per_feature import PerFeature, Scores, kept, plan_by_plan
from xcid.contributions import effects, regressions
from xcid.contributions.effects import Measured, Shared
from xcid.records import Array, Density, Flags, Perturbations, Plan

CONFIDENCE = 0.95
ROUNDING = 1e-6  # effects below this share of the largest are 0
MOST_CELLS = 2**18  # of an array that is held for some rows at a time: they stay in the cache
LEAST_SHARE = 1e-3  # of yes or no answers: shares closer to 0 or 1 count as this close
FARTHEST = 34.0  # log odds beyond this lose their digits where the larger probability is held in double precision
DIGITS = 1e-7  # memberships below this are small because digits end, others because a model gives no smaller ones

Measure: TypeAlias = Callable[[Perturbations, Array, float], Measured]
"""From clouds of one plan, their (n, s) responses and the end of these to effects, as :func:`measured`."""


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Signed, adjusted d1 of every feature, with limits and p-values.

    A feature's log odds ratio s is its Shapley value: by how much the log odds of the present output fall when the
    feature takes values of the reference data, averaged over all orders in which the features do. For a model whose
    log odds add up, s is exact; the scores of a row add up to the log odds that it is above the reference data's. Where
    the outcome says yes or no instead of giving probabilities, s is the log ratio of the odds of staying with and
    without the feature's present value. With the symmetric two-point form of the densities of 'unchanged' and
    'changed', ``d1 = 1 - exp(-|s|/2)``, signed by s. The importance is the d1 of the evidence.

    Which features a perturbation takes is drawn at random, and limits and p-values rest on that alone (see
    :mod:`xcid.contributions.effects`): they hold whatever the features have to do with each other.

    Parameters
    ----------
    density : Density
        Of the evidence.
    """

    density: Density = field(default_factory=Mixed)

    def __call__(self, cloud: Perturbations) -> Scores:
        return scored(cloud, self.density, measured)


def scored(cloud: Perturbations, density: Density, measure: Measure) -> Scores:
    """Score clouds by what is measured of them, with the evidence of a density."""
    return plan_by_plan(partial(_scored, density, measure), cloud)


def _scored(density: Density, measure: Measure, cloud: Perturbations) -> Scores:
    importance = PerFeature(density)(cloud).importance
    held = cloud.positive.shape[1] * (1 if cloud.plan is not None else 3 * cloud.origin.shape[1])
    parts = [_found(cloud[part], measure) for part in blocks(len(cloud), MOST_CELLS // held)]
    found, level = (np.concatenate(part) for part in zip(*parts, strict=True))
    return calibrated(importance, Measured(*np.moveaxis(found, 1, 0)), level)


def _found(cloud: Perturbations, measure: Measure) -> tuple[Array, Array]:
    """(n, 3, f) what was measured, and (n, 1) the mean membership in C- (NaN where effects are log odds)."""
    weight = cloud.positive + cloud.negative  # 0 for an empty place
    if cloud.least is None:
        stays = ratio(cloud.negative, weight)
        level, end = ratio(np.sum(cloud.negative, axis=1), np.sum(weight, axis=1)), np.inf
    else:
        stays, end = log_odds(cloud.negative, cloud.positive, cloud.least)
        level = np.full(len(cloud), np.nan)
    found = measure(cloud, stays, end)
    known = (cloud.positive.sum(axis=1) > 0) & (cloud.negative.sum(axis=1) > 0) | (cloud.least is not None)
    counts = known[:, None] & changes(cloud)
    return np.stack([np.where(counts, part, 0.0) for part in found], axis=1), level[:, None]


def log_odds(stays: Array, flips: Array, least: float) -> tuple[Array, float]:
    """Log odds of two memberships, of which 0 counts as ``least``, and where their range ends; arrays or tensors."""
    xp, smallest = namespace(stays), np.exp(-FARTHEST)
    is_end = least < DIGITS
    least = max(least, smallest)
    above, below = (xp.log(xp.where(part > (least if is_end else smallest), part, least)) for part in (stays, flips))
    return above - below, -np.log(least) - ROUNDING if is_end else np.inf


def measured(cloud: Perturbations, responses: Array, end: float) -> Measured:
    """Measure the effects of all features on (n, s) responses, which may be anything at ``end`` and beyond."""
    plan = cloud.plan
    if plan is None:
        return regressions.measured(cloud, responses)
    return full(plan, effects.measured(shared(plan, cloud.discrete), responses, end))


def shared(plan: Plan, discrete: Flags) -> Shared:
    """What the regressions of all rows of a plan share; made once."""
    return plan.once("effects", lambda plan: effects.shared(plan, discrete))


def full(plan: Plan, found: Measured) -> Measured:
    """What was measured for the features that may change, with 0 for all others; arrays or tensors."""
    xp = namespace(found.effects)
    whole = xp.stack(tuple(found))
    if not plan.free.all():
        part, shape = whole, (*whole.shape[:2], len(plan.free))
        whole = xp.zeros(shape, dtype=part.dtype, device=part.device)
        whole[:, :, np.flatnonzero(plan.free)] = part
    if len(plan.background) < max(effects.FEWEST, len(plan.free) // 2):  # so few rows cannot tell the features apart
        whole[1], whole[2] = np.inf, 1.0
    return Measured(*whole)


def changes(cloud: Perturbations) -> Flags:
    """(n, f) features that took another value in any sample."""
    plan = cloud.plan
    if plan is None or cloud.given is not None:
        ever: Flags = np.any(~kept(cloud), axis=1)
        return ever
    return differing(plan, cloud.origin, plan.once("fixed", fixed))


def differing(plan: Plan, rows: Array, value: Array) -> Flags:
    """(n, f) features of (n, d) rows that are free and have not the (d,) value that all donors have, if any."""
    xp, found = namespace(rows), ~same(rows, value)
    if any(columns != (at,) for at, columns in enumerate(plan.features)):
        found = xp.stack([found[:, list(columns)].any(1) for columns in plan.features], 1)
    if not plan.free.all():
        found[:, np.flatnonzero(~plan.free)] = False
    return found


def fixed(plan: Plan) -> Array:
    """(d,) the value that all donors have; infinite where they differ."""
    first = plan.new[0]
    return np.where(same(plan.new, first).all(axis=0), first, np.inf)


def calibrated(importance: Array, found: Measured, level: Array) -> Scores:
    """Turn what was measured into scores with limits; ``level`` (n, 1) is the mean membership, NaN for log odds.

    Arrays of NumPy or tensors of torch.
    """
    xp, special = namespace(found.effects), functions(found.effects)
    tiny = ROUNDING * (xp.amax(abs(found.effects), 1)[:, None].clip(1.0) if found.effects.shape[1] else 1.0)
    effect, error = (xp.where(abs(part) < tiny, 0.0, part) for part in (found.effects, xp.sqrt(found.variance)))
    freedom = found.freedom.clip(1.0)
    reach = student.quantile(freedom, (1 + CONFIDENCE) / 2) * error
    reach = xp.where(reach > tiny, reach, tiny)
    chance = student.both_tails(freedom, ratio(abs(effect), error))
    return Scores(
        values=to_d1(as_log_odds(effect, level)),
        importance=importance,
        direction=xp.sign(effect),
        lower=to_d1(as_log_odds(effect - reach, level)),
        upper=to_d1(as_log_odds(effect + reach, level)),
        p_values=xp.where((effect != 0) & (error == 0), 0.0, chance),  # a model that adds up leaves nothing to chance
        null_mean=1 - special.erfcx(abs(as_log_odds(error, level)) / np.sqrt(8)),  # of 1 - exp(-|s|/2), s normal
        null_quantile=to_d1(as_log_odds(reach, level)),
    )


def as_log_odds(effect: Array, level: Array) -> Array:
    """Turn effects on a share of (n, 1) mean levels into log odds ratios; effects that have no level are log odds.

    The ratio is that of half the effect above the mean and half of it below, as far as these are shares at all.

    Examples
    --------
    >>> import numpy as np
    >>> as_log_odds(np.array([[0.0, 0.5]]), np.array([[0.5]])).round(3).tolist()
    [[0.0, 2.197]]
    """
    xp, special = namespace(effect), functions(effect)
    ends = ((level + half).clip(LEAST_SHARE, 1 - LEAST_SHARE) for half in (effect / 2, -effect / 2))
    above, below = (special.logit(end) for end in ends)
    found: Array = xp.where(xp.isnan(level), effect, above - below)
    return found


def to_d1(log_odds: Array) -> Array:
    """Turn log odds ratios into the signed d1 of the symmetric two-point form.

    Examples
    --------
    >>> import numpy as np
    >>> to_d1(np.array([0.0, -2.0 * np.log(2.0)])).tolist()
    [0.0, -0.5]
    """
    xp = namespace(log_odds)
    found: Array = xp.sign(log_odds) * -xp.expm1(-abs(log_odds) / 2)
    return found
