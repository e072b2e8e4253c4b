"""The recommended score: each feature's odds ratio of 'changed' between C- and C+, adjusted for the others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import special

from xcid._check import real, whole
from xcid._data import Array, Density, Perturbations
from xcid._kernels import hadamard, ridge
from xcid.densities import Mixed
from xcid.errors import InvalidParameter
from xcid.scores.designs import changed_in, design_of, noise_columns
from xcid.scores.per_feature import PerFeature, Scores

CONFIDENCE = 0.95
FEWEST = 12  # blocks, and donors, whose differences tell of chance
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
        the noise of the donors, by their own membership and by bins of this many strong features. 0 leaves it out, and
        so do tables that are too wide for as many columns.
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
            null_mean=1 - special.erfcx(error / np.sqrt(8)),  # of 1 - exp(-|s|/2), s normal
            null_quantile=to_d1(reach),
        )

    def _log_odds(self, cloud: Perturbations) -> tuple[Array, Array, Array]:
        """(n, f) log odds ratios, their standard errors, and (n,) degrees of freedom."""
        changed = changed_in(cloud)
        design, expected, feature = design_of(cloud, changed)
        weight = cloud.positive + cloud.negative  # 0 for an empty place
        membership = np.divide(cloud.negative, weight, out=np.full(weight.shape, 0.5), where=weight > 0)
        membership = 0.5 + self.temper * (membership - 0.5)
        predictor = ridge.start(membership, weight)
        for _ in range(self.steps):
            fit = ridge.step(design, membership, weight, predictor)
            predictor = fit.predictor
        about = feature == np.arange(len(cloud.features))[:, None]
        contrast = np.where(about, expected[:, None, :], 0.0)  # (n, f, c)
        if cloud.masks is not None and self.strongest and 3 * len(cloud.features) < cloud.masks.shape[1]:
            noise = noise_columns(cloud, cloud.masks, design, feature, fit.coefficients, self.strongest)
            n_own = design.shape[2]
            design = np.concatenate([design, noise], axis=2)
            fit = ridge.step(design, membership, weight, predictor)
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


def _errors(cloud: Perturbations, design: Array, fit: ridge.Step, contrast: Array) -> tuple[Array, Array]:
    """(n, f) standard errors of the contrasts by the sandwich formula, and (n,) degrees of freedom.

    Complements are taken together, and so are the pairs of a block of balanced masks. Blocks follow an order in which
    donors that are alike are neighbours, so that differences of neighbouring blocks measure what is left to chance.
    With few blocks each pair stands for itself, which is on the safe side; with few donors nothing is told from noise.
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
    n_donors = np.inf if cloud.background is None else len(cloud.background)
    size = hadamard.order(n_features)
    size = size if pairs >= FEWEST * size else 1  # too few blocks: every pair by itself
    n_blocks = pairs // size
    sums: Array = np.add.reduceat(influence, np.arange(n_blocks) * size, axis=1)  # the last block takes the rest
    if n_donors < max(FEWEST, n_features // 2):  # features that differ in so few rows cannot be told apart
        return np.full((len(sums), n_features), np.inf), np.ones(len(sums))
    if size == 1:
        return np.sqrt(np.sum(sums**2, axis=1) * n_blocks / (n_blocks - 1)), np.full(len(sums), n_blocks - 1.0)
    variance = np.sum(np.diff(sums, axis=1) ** 2, axis=1) / 2 * n_blocks / (n_blocks - 1)
    return np.sqrt(variance), np.full(len(influence), 2 * (n_blocks - 1) / 3)
