"""The paper's stack: dice-ml's random method for the samples, scipy's kernel estimates, the trapezoid rule."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import gaussian_kde

from xcid._lent import silenced
from xcid._require import require
from xcid.records import Array

N_GRID = 512


class PaperStack:
    """d1 of every feature by dice-ml and scipy, row by row.

    Parameters
    ----------
    model : object
        Of scikit-learn, fitted on a data frame.
    train, target : data frame, column
    m : int
        Samples of each kind.
    settings
        For dice-ml's ``generate_counterfactuals``; by default it also makes the samples sparse, as its authors let it.
    """

    def __init__(self, model: Any, train: Any, target: Any, m: int, **settings: Any) -> None:
        self.dice = dice_of(model, train, target)
        self.model, self.m, self.settings, self.short = model, m, settings, 0

    def __call__(self, rows: Any) -> Array:
        """(n, d) scores."""
        return np.array([self._row(rows.iloc[[i]]) for i in range(len(rows))])

    def _row(self, row: Any) -> Array:
        flipped = self._counterfactuals(row, "opposite")
        kept = self._counterfactuals(row, int(self.model.predict(row)[0]))
        return np.array([d1(flipped[:, i], kept[:, i]) for i in range(row.shape[1])])

    def _counterfactuals(self, row: Any, desired_class: str | int) -> Array:
        """(at most m, d) samples of a class; where there are fewer, dice-ml is silent, and ``short`` counts it."""
        with silenced():
            found = self.dice.generate_counterfactuals(
                row, total_CFs=self.m, desired_class=desired_class, **self.settings
            )
        frame = found.cf_examples_list[0].final_cfs_df
        self.short += len(frame) < self.m
        return np.asarray(frame[row.columns], dtype=np.float64)


def dice_of(model: Any, train: Any, target: Any) -> Any:
    """dice-ml's random method, all columns continuous."""
    dice_ml = require("dice_ml", extra="bench")
    data = dice_ml.Data(
        dataframe=train.assign(Outcome=target), continuous_features=list(train.columns), outcome_name="Outcome"
    )
    return dice_ml.Dice(data, dice_ml.Model(model=model, backend="sklearn"), method="random")


def d1(positive: Array, negative: Array, n_grid: int = N_GRID) -> float:
    """1 - ∫min / ∫max by scipy's gaussian_kde with Silverman's rule and the trapezoid rule."""
    if np.ptp(positive) == 0 or np.ptp(negative) == 0:  # scipy fails on constants
        same = np.ptp(positive) == np.ptp(negative) == 0 and positive[0] == negative[0]
        return 0.0 if same else 1.0
    estimates = [gaussian_kde(sample, "silverman") for sample in (positive, negative)]
    margin = 4 * max(float(np.sqrt(estimate.covariance[0, 0])) for estimate in estimates)
    both = np.concatenate([positive, negative])
    return unlike(estimates, np.linspace(both.min() - margin, both.max() + margin, n_grid))


def unlike(estimates: list[gaussian_kde], grid: Array) -> float:
    """1 - ∫min / ∫max of two estimates on a grid."""
    p, q = (estimate(grid) for estimate in estimates)
    return float(1 - np.trapezoid(np.minimum(p, q), grid) / np.trapezoid(np.maximum(p, q), grid))
