"""The recommended score: each feature's odds ratio of 'changed' between C- and C+, adjusted for the others."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from scipy import special

from xcid._check import real, whole
from xcid._data import Array, Density, Flags, Integers, Perturbations
from xcid._kernels import ridge
from xcid.densities import Mixed
from xcid.errors import InvalidParameter
from xcid.scores.directions import kept
from xcid.scores.per_feature import PerFeature, Scores

JUMP = 0.3  # scale of a 'changed' column: its penalty is 1 / JUMP**2 times that of a displacement
CLIP = 3.0  # standardised values beyond this count as this
MOST_LEVELS = 12  # of a category with columns of their own
BINS = 6  # of the values of a strong feature
CONFIDENCE = 0.95
MOST_SOURCES = 2_048  # background rows that stand for all
MOST_CELLS = 2**18  # of the designs held at a time: they stay in the cache


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Signed, adjusted d1 of every feature, with limits and p-values.

    Membership of the samples in C- is regressed on what was changed in them: for every feature whether it was changed
    and how far (for levels: to which). A feature's log odds ratio s is what changing it takes away on average, all
    others held; with the symmetric two-point form of the densities of 'unchanged' and 'changed', d1 = 1 - exp(-|s|/2),
    signed by s. For a logistic model, without tempering, this is exact. The importance is the d1 of the evidence.

    Limits and p-values come from the variance of s, by the sandwich formula over blocks of samples.

    Parameters
    ----------
    density : Density
        Of the evidence.
    temper : float
        Memberships are drawn towards 1/2 by this factor: 1 is the logistic link, towards 0 the linear one.
    steps : int
        Newton steps.
    strongest : int
        Where the samples are pairs of complements with known donors: a last step has columns of mean 0 that take out
        the noise of the donors, by their own membership and by bins of this many strong features. 0 leaves it out.
    """

    density: Density = field(default_factory=Mixed)
    temper: float = 0.9
    steps: int = 3
    strongest: int = 6

    def __post_init__(self) -> None:
        if not 0 < real(self.temper, "temper") <= 1:
            raise InvalidParameter(f"temper must lie in (0, 1], not {self.temper}")
        whole(self.steps, "steps", at_least=1)
        whole(self.strongest, "strongest", at_least=0)

    def __call__(self, cloud: Perturbations) -> Scores:
        """Score every feature of every row; rows where one of the sets is empty get 0."""
        importance = PerFeature(self.density)(cloud).importance
        parts = [self._log_odds(cloud[part]) for part in _blocks(cloud)]
        log_odds, error, freedom = (np.concatenate(part) for part in zip(*parts, strict=True))
        reach: Array = special.stdtrit(freedom, (1 + CONFIDENCE) / 2)[:, None] * error
        ratio = np.divide(np.abs(log_odds), error, out=np.zeros_like(error), where=error > 0)
        return Scores(
            values=to_d1(log_odds),
            importance=importance,
            direction=np.sign(log_odds),
            lower=to_d1(log_odds - reach),
            upper=to_d1(log_odds + reach),
            p_values=2 * special.stdtr(freedom[:, None], -ratio),
            null_mean=1 - 2 * np.exp(error**2 / 8) * special.ndtr(-error / 2),  # of 1 - exp(-|s|/2), s normal
            null_quantile=to_d1(reach),
        )

    def _log_odds(self, cloud: Perturbations) -> tuple[Array, Array, Array]:
        """(n, f) log odds ratios, their standard errors, and (n,) degrees of freedom."""
        changed = _changed(cloud)
        design, expected, feature = _design(cloud, changed)
        weight = cloud.positive + cloud.negative
        membership = np.divide(cloud.negative, weight, out=np.full(weight.shape, 0.5), where=weight > 0)
        membership = 0.5 + self.temper * (membership - 0.5)
        predictor = ridge.start(membership)
        for _ in range(self.steps):
            fit = ridge.step(design, membership, predictor)
            predictor = fit.predictor
        about = feature == np.arange(len(cloud.features))[:, None]
        contrast = np.where(about, expected[:, None, :], 0.0)  # (n, f, c)
        if cloud.masks is not None and self.strongest:
            noise = _noise(cloud, cloud.masks, design, feature, fit.coefficients, self.strongest)
            n_own = design.shape[2]
            design = np.concatenate([design, noise], axis=2)
            fit = ridge.step(design, membership, predictor)
            contrast = np.concatenate([contrast, np.zeros((*contrast.shape[:2], design.shape[2] - n_own))], axis=2)
        log_odds = -(contrast @ fit.coefficients[:, :, None])[:, :, 0]
        error, freedom = _errors(cloud, design, fit, contrast)
        known = (cloud.positive.sum(axis=1) > 0) & (cloud.negative.sum(axis=1) > 0)
        known = known[:, None] & changed.any(axis=1)
        return np.where(known, log_odds, 0.0) / self.temper, np.where(known, error, 0.0) / self.temper, freedom


def to_d1(log_odds: Array) -> Array:
    """Turn log odds ratios into the signed d1 of the symmetric two-point form.

    Examples
    --------
    >>> import numpy as np
    >>> to_d1(np.array([0.0, -2.0 * np.log(2.0)])).tolist()
    [0.0, -0.5]
    """
    return np.sign(log_odds) * -np.expm1(-np.abs(log_odds) / 2)


def _blocks(cloud: Perturbations) -> list[slice]:
    size = max(1, MOST_CELLS // (cloud.samples.shape[1] * max(3 * cloud.samples.shape[2], 1)))
    return [slice(start, start + size) for start in range(0, len(cloud), size)]


class _Columns(NamedTuple):
    """What a column of the table brings to the design.

    Attributes
    ----------
    moved : (n, s, e)
        What was changed in each sample; 0 where the feature was not.
    expected : (n, e)
        Its mean over new values.
    """

    moved: Array
    expected: Array


def _design(cloud: Perturbations, changed: Flags) -> tuple[Array, Array, Integers]:
    """What was changed in each sample.

    Returns
    -------
    design : (n, s, c)
    expected : (n, c)
        Mean of each column over new values of its feature.
    feature : (c,)
        The feature that each column is about.
    """
    source = _Source.of(cloud, changed)
    parts: list[_Columns] = []
    feature: list[int] = []
    for at, columns in enumerate(cloud.features):
        one = changed[:, :, at]
        made = [_Columns(np.where(one[:, :, None], JUMP, 0.0), np.where(one.any(axis=1, keepdims=True), JUMP, 0.0))]
        for column in columns:
            make = _levels if cloud.discrete[column] else _displacement
            made.append(make(cloud, source, column, at, one))
        parts.extend(made)
        feature.extend([at] * sum(part.moved.shape[2] for part in made))
    moved, expected = (np.concatenate(part, axis=-1) for part in zip(*parts, strict=True))
    return moved, expected, np.array(feature)


class _Source(NamedTuple):
    """Where new values come from: the background where it is known, else the samples themselves.

    Attributes
    ----------
    values : (1, N, c) or (n, N, c)
    counts : (1, N, f) or (n, N, f) bool
        Which of them are new values of each feature.
    """

    values: Array
    counts: Flags

    @staticmethod
    def of(cloud: Perturbations, changed: Flags) -> _Source:
        """Take what the cloud has."""
        if cloud.background is None:
            return _Source(cloud.samples, changed)
        rows = np.linspace(0, len(cloud.background) - 1, min(len(cloud.background), MOST_SOURCES)).round().astype(int)
        return _Source(cloud.background[rows][None], np.ones((1, len(rows), len(cloud.features)), dtype=bool))


def _displacement(cloud: Perturbations, source: _Source, column: int, feature: int, changed: Flags) -> _Columns:
    """How far a number was moved, in standard deviations of new values; and whether it went missing."""
    values, own = cloud.samples[:, :, column], cloud.origin[:, None, column]
    new, counts = source.values[:, :, column], source.counts[:, :, feature]
    total = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    there = counts & ~np.isnan(new)
    known = np.maximum(there.sum(axis=1, keepdims=True), 1)
    mean = np.sum(np.where(there, new, 0.0), axis=1, keepdims=True) / known
    spread = np.sqrt(np.sum(np.where(there, new - mean, 0.0) ** 2, axis=1, keepdims=True) / known)
    spread = np.where(spread > 0, spread, 1.0)
    place, own_place, new_place = (
        np.clip(np.nan_to_num((part - mean) / spread), -CLIP, CLIP) for part in (values, own, new)
    )
    moved = np.where(changed, place - own_place, 0.0)[:, :, None]
    expected = np.sum(np.where(counts, new_place, 0.0), axis=1, keepdims=True) / total - own_place
    if not np.isnan(new).any():
        return _Columns(moved, expected)
    lost = (changed & np.isnan(values) & ~np.isnan(own))[:, :, None]
    share = np.where(np.isnan(own), 0.0, np.sum(counts & np.isnan(new), axis=1, keepdims=True) / total)
    return _Columns(np.concatenate([moved, lost], axis=2), np.concatenate([expected, share], axis=1))


def _levels(cloud: Perturbations, source: _Source, column: int, feature: int, changed: Flags) -> _Columns:
    """Which other level a category was changed to; the rarest of many levels share no column."""
    code, own, new = (
        np.where(np.isnan(part), -1.0, part)
        for part in (cloud.samples[:, :, column], cloud.origin[:, None, column], source.values[:, :, column])
    )
    level = np.arange(-1.0, MOST_LEVELS)  # without a background no one knows which are common
    if cloud.background is not None:
        level, count = np.unique(new, return_counts=True)
        level = level[np.argsort(-count, kind="stable")[:MOST_LEVELS]]
    counts = source.counts[:, :, feature, None]
    other = own != level  # (n, l)
    share = np.sum((new[:, :, None] == level) & counts, axis=1) / np.maximum(counts.sum(axis=1), 1)
    moved = (code[:, :, None] == level) & changed[:, :, None] & other[:, None, :]
    return _Columns(moved.astype(np.float64), share * other)


def _changed(cloud: Perturbations) -> Flags:
    """(n, s, f) features that took another value; of pairs those that took the donor's, if that ever makes a change."""
    differs = ~kept(cloud)
    if cloud.masks is None:
        return differs
    return np.concatenate([cloud.masks, ~cloud.masks], axis=1) & differs.any(axis=1, keepdims=True)


def _noise(
    cloud: Perturbations, masks: Flags, design: Array, feature: Integers, coefficients: Array, strongest: int
) -> Array:
    """(n, s, e) columns that complements cancel: what the donors, not the changes, bring in.

    The effect of changing a feature may depend on the donor's own membership and, for strong features, on the bin of
    the donor's value.
    """
    sign = np.where(masks, 0.25, -0.25)  # (n, pairs, f)
    donors = np.zeros(masks.shape[:2]) if cloud.donors is None else cloud.donors
    output = donors - donors.mean(axis=1, keepdims=True)
    output = output / np.maximum(output.std(axis=1, keepdims=True), 0.02)
    parts = [sign * output[:, :, None]]

    n_features = sign.shape[2]
    variance = np.stack(
        [
            np.var((design[:, :, feature == at] @ coefficients[:, feature == at, None])[:, :, 0], axis=1)
            for at in range(n_features)
        ],
        axis=1,
    )
    chosen = np.argsort(-variance, axis=1, kind="stable")[:, None, :strongest]
    column = np.array([columns[0] for columns in cloud.features])[chosen]  # a group by its first column
    first, second = (np.take_along_axis(part, column, axis=2) for part in np.split(cloud.samples, 2, axis=1))
    half = np.take_along_axis(sign, chosen, axis=2)  # (n, pairs, strongest)
    inside = _in_bins(np.nan_to_num(np.where(half > 0, first, second)))
    inside -= inside.mean(axis=1, keepdims=True)
    inside *= half[:, :, :, None]
    noise = np.concatenate([*parts, inside.reshape(*inside.shape[:2], -1)], axis=2)
    return np.concatenate([noise, -noise], axis=1)


def _in_bins(values: Array) -> Array:
    """(n, p, k, BINS) indicators of the bins of (n, p, k) values, of about equal size."""
    ordered = np.sort(values.transpose(0, 2, 1), axis=2)
    edges = ordered[:, :, [len(values[0]) * part // BINS for part in range(1, BINS)]]  # (n, k, BINS - 1)
    code = np.zeros(values.shape, dtype=np.int8)
    for part in range(BINS - 1):
        code += values >= edges[:, None, :, part]
    return (code[:, :, :, None] == np.arange(BINS, dtype=np.int8)).astype(np.float64)


def _errors(cloud: Perturbations, design: Array, fit: ridge.Step, contrast: Array) -> tuple[Array, Array]:
    """(n, f) standard errors of the contrasts by the sandwich formula, and (n,) degrees of freedom.

    Complements are taken together, and so are the pairs of a block of balanced masks. Blocks follow an order in which
    donors that are alike are neighbours, so that differences of neighbouring blocks measure what is left to chance.
    Residuals of a fit are too small by its leverage, here by the mean of it.
    """
    solved = fit.solve(contrast)  # (n, f, c)
    centred = design @ solved.transpose(0, 2, 1) - (solved @ fit.centre[:, :, None]).transpose(0, 2, 1)
    leverage = np.minimum(fit.freedom / design.shape[1], ridge.MOST_FREEDOM)
    influence = centred * (fit.scores / (1 - leverage)[:, None])[:, :, None]
    n_features = influence.shape[2]
    if cloud.masks is None:
        used = (cloud.positive + cloud.negative > 0)[:, :, None]
        count = used.sum(axis=1)
        error = np.sqrt(np.sum(np.where(used, influence, 0.0) ** 2, axis=1) * count / np.maximum(count - 1, 1))
        return error, np.maximum(count[:, 0] - 1.0, 1.0)
    pairs = influence.shape[1] // 2
    influence = influence[:, :pairs] + influence[:, pairs:]
    size = block_size(n_features)
    n_blocks = max(pairs // size, 2)
    edges = np.minimum(np.arange(n_blocks) * (pairs // n_blocks), pairs - 1)  # the last block takes the rest
    sums: Array = np.add.reduceat(influence, edges, axis=1)
    variance = np.sum(np.diff(sums, axis=1) ** 2, axis=1) / 2 * n_blocks / (n_blocks - 1)
    return np.sqrt(variance), np.full(len(influence), 2 * (n_blocks - 1) / 3)


def block_size(n_features: int) -> int:
    """Pairs in a block of balanced masks: the least power of two that has a column for every feature, at least 2."""
    return int(2 ** max(1, int(np.ceil(np.log2(max(n_features, 1))))))
