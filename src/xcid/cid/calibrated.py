"""Importance without the bias of noise, with limits and p-values; and how often a feature flips the output alone.

With w the membership in C+ and m its mean, d1 = 2T / (1 + T), where T is the total variation between C+ and C-:
4 m (1 - m) T = A, the sum of |h| over the places that a feature's value may be at (the row's own, atoms, cells). What
h has is linear in the differences of w within pairs of complements, so one plan needs one set of matrices.

1. What other features do is taken out of these differences by a regression on the signs of the plan (which of two
   complements takes a feature), times functions of the value that is taken.
2. Sizes of noise do not average out: where h is nothing but noise, A has the mean B = sqrt(2 / pi) times the sum of the
   standard errors of h. Importance is the d1 of sqrt(A^2 - B^2), 0 where A is below B.
3. Limits: once signs of h are known, A is a sum over pairs; differences of neighbouring blocks of pairs measure its
   chance, and that of m. Donors are evenly spread, so that what they add counts half.
4. P-values are those of a randomisation that took place: a plan draws the signs of each feature anew for each block of
   pairs, whatever the model does. The effects of the other features are estimated without this feature, so that
   they do not depend on its signs; then three moments of a sum of squares over all of these draws are known.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import (
    blocks,
    find_p_values,
    measure_between,
    ratio,
    redraw_blocks,
    redraw_pairs,
    same,
    student_quantile,
)
from xcid.cid import planned
from xcid.cid.densities.mixed import Mixed
from xcid.cid.per_feature import PerFeature
from xcid.cid.planned import Design, Shared, is_wide, shared
from xcid.contributions import sampled
from xcid.contributions.effects import Measured
from xcid.records import Array, Density, Flags, Perturbations, Plan, Scores, plan_by_plan
from xcid.records.fields import Estimate

DONORS = 0.5  # of the standard error that independent donors would have, since they are evenly spread
FOLDED = np.sqrt(2 / np.pi)  # mean size of a standard normal number
CONFIDENCE = 0.95
ROUNDING = 1e-9  # moves of the membership below this are none
MOST_HELD = 2**18  # numbers of an array that is held for some rows at a time


def importance(cloud: Perturbations, density: Density) -> Estimate:
    """Estimate d1 of every feature without the bias of noise, for clouds that follow one plan.

    Limits (95%) are about the d1 that unlimited sampling by plans of this kind would give. P-values are those of the
    plan's own randomisation, against 'the model ignores the feature': the chance that signs drawn anew, the model and
    everything else being the same, had given squared differences as large (by a gamma distribution with the same mean,
    variance and skewness; where a plan has fewer than 12 blocks, as if each pair had signs of its own). Where p is 0.05
    or more, the lower limit is 0; where no single change moves the output either, so is the value.

    Features without a plan (rare flips that were searched for, constraints), groups, densities that differ from row to
    row, numbers that a grid of 384 cells is too coarse for (a few lie far out), and more features than the plan has
    blocks for (beyond 64 at 3,000 perturbations) have their plain d1, and NaN for limits and p-values; rows without
    flips have 0 and NaN. Features that may not change have 0 and a p-value of 1.

    Parameters
    ----------
    cloud : Perturbations
        Rows that follow one plan, or none.
    density : Density
        Of the evidence.

    Returns
    -------
    Estimate
        Of (n, f) arrays.
    """
    plan, parts = cloud.plan, planned.parts(cloud, density)
    if plan is not None and is_wide(plan):
        parts = []
    covered = [feature for part in parts for feature in part.features]
    shape = len(cloud), len(cloud.features)
    plain = np.zeros(shape) if len(covered) == shape[1] else PerFeature(density)(cloud).importance
    found = Estimate(plain, *np.full((3, *shape), np.nan))
    if plan is None or not parts:
        return found
    made = plan.once(("importance", density), lambda plan: shared(plan, parts))
    for whole, fixed in zip(found, (0.0, 0.0, 0.0, 1.0), strict=True):
        whole[:, ~plan.free] = fixed
    is_moved = find_moves(cloud)
    for at, design in enumerate(made.designs):
        k, n_functions, pairs = design.functions.shape
        by_row = k * (pairs if made.size == 1 else max(pairs, n_functions * (pairs // made.size)))
        for rows in blocks(len(cloud), MOST_HELD // by_row):
            pieces = _measure_design(made, at, cloud[rows], is_moved[rows][:, design.features].T)
            for whole, piece in zip(found, pieces, strict=True):
                whole[rows, design.features] = piece.T
    return found


def flips_alone(cloud: Perturbations) -> Array:
    """(n, f) share of a feature's values with which, nothing else changed, the membership in C+ is above one half.

    Where classes tie, the model names the first of them, and so the other side is reached where that is another one.
    NaN where nothing is taken alone: for features that may not change, rows without a plan, and very many features.
    """
    found = np.full((len(cloud), len(cloud.features)), np.nan)
    plan = cloud.plan
    if plan is not None and len(plan.alone):
        found[:, plan.free] = (_ends(_settle_ties(cloud, plan), plan)[1] > 0.5).mean(axis=1)
    return found


def _settle_ties(cloud: Perturbations, plan: Plan) -> Perturbations:
    """The same cloud, in which samples of a tie are on the side of the class that the model names, the first."""
    is_tie = np.abs(cloud.positive - 0.5) < ROUNDING
    if cloud.outputs is None or cloud.outputs.shape[2] < 2 or not is_tie.any():
        return cloud
    named = cloud.outputs.argmax(axis=2)
    own = named[:, 2 * len(plan.masks), None]  # of the sample that takes nothing
    return replace(cloud, positive=np.where(is_tie, named != own, cloud.positive))


def find_moves(cloud: Perturbations) -> Flags:
    """(n, f) whether a change of the feature alone, or back to its present value, moved the membership of a sample."""
    plan = cloud.plan
    found = np.zeros((len(cloud), len(cloud.features)), dtype=bool)
    if plan is not None and len(plan.alone):
        own, alone, rest, taken = _ends(cloud, plan)
        sides = [np.abs(new - old).max(axis=1) > ROUNDING for new, old in ((alone, own), (rest, taken))]
        found[:, plan.free] = sides[0] | sides[1]
    return found


def _ends(cloud: Perturbations, plan: Plan) -> tuple[Array, Array, Array, Array]:
    """Memberships (n, 1, 1) of the row, (n, a, f) with one value, (n, b, f) with all others, (n, b, 1) with all."""
    n, n_free, n_alone, n_rest = len(cloud), int(plan.free.sum()), len(plan.alone), len(plan.rest)
    counts = np.array([2 * len(plan.masks), 1, n_alone * n_free, n_rest * n_free])
    _, own, alone, rest, taken = np.split(cloud.positive, np.cumsum(counts), axis=1)
    shapes = ((1, 1), (n_alone, n_free), (n_rest, n_free), (n_rest, 1))
    each = (part.reshape(n, *shape) for part, shape in zip((own, alone, rest, taken), shapes, strict=True))
    return tuple(each)  # type: ignore[return-value]


class _MeasuredHeights(NamedTuple):
    """What is found of the features of a design in some rows, in the unit of 4 m (1 - m) T."""

    heights: Array  # (k, 1 + g, n) of the row's own value and of cells
    joined: Array  # (k, g, n) 1 where the row's own value lies at the atom, else 0
    noise: Array  # (p, n) residuals
    own: Array  # (k, r, n) coefficients of the own columns


def _measure_design(made: Shared, at: int, cloud: Perturbations, is_moved: Flags) -> Estimate:
    """Estimate of (k, n) for the features of one design."""
    design, fit, pairs = made.designs[at], made.fit, len(made.fit.columns)
    first, second = cloud.positive[:, :pairs].T, cloud.positive[:, pairs : 2 * pairs].T
    apart, both = first - second, (first + second) / 2
    mean = both.mean(axis=0)
    scale = 4 * mean * (1 - mean)
    coefficients = fit.solution.T @ apart
    residuals = apart - fit.columns @ coefficients
    own = coefficients[fit.owned[at]]
    among = redraw_pairs if made.size == 1 else functools.partial(redraw_blocks, made.size)
    chance = among(design.functions, fit.without[at], residuals, own)
    heights, joined = _heights(design, cloud.origin, (chance.sums + fit.joint[at] @ own) / pairs)
    found = _MeasuredHeights(heights, joined, residuals * fit.inflation, own)
    size = np.abs(heights).sum(axis=1)
    p = np.where(size > ROUNDING * scale, find_p_values(chance, ROUNDING * scale * np.sqrt(pairs)), 1.0)
    bias = _bias(design, found) * np.sqrt(fit.widened[at] * chance.spread)
    error, freedom = _error(made, at, found, 4 * ratio(size * (1 - 2 * mean), scale), both)
    reach = student_quantile(np.array(freedom), (1 + CONFIDENCE) / 2) * error
    value, low, high = (_correct_bias(part, bias) for part in (size, size - reach, size + reach))
    is_clear = p < 1 - CONFIDENCE
    parts = (np.where(is_clear | is_moved, value, 0.0), np.where(is_clear, low, 0.0), high)
    known = [_d1(ratio(part, scale)) for part in parts]
    return Estimate(known[0], *(np.where(scale > 0, part, np.nan) for part in (*known[1:], p)))


def _heights(design: Design, rows: Array, sums: Array) -> tuple[Array, Array]:
    """(k, 1 + g, n) from (k, 1 + t, n) sums of functions, and (k, g, n) where the own value lies."""
    cells, half = design.cells @ sums, sums[:, :1] / 2
    joined = np.zeros(cells.shape)
    atoms = design.atoms.shape[1]
    joined[:, :atoms] = same(rows[:, design.columns].T[:, None], design.atoms[:, :, None])
    apart = 1 - joined.sum(axis=1, keepdims=True)
    return np.concatenate([-half * apart, cells - (design.share + joined) * half], axis=1), joined


def _bias(design: Design, found: _MeasuredHeights) -> Array:
    """(k, n) the mean size of heights that are nothing but noise, of independent pairs."""
    squares, weights, pairs = found.noise**2, design.weights, len(found.noise)
    at, whole = (design.share + found.joined) / 2, squares.sum(axis=0)
    variance = weights**2 @ squares - 2 * at * ((weights * design.signs) @ squares) + at**2 * whole
    own = np.sqrt(whole) / 2 * (1 - found.joined.sum(axis=1))
    result: Array = FOLDED * (np.sqrt(variance.clip(0.0)).sum(axis=1) + own) / pairs
    return result


def _error(made: Shared, at: int, found: _MeasuredHeights, slope: Array, both: Array) -> tuple[Array, float]:
    """(k, n) standard errors of the sum of heights, less (k, n) slopes times (p, n) means of pairs, and freedom."""
    design, fit, pairs = made.designs[at], made.fit, len(found.noise)
    signs = np.sign(found.heights)
    centre = (signs[:, 1:] * (design.share + found.joined)).sum(axis=1) / 2 + signs[:, 0] / 2
    along = design.cells.swapaxes(1, 2) @ signs[:, 1:]
    along[:, 0] -= centre
    along /= pairs
    pull = fit.columns[:, fit.owned[at]].transpose(1, 0, 2) @ (DONORS * found.own)
    pull += found.noise
    pull *= design.functions.swapaxes(1, 2) @ along
    starts = np.arange(0, pairs, made.size)
    sums = np.add.reduceat(pull, starts, axis=1)
    sums -= slope[:, None] * (np.add.reduceat(both, starts) / pairs)
    return np.sqrt(measure_between(sums)), 2 * (sums.shape[1] - 1) / 3


def _correct_bias(size: Array, bias: Array) -> Array:
    return np.sqrt(np.clip(np.clip(size, 0.0, None) ** 2 - bias**2, 0.0, None))


def _d1(variation: Array) -> Array:
    variation = np.minimum(variation, 1.0)
    return 2 * variation / (1 + variation)


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Calibrated d1 of every feature; the contributions beside it are measured by the same perturbations.

    Parameters
    ----------
    density : Density
        Of the evidence.
    """

    density: Density = field(default_factory=Mixed)

    def __call__(self, cloud: Perturbations) -> Scores:
        return plan_by_plan(self._scored, cloud)

    def _scored(self, cloud: Perturbations) -> Scores:
        value, lower, upper, p = importance(cloud, self.density)
        ends = {"importance_lower": lower, "importance_upper": upper, "importance_p_values": p}
        return Scores(value, value, lower, upper, p, **ends, flips_alone=flips_alone(cloud))

    def measured(self, cloud: Perturbations, numbers: Array) -> Measured:
        """Measure mean effects on (n, s) numbers, of which contributions are made."""
        return sampled.measure_values(cloud, numbers)


@dataclass(frozen=True, slots=True)
class ContributionsAlone(Adjusted):
    """Contributions alone: of importance nothing is known."""

    def __call__(self, cloud: Perturbations) -> Scores:
        nothing = np.full((len(cloud), len(cloud.features)), np.nan)
        return Scores(nothing, nothing)
