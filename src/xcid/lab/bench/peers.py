"""Other methods as their own documentation starts them, each from a few rows to whatever it gives."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from xcid._lent import silenced
from xcid._require import require
from xcid.lab.bench.stack import dice_of
from xcid.lab.bench.subjects import in_frames
from xcid.lab.subjects import Subject
from xcid.records import Array

Peer: TypeAlias = Callable[[Array], object]
N_BACKGROUND = 100  # rows of KernelSHAP and PermutationSHAP, SHAP's own advice
MOST_COLUMNS = {"KernelSHAP": 300, "DiCE importance": 30}  # beyond that: gigabytes, and half a minute a row
BATCHED = ("TreeSHAP",)  # faster on many rows at a time
TREES = ("forest", "boosting", "histogram boosting")


def peers(subject: Subject) -> dict[str, Peer]:
    """Those that know what to do with a model that was fitted on an array."""
    n_columns = subject.test.shape[1]
    known = {name: make for name, make in PEERS.items() if name != "TreeSHAP" or subject.name in TREES}
    with silenced():
        made = {name: make(subject) for name, make in known.items() if n_columns <= MOST_COLUMNS.get(name, n_columns)}
    return {name: _quiet(peer) for name, peer in made.items()}


def kernel_shap(subject: Subject) -> Peer:
    """100 background rows, all other settings SHAP's own."""
    shap = require("shap", extra="bench")
    explainer = shap.KernelExplainer(subject.model.predict_proba, _background(subject))
    return lambda rows: explainer.shap_values(rows, silent=True)


def permutation_shap(subject: Subject) -> Peer:
    """100 background rows, all other settings SHAP's own."""
    shap = require("shap", extra="bench")
    masker = shap.maskers.Independent(_background(subject), N_BACKGROUND)
    explainer = shap.PermutationExplainer(subject.model.predict_proba, masker)
    n_evaluations = max(500, 2 * subject.test.shape[1] + 1)  # below that it refuses
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


def _background(subject: Subject) -> Array:
    train: Array = np.asarray(subject.train)
    return train[np.random.default_rng(0).permutation(len(train))[:N_BACKGROUND]]


def _quiet(peer: Peer) -> Peer:
    def call(rows: Array) -> object:
        with silenced():
            return peer(rows)

    return call


def check_installed() -> None:
    """Raise at once where something is missing, not after minutes."""
    for package in ("sklearn", "pandas", "shap", "lime", "dice_ml"):
        if importlib.util.find_spec(package) is None:
            require(package, extra="bench")
