"""Other methods as their own documentation starts them, and the paper's stack of dice-ml and scipy."""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from scipy.stats import gaussian_kde

from xcid._require import require, silence
from xcid.records import Array
from xcid_lab.subjects import Subject, in_frames

Peer: TypeAlias = Callable[[Array], object]
N_BACKGROUND = 100  # rows of KernelSHAP and PermutationSHAP, SHAP's own advice
MOST_COLUMNS = {"KernelSHAP": 300, "DiCE importance": 30}  # beyond that: gigabytes, and half a minute a row
BATCHED = ("TreeSHAP",)  # faster on many rows at a time
TREES = ("forest", "boosting", "histogram boosting")
N_GRID = 512  # points of the trapezoid rule


def peers(subject: Subject) -> dict[str, Peer]:
    """Those that know what to do with a model that was fitted on an array."""
    n_columns = subject.n_features
    known = {name: make for name, make in PEERS.items() if name != "TreeSHAP" or subject.name in TREES}
    with silence():
        made = {name: make(subject) for name, make in known.items() if n_columns <= MOST_COLUMNS.get(name, n_columns)}
    return {name: silence()(peer) for name, peer in made.items()}


def kernel_shap(subject: Subject) -> Peer:
    """100 background rows, all other settings SHAP's own."""
    shap = require("shap", extra="bench")
    explainer = shap.KernelExplainer(subject.model.predict_proba, background(subject))
    return lambda rows: explainer.shap_values(rows, silent=True)


def permutation_shap(subject: Subject) -> Peer:
    """100 background rows, all other settings SHAP's own."""
    shap = require("shap", extra="bench")
    masker = shap.maskers.Independent(background(subject), N_BACKGROUND)
    explainer = shap.PermutationExplainer(subject.model.predict_proba, masker)
    n_evaluations = max(500, 2 * subject.n_features + 1)  # below that it refuses
    return lambda rows: explainer(rows, max_evals=n_evaluations, silent=True)


def tree_shap(subject: Subject) -> Peer:
    """Along the paths of the trees, without a background: SHAP's own choice, and its fastest."""
    explainer = require("shap", extra="bench").TreeExplainer(subject.model)
    return lambda rows: explainer.shap_values(rows)


def lime(subject: Subject) -> Peer:
    """5,000 samples a row, its own default."""
    explainer = require("lime.lime_tabular", extra="bench").LimeTabularExplainer(np.asarray(subject.train))
    return lambda rows: [explainer.explain_instance(row, subject.model.predict_proba) for row in rows]


def dice_importance(subject: Subject) -> Peer:
    """Ten counterfactuals a row, the fewest that it takes."""
    pandas = require("pandas", extra="bench")
    framed = in_frames(subject.table, subject.name)  # what dice-ml asks the model with
    dice, names = dice_of(framed.model, framed.train, framed.target), framed.train.columns
    return lambda rows: dice.local_feature_importance(pandas.DataFrame(rows, columns=names), total_CFs=10)


PEERS: dict[str, Callable[[Subject], Peer]] = {
    "KernelSHAP": kernel_shap,
    "PermutationSHAP": permutation_shap,
    "LIME": lime,
    "DiCE importance": dice_importance,
    "TreeSHAP": tree_shap,
}


def background(subject: Subject) -> Array:
    """(100, d) training rows at random."""
    train: Array = np.asarray(subject.train)
    return train[np.random.default_rng(0).permutation(len(train))[:N_BACKGROUND]]


def check_installed() -> None:
    """Raise at once where something is missing, not after minutes."""
    for package in ("sklearn", "pandas", "shap", "lime", "dice_ml"):
        if find_spec(package) is None:
            require(package, extra="bench")


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
        with silence():
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
