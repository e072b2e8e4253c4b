"""The recommended score: each feature's odds ratio of 'changed' between C- and C+, adjusted for the others."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import special

from xcid._check import as_float, as_int
from xcid._kernels import logistic
from xcid._kernels.arrays import blocks, ratio, times
from xcid.densities import Mixed
from xcid.errors import InvalidParameter
from xcid.records import Array, Density, Perturbations
from xcid.scores.per_feature import PerFeature, Scores
from xcid.scores.regressions import Regression, changes, errors, prepared

CONFIDENCE = 0.95
ROUNDING = 1e-9  # log odds below this are 0
MOST_FREEDOM = 0.95  # of the number of samples
MOST_CELLS = 2**16  # of an array that is held for some rows at a time: they stay in the cache


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Signed, adjusted d1 of every feature, with limits and p-values.

    Membership of the samples in C- is regressed on what was changed in them: for every feature whether it was changed
    and how far (for levels: to which). A feature's log odds ratio s is what changing it takes away on average, all
    others held; with the symmetric two-point form of the densities of 'unchanged' and 'changed',
    ``d1 = 1 - exp(-|s|/2)``, signed by s. For a logistic model, without tempering, this is exact. The importance is the
    d1 of the evidence.

    Limits and p-values come from the variance of s, by the sandwich formula over blocks of samples, with the mean
    curvature of the likelihood in the place of that of each sample.

    Parameters
    ----------
    density : Density
        Of the evidence.
    temper : float
        Memberships are drawn towards 1/2 by this factor: 1 is the logistic link, towards 0 the linear one.
    steps : int
        Newton steps.
    """

    density: Density = field(default_factory=Mixed)
    temper: float = 0.9
    steps: int = 3

    def __post_init__(self) -> None:
        if not 0 < as_float(self.temper, "temper") <= 1:
            raise InvalidParameter(f"temper must lie in (0, 1], not {self.temper}")
        as_int(self.steps, "steps", at_least=1)

    def __call__(self, cloud: Perturbations) -> Scores:
        importance = PerFeature(self.density)(cloud).importance
        n_samples, n_columns = cloud.positive.shape[1], cloud.origin.shape[1]
        held = n_samples if cloud.given is None else n_samples * 3 * n_columns
        parts = [self._log_odds(cloud[part]) for part in blocks(len(cloud), MOST_CELLS // held)]
        return calibrated(importance, *(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _log_odds(self, cloud: Perturbations) -> tuple[Array, Array, Array]:
        """(n, f) log odds ratios, their standard errors, and (n,) degrees of freedom."""
        regression = prepared(cloud)
        weight, membership = None, cloud.negative
        if cloud.given is not None:
            weight = cloud.positive + cloud.negative  # 0 for an empty place
            membership = np.divide(membership, weight, out=np.full(weight.shape, 0.5), where=weight > 0)
            weight = weight + ~weight.any(axis=1, keepdims=True)  # a row without samples scores 0 by any weights
        log_odds, residuals = self.fitted(regression, membership, weight)
        error, freedom = errors(cloud, regression.influences, residuals)
        known = (cloud.positive.sum(axis=1) > 0) & (cloud.negative.sum(axis=1) > 0)
        known = known[:, None] & changes(cloud)
        return np.where(known, log_odds, 0.0), np.where(known, error, 0.0) / self.temper, freedom

    def fitted(self, regression: Regression, membership: Array, weight: Array | None) -> tuple[Array, Array]:
        """(n, f) log odds ratios for (n, s) memberships in C-, and (n, s) residuals at unit curvature."""
        columns = regression.columns
        fit = logistic.fit(columns, 0.5 + self.temper * (membership - 0.5), weight, self.steps)
        leverage = (columns.freedom / membership.shape[1]).clip(max=MOST_FREEDOM)
        log_odds = -times(fit.coefficients, regression.contrasts) / self.temper
        return log_odds, fit.residuals / (fit.curvature * (1 - leverage)[:, None])


def calibrated(importance: Array, log_odds: Array, error: Array, freedom: Array) -> Scores:
    """Turn (n, f) log odds ratios and their standard errors, with (n,) degrees of freedom, into scores with limits."""
    log_odds = np.where(np.abs(log_odds) < ROUNDING, 0.0, log_odds)
    reach: Array = special.stdtrit(freedom, (1 + CONFIDENCE) / 2)[:, None] * error
    chance = 2 * special.stdtr(freedom[:, None], -ratio(np.abs(log_odds), error))
    certain = (log_odds != 0) & (error < ROUNDING)  # a model that adds up leaves nothing to chance
    return Scores(
        values=to_d1(log_odds),
        importance=importance,
        direction=np.sign(log_odds),
        lower=to_d1(log_odds - reach),
        upper=to_d1(log_odds + reach),
        p_values=np.where(certain, 0.0, chance),
        null_mean=1 - special.erfcx(error / np.sqrt(8)),  # of 1 - exp(-|s|/2), s normal
        null_quantile=to_d1(reach),
    )


def to_d1(log_odds: Array) -> Array:
    """Turn log odds ratios into the signed d1 of the symmetric two-point form.

    Examples
    --------
    >>> import numpy as np
    >>> to_d1(np.array([0.0, -2.0 * np.log(2.0)])).tolist()
    [0.0, -0.5]
    """
    return np.sign(log_odds) * -np.expm1(-np.abs(log_odds) / 2)
