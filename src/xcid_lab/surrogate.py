"""The recommended score for slow models: a surrogate, fitted to each row's own samples, takes out part of the noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.spatial import distance

from xcid._check import as_int, require_callable
from xcid._kernels.arrays import blocks, thinned
from xcid._kernels.random import N_VARIANTS, column_keys, content_keys, hadamard_masks, hadamard_order, run_key
from xcid.cid.calibrated import Adjusted
from xcid.cid.densities.mixed import Mixed
from xcid.contributions import effects
from xcid.contributions.effects import Measured
from xcid.contributions.sampled import full, measure_values, share_regression
from xcid.records import Array, Density, Flags, Integers, Perturbations, Plan, Scores

FEWEST_PAIRS = 50  # from which a surrogate is fitted
PAIRS, ENDS = 4_096, 64  # samples by which the values of the surrogate itself are found: it is quickly called
MOST_TRAINED = 2_000  # samples: the time of a fit grows with their third power
PENALTY = 0.02
CLIP = 4.0  # standard deviations beyond which numbers count as this far
BLOCK = 1_024  # samples that are predicted at a time: they stay in the cache

Fit: TypeAlias = Callable[[Array, Array], Callable[[Array], Array]]
"""``fit(X, y) -> predict``, with finite (n, c) numbers X and (n,) responses y."""


def smooth(X: Array, y: Array) -> Callable[[Array], Array]:
    """Fit a kernel ridge regression, with the exponential of the mean absolute difference as its kernel.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.linspace(-1, 1, 201)[:, None]
    >>> predict = smooth(X, X[:, 0] ** 2)
    >>> bool(np.abs(predict(X) - X[:, 0] ** 2).max() < 0.02)
    True
    """
    chosen = thinned(len(X), MOST_TRAINED)
    known, mean = X[chosen], y[chosen].mean()

    def alike(some: Array) -> Array:
        return np.exp(distance.cdist(some, known, "cityblock") / -X.shape[1])

    share = np.linalg.solve(alike(known) + PENALTY * np.eye(len(known)), y[chosen] - mean)
    return lambda some: np.concatenate([alike(some[part]) @ share for part in blocks(len(some), BLOCK)]) + mean


@dataclass(frozen=True, slots=True)
class Surrogate:
    """What :class:`Adjusted` measures, with less noise for the same number of evaluations, and more time for each row.

    A surrogate of the model is fitted to the samples of each row. What it says of them is taken off the responses
    before effects are measured, and its own effects, found by many more samples that cost no evaluation, are added
    again. It never predicts a sample that it was fitted to (cross-fitting), so that a bad surrogate costs precision but
    no truth. Rows whose variance it does not lower keep the scores of :class:`Adjusted`, as do rows under constraints
    on values, rows without a plan, and rows with fewer than 50 pairs of samples.

    Parameters
    ----------
    fit : Fit
        ``fit(X, y) -> predict``: numbers in X are in standard deviations, levels have columns of 0 and 1.
    folds : int
        Fits of each row, each to the samples outside one fold.
    density : Density
        Of the evidence.
    """

    fit: Fit = smooth
    folds: int = 5
    density: Density = field(default_factory=Mixed)

    def __post_init__(self) -> None:
        require_callable(self.fit, "fit", "xcid_lab.surrogate.smooth")
        as_int(self.folds, "folds", at_least=2)

    def __call__(self, cloud: Perturbations) -> Scores:
        return Adjusted(self.density)(cloud)

    def measured(self, cloud: Perturbations, responses: Array) -> Measured:
        """Measure mean effects on (n, s) numbers with the help of a surrogate."""
        plain, plan = measure_values(cloud, responses), cloud.plan
        if plan is None or cloud.given is not None or len(plan.masks) < FEWEST_PAIRS:
            return plain
        large, discrete = plan.once("large", _large), cloud.discrete
        codes, owner = _codes(np.concatenate([plan.new, large.new, cloud.origin]), plan, discrete)
        new, more, own = np.split(codes, np.cumsum([len(plan.new), len(large.new)]))
        taken, more_taken = plan.taken[:, owner], large.taken[:, owner]
        tried = (plain.variance.sum(axis=1) > 0) & (owner.size > 0)
        said, own_said = np.zeros(responses.shape), np.zeros((len(cloud), len(more)))
        folds = plan.once(("folds", self.folds), lambda plan: _folds(plan, large, self.folds))
        for row in np.flatnonzero(tried):
            samples, others = np.where(taken, new, own[row]), np.where(more_taken, more, own[row])
            said[row], own_said[row] = self._said(samples, responses[row], others, folds)
        off, rest = (
            full(plan, effects.measure_effects(share_regression(plan, discrete), part))
            for part in (said, responses - said)
        )
        added = full(large, effects.measure_effects(share_regression(large, discrete), own_said))
        total = _sum(rest._replace(effects=plain.effects - off.effects), added)
        helps = tried & (total.variance.sum(axis=1) < plain.variance.sum(axis=1))
        return Measured(*(np.where(helps[:, None], new, old) for new, old in zip(total, plain, strict=True)))

    def _said(self, samples: Array, responses: Array, others: Array, folds: Folds) -> tuple[Array, Array]:
        """(s,) predictions of a row's samples by surrogates that do not know their donors, and of other samples."""
        said, of_others = np.zeros(len(samples)), np.zeros(len(others))
        for known, asked, told in zip(*folds, strict=True):
            predict = self.fit(samples[known], responses[known])
            said += asked * predict(samples)
            of_others += told * predict(others)
        return said, of_others


class Folds(NamedTuple):
    """What each of k surrogates is fitted to, and its share in what is said of each sample."""

    known: list[Integers]  # positions among the samples
    asked: Array  # (k, s)
    told: Array  # (k, more) of samples of the large plan


def _folds(plan: Plan, large: Plan, count: int) -> Folds:
    """Divide whole blocks of masks, or donors where blocks are few; surrogates know no donor whose rows they predict.

    Most background rows may be donors. A surrogate predicts otherwise for those that it knows: did it predict them in
    the large plan, but not in the plan itself, the two would not cancel.
    """
    pairs, many = len(plan.masks), len(large.masks)
    donor, others = (content_keys(each.values, seed=0) for each in (plan, large))
    block = np.arange(pairs) // hadamard_order(len(plan.free))
    fold = (block if block[-1] >= 2 * count else np.unique(donor, return_inverse=True)[1]) % count
    held = np.stack([np.isin(donor, donor[fold == at]) for at in range(count)])
    asked, told = np.full((count, len(plan.taken)), 1 / count), np.full((count, len(large.taken)), 1 / count)
    asked[:, : 2 * pairs] = np.tile(fold == np.arange(count)[:, None], 2)
    fresh = np.stack([~np.isin(others, donor[~each]) for each in held])
    told[:, : 2 * many] = np.tile(fresh / fresh.sum(axis=0), 2)
    return Folds([np.flatnonzero(np.tile(~each, 2)) for each in held], asked, told)


def _sum(first: Measured, second: Measured) -> Measured:
    """The sum of independent measurements; degrees of freedom by Welch and Satterthwaite."""
    variance = first.variance + second.variance
    squares = sum(part.variance**2 / np.maximum(part.freedom, 1.0) for part in (first, second))
    freedom = np.where(squares > 0, variance**2 / np.where(squares > 0, squares, 1.0), first.freedom)
    return Measured(first.effects + second.effects, variance, freedom, first.bend + second.bend)


def _large(plan: Plan) -> Plan:
    """A plan of the same kind with many samples, with the whole background for donors."""
    keys = column_keys(plan.background)
    rank = np.argsort(np.argsort([keys[list(columns)].min() for columns in plan.features]))
    masks = hadamard_masks(run_key(0, variant=N_VARIANTS), rank, PAIRS)
    every = np.arange(len(plan.background))
    n_ends = 0 if not len(plan.alone) else min(ENDS, len(every)) if plan.weights is None else ENDS
    alone = np.empty((n_ends, plan.background.shape[1]))
    for columns in map(list, plan.features):
        order = np.argsort(plan.background[:, columns[0]], kind="stable")
        alone[:, columns] = plan.background[_spread(order, plan.weights, n_ends)][:, columns]
    return Plan(
        masks,
        plan.free,
        plan.fitted,
        plan.background[_spread(every, plan.weights, PAIRS)],
        alone,
        plan.background[_spread(every, plan.weights, n_ends)],
        plan.background,
        plan.features,
        plan.weights,
    )


def _spread(order: Integers, weights: Array | None, count: int) -> Integers:
    """(count,) rows of the background, evenly spread over an order of them by their weights."""
    share = np.ones(len(order)) if weights is None else weights[order]
    middle = (np.arange(count) + 0.5) * share.sum() / max(count, 1)
    return order[np.searchsorted(np.cumsum(share), middle).clip(max=len(order) - 1)]


def _codes(cells: Array, plan: Plan, discrete: Flags) -> tuple[Array, Integers]:
    """(n, c) finite numbers that stand for (n, d) cells, and (c,) the feature of each."""
    made, owner = [np.empty((len(cells), 0))], list[int]()
    for feature, columns in enumerate(plan.features):
        for column in columns:
            is_discrete = bool(discrete[column])
            made_of, _ = effects.functions_of(plan, column, is_discrete, effects.MOST_LEVELS if is_discrete else 2)
            part = made_of(cells[:, column])
            made.append(np.clip(part, -CLIP, CLIP))
            owner += [feature] * part.shape[1]
    return np.concatenate(made, axis=1), np.array(owner, dtype=np.int64)
