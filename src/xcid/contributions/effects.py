"""Mean effects of the features of rows that follow a plan, by what is randomised there: which features are taken.

A response is a number for each sample, such as the log odds of a class. The Shapley value of a feature is the mean of
its effect over the share q of the other features that are taken (Owen, 1972): the integral over q from 0 to 1 of the
effect when each of them is taken with probability q. Simpson's rule, with q = 0, 1/2 and 1, is exact where no more
than four features interact. At q = 1/2 differences between complements are regressed on signs that say which of the two
takes each feature, by itself and times functions of the value that is taken. These signs are drawn at random,
independently of all values: so the columns of different features are uncorrelated whatever the values look like, and a
feature that the model ignores has an effect of 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import namespace, products
from xcid._kernels.random import hadamard_order
from xcid.records import Array, Flags, Plan, once_for

FEWEST = 12  # blocks, and donors, whose differences tell of chance
MOST_COLUMNS = 1 / 3  # of the number of pairs
MOST_LEVELS = 12  # of a category with columns of their own
KNOTS = (0.25, 0.5, 0.75)  # shares of the reference data below the knots of a number
BENDS, REST = 1e-2, 1e-10  # penalties of columns that bend, and of the others, for each pair
CROWDED = 0.1  # penalty of the signs where they are more than half as many as the pairs
MOST_LEVERAGE = 0.9
CORRECTION, SAFER = 0.5, 0.75  # power of what leverage leaves of a residual: right where noise is even; if crowded
FIRST, SECOND = 2 / 3, 18 / 35  # degrees of freedom that each difference of that order is worth
TINY = 1e-20  # share of the square of a gap that tells nothing of it
BEND = 0.05  # standard deviation of what Simpson's rule may lack, in units of how far effects bend


class EffectRegression(NamedTuple):
    """What the regressions of all rows of a plan share; c columns, and f features that may change."""

    columns: Array  # (p, c) of the differences
    solution: Array  # (p, c) from differences to coefficients
    influence: Array  # (p, f) what a unit of each difference does to the effects at q = 1/2
    reach: Array  # (p, f) and to the mean effects
    inflation: Array  # (p,) of residuals, for the freedom that the columns take
    bends: Array  # (c, f) 1 for the columns that say what the value of a feature adds to its mean effect
    alone: Array  # (a, c) these columns for values that are taken alone
    rest: Array  # (b, c) and for rows of which the rest is taken
    size: int  # pairs of a block within which signs are orthogonal


class Measured(NamedTuple):
    """(n, f) each."""

    effects: Array  # of keeping the present value
    variance: Array
    freedom: Array  # degrees of freedom of the variance
    bend: Array  # how far effects bend with the share of other features that are taken, beyond chance


def prepare_effects(plan: Plan, discrete: Flags) -> EffectRegression:
    """Prepare the regression of a plan."""
    free = np.flatnonzero(plan.free)
    pairs, n_free = len(plan.masks), len(free)
    stacked = np.concatenate([plan.values, plan.alone, plan.rest])
    most = int(MOST_COLUMNS * pairs / max(n_free, 1)) - 1
    parts, of_feature, penalties = [np.ones((len(stacked), n_free))], [np.arange(n_free)], [np.full(n_free, REST)]
    means = [np.zeros(n_free)]
    if n_free > pairs / 2:
        penalties = [np.full(n_free, CROWDED)]
    for at, feature in enumerate(free):
        for column in plan.features[feature]:
            if plan.fitted[feature] or most < 1:
                continue
            made, mean = functions_of(plan, column, bool(discrete[column]), most)
            means.append(mean)
            parts.append(made(stacked[:, column]))
            of_feature.append(np.full(len(mean), at))
            penalties.append(made.penalties)
    functions, owner, penalty = np.concatenate(parts, axis=1), np.concatenate(of_feature), np.concatenate(penalties)
    values, alone, rest = np.split(functions, np.cumsum([pairs, len(plan.alone)]))
    mean = np.concatenate(means)
    bends = (np.arange(len(owner)) >= n_free)[:, None] & (owner[:, None] == np.arange(n_free))
    signs = np.where(plan.masks[:, free], 1.0, -1.0)
    columns = signs[:, owner] * (values - mean)
    solved = solution(columns, penalty * pairs)
    own, least = columns[:, :n_free], solved[:, :n_free]
    if len(owner) > pairs:  # what they leave of the signs, which have one penalty, is the solution times the penalty
        influence = -least * (1 + penalty[0])
    else:
        influence = -(least + (own - solved @ (columns.T @ own)) / pairs)
    reach, size = influence, hadamard_order(len(plan.free))
    if len(alone):  # the bends that are taken from them and from the rest are measured by the differences, too
        reach = (4 * influence + solved @ (bends * (alone.mean(axis=0) + rest.mean(axis=0) - 2 * mean)[:, None])) / 6
    more = bends * 1.0, alone - mean, rest - mean, size
    return EffectRegression(columns, solved, influence, reach, inflation(columns, solved), *more)


def solution(columns: Array, penalty: Array) -> Array:
    """(p, c) what turns differences into coefficients by least squares with a penalty for each column."""
    pairs, n_columns = columns.shape
    if n_columns <= pairs:
        return np.asarray(np.linalg.solve(products(columns.T) + np.diag(penalty), columns.T).T, dtype=np.float64)
    weighted = columns / penalty
    return np.asarray(np.linalg.solve(weighted @ columns.T + np.eye(pairs), weighted), dtype=np.float64)


def inflation(columns: Array, solved: Array) -> Array:
    """(p,) what makes up for the freedom that the columns of a fit take from each of its residuals."""
    leverage = np.minimum(MOST_LEVERAGE, np.sum(solved * columns, axis=1))
    return np.asarray((1 - leverage) ** -(CORRECTION if 2 * columns.shape[1] <= len(columns) else SAFER))


class NumberBasis(NamedTuple):
    """Functions of a number: itself in standard deviations, whether it is missing, and what lies beyond each knot."""

    exponent: int  # squares of 1e-300 and 1e300 are no numbers
    mean: float
    spread: float
    holes: int  # 1 where it is said whether a number is missing
    knots: Array
    penalties: Array

    def __call__(self, cells: Array) -> Array:
        """(n, c) functions of (n,) cells."""
        if not len(self.penalties):
            return np.empty((len(cells), 0))
        cells = np.ldexp(cells, -self.exponent)
        place = np.nan_to_num((cells - self.mean) / self.spread)
        missing = [np.isnan(cells) * 1.0] * self.holes
        return np.stack([place, *missing, *(np.maximum(place - knot, 0.0) for knot in self.knots)], axis=1)


class Levels(NamedTuple):
    """Whether a category has one of its commonest levels; -1 stands for a missing cell."""

    common: Array

    @property
    def penalties(self) -> Array:
        """(c,) of the columns."""
        return np.full(len(self.common), REST)

    def __call__(self, cells: Array) -> Array:
        """(n, c) functions of (n,) codes."""
        code = np.where(np.isnan(cells), -1.0, cells)
        return (code[:, None] == self.common) * 1.0


def numbers(known: Array, most: int) -> NumberBasis:
    """At most so many functions of a number, by its values in the reference data."""
    _, exponent = np.frexp(np.nanmax(np.abs(known), initial=0.0))
    known = np.ldexp(known, -exponent)
    there = known[~np.isnan(known)]
    if not there.size or there.min() == there.max():
        return NumberBasis(0, 0.0, 1.0, 0, np.empty(0), np.empty(0))
    mean, spread, holes = there.mean(), there.std(), int(len(there) < len(known) and most > 1)
    knots = np.unique((np.quantile(there, KNOTS) - mean) / spread)
    knots = knots[knots > (there.min() - mean) / spread]
    knots = knots[:0] if most < 1 + holes + len(knots) else knots
    return NumberBasis(int(exponent), mean, spread, holes, knots, np.array([REST] * (1 + holes) + [BENDS] * len(knots)))


def levels(known: Array, most: int) -> Levels:
    """At most so many functions of a category, by its levels in the reference data."""
    level, count = np.unique(np.where(np.isnan(known), -1.0, known), return_counts=True)
    return Levels(level[np.argsort(-count, kind="stable")[: min(most, MOST_LEVELS)]])


def functions_of(plan: Plan, column: int, is_discrete: bool, most: int) -> tuple[NumberBasis | Levels, Array]:
    """Functions of a column, and their means over the reference rows; made once for all plans of these rows."""

    def make(background: Array) -> tuple[NumberBasis | Levels, Array]:
        known = background[:, column]
        made = (levels if is_discrete else numbers)(known, most)
        shares = np.full(len(known), 1 / len(known)) if plan.weights is None else plan.weights
        return made, shares @ made(known)

    weights = None if plan.weights is None else plan.weights.tobytes()
    return once_for(plan.background, ("functions", column, is_discrete, most, weights), make)


def measure_effects(plan: EffectRegression, responses: Array) -> Measured:
    """Measure effects on (n, s) responses; arrays of NumPy or tensors of torch."""
    xp, pairs = namespace(responses), len(plan.columns)
    differences, more = responses[:, :pairs] - responses[:, pairs : 2 * pairs], responses[:, 2 * pairs :]
    coefficients = differences @ plan.solution
    residuals = (differences - coefficients @ plan.columns.T) * plan.inflation
    half = differences @ plan.influence
    variance, degrees = over_blocks(residuals, plan.reach, plan.size)
    freedom = degrees + 0 * half
    if not len(plan.alone):
        return Measured(half, variance, freedom, 0 * half)
    shape, n_alone, n_rest = (len(half), -1, half.shape[1]), len(plan.alone), len(plan.rest)
    own, more = more[:, :1], more[:, 1:]
    alone, rest = more[:, : n_alone * shape[2]], more[:, n_alone * shape[2] : (n_alone + n_rest) * shape[2]]
    taken = more[:, (n_alone + n_rest) * shape[2] :]
    first = own[:, :, None] - alone.reshape(shape) + (coefficients[:, None] * plan.alone) @ plan.bends
    last = rest.reshape(shape) - taken[:, :, None] + (coefficients[:, None] * plan.rest) @ plan.bends
    bent = first[:, 2:] - 2 * first[:, 1:-1] + first[:, :-2]
    apart = last[:, 1:] - last[:, :-1]
    chance = [
        (variance, freedom),
        ((bent**2).sum(1) / (6 * (n_alone - 2) * n_alone) / 36, (n_alone - 2) * SECOND),
        ((apart**2).sum(1) / (2 * (n_rest - 1) * n_rest) / 36, (n_rest - 1) * FIRST),
    ]
    total = sum(part for part, _ in chance)
    squares = sum(part**2 / of_part for part, of_part in chance)
    freedom = xp.where(squares > 0, total**2 / xp.where(squares > 0, squares, 1.0), freedom)
    bend = first.mean(1) - 2 * half + last.mean(1)
    noise = 36 * (chance[1][0] + chance[2][0]) + 4 * over_blocks(residuals, plan.influence, plan.size)[0]
    bend = bend * (1 - noise / xp.where(bend**2 > 0, bend**2, 1.0)).clip(0.0)  # what chance has bent does not count
    return Measured((first.mean(1) + 4 * half + last.mean(1)) / 6, total, freedom, bend)


def summing(found: Measured, total: Array, able: Flags) -> Measured:
    """Let (n, f) effects of features that are able to have one add up to (n,) totals; arrays or tensors.

    What the sum lacks is due to chance, whose variance is known, and to Simpson's rule, which may lack a share of how
    far an effect bends between q = 0, 1/2 and 1: kriging divides it between the features by these. Features that bend
    against most others have no part in the rule's: bends that cancel would make it larger than the gap. Where neither
    tells of a gap, it is divided by the size of the effects, and equally where there are none.
    """
    xp, missing = namespace(found.effects), total - found.effects.sum(1)
    bend = xp.where(found.bend * found.bend.sum(1)[:, None] > 0, found.bend, 0.0)
    likely = found.variance + BEND**2 * bend.sum(1)[:, None] * bend
    is_told = (likely.sum(1) > TINY * missing**2)[:, None]
    sizes = xp.where((found.effects != 0).any(1)[:, None], abs(found.effects), able * 1.0)
    share = xp.where(is_told, likely, sizes)
    part = share / share.sum(1)[:, None].clip(np.finfo(np.float64).tiny)
    variance = xp.where(
        is_told,
        (found.variance + BEND**2 * bend**2 - part * likely).clip(0.0),
        missing[:, None] ** 2 * part,
    )
    return found._replace(effects=found.effects + part * missing[:, None], variance=variance)


def over_blocks(residuals: Array, influence: Array, size: int) -> tuple[Array, float]:
    """(n, f) variances of effects from (n, p) residuals, and their degrees of freedom.

    Blocks follow an order in which donors that are alike are neighbours, and each has its share of it. So second
    differences of neighbouring blocks, which no trend along the order enlarges, measure what is left to chance. With
    few blocks each pair stands for itself, which is on the safe side.
    """
    pairs = residuals.shape[1]
    if pairs < FEWEST * size:
        return (residuals**2) @ (influence**2) * (pairs / max(pairs - 1, 1)), max(pairs - 1.0, 1.0)
    n_blocks, used = pairs // size, pairs // size * size
    by_block = residuals[:, :used].reshape(len(residuals), n_blocks, size).swapaxes(0, 1)
    sums = by_block @ influence[:used].reshape(n_blocks, size, -1)  # (blocks, n, f)
    sums[-1] += residuals[:, used:] @ influence[used:]
    bent = sums[2:] - 2 * sums[1:-1] + sums[:-2]
    return (bent**2).sum(0) / 6 * (n_blocks / (n_blocks - 2)), (n_blocks - 2) * SECOND
