"""SHAP values, exact or converged."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from xcid._check import as_int
from xcid._kernels.arrays import thinned
from xcid._require import quiet_and_seeded, require
from xcid.explanation import Explanation
from xcid.records import Array, Unsigned
from xcid.subject import Subject
from xcid_lab.baselines._common import Counting, Found, Method, explained, seeds_of

CHECKED_ROWS = 50  # of the background, whose values must add up
TOLERANCE = 0.01  # mean error of the sum, in standard deviations of the output

Trees: TypeAlias = Callable[[Array], Array]  # from (n, d) rows to (n, d, k) values


class Shap:
    """SHAP values of the probability of the predicted class, or of the output of a regression.

    Trees that SHAP knows are taken apart (interventional TreeSHAP on the scale of probabilities, no evaluations) if
    the values then add up to the outputs; it compares in single precision, which can put a row on the wrong side of a
    threshold. All other models are called (KernelSHAP without its selection of features, which would set the weaker
    ones to 0): with up to 11 features about all coalitions, so that the values are exact for the background rows used.

    Parameters
    ----------
    model, background
        As for :class:`xcid.Explainer`.
    rows : int
        Background rows used, spread evenly over it; a row with a large weight is used more than once.
    coalitions : int
        Most coalitions for each row, each averaged over the background rows. SHAP's own default; with a tenth of it
        values of 30 features are off by more than a tenth of the largest.
    weights : (N,) array, list or series, optional
        Of the background rows, as for :class:`xcid.Explainer`.
    """

    def __init__(
        self, model: Any, background: Any, *, rows: int = 100, coalitions: int = 2_048, weights: Any = None
    ) -> None:
        with quiet_and_seeded(0):
            self.shap = require("shap", extra="shap")
        self.subject = Subject.of(model, background, weights=weights)
        self.coalitions = as_int(coalitions, "coalitions", at_least=1)
        known = self.subject.space.background
        self.sample = known[thinned(len(known), as_int(rows, "rows", at_least=1))]
        trees = _tree_values(self.shap, model, self.subject, self.sample)
        self.explainer = "kernel" if trees is None else "tree"
        self.method: Method = self._called if trees is None else functools.partial(_taken_apart, trees)

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        """Explain one row or many; the seed is for the coalitions that are drawn."""
        known = {"explainer": self.explainer, "rows": len(self.sample), "coalitions": self.coalitions}
        return explained(self.subject, X, seed, self.method, {"baseline": "Shap", **known})

    def _called(self, rows: Array, outputs: Array, keys: Unsigned) -> Found:
        ask = Counting(self.subject.predict)
        with quiet_and_seeded(0):
            explainer = self.shap.KernelExplainer(ask, self.sample)
        values, n_evaluations = np.empty(rows.shape), np.empty(len(rows), dtype=np.int64)
        for row, row_seed in enumerate(seeds_of(keys)):
            before = ask.n_rows
            found = kernel_values(explainer, rows[row], self.coalitions, row_seed)
            values[row], n_evaluations[row] = found[:, outputs[row].argmax()], ask.n_rows - before
        return Found(values, n_evaluations)


def kernel_values(explainer: Any, row: Array, coalitions: int, seed: int) -> Array:
    """(d, k) values of a row by a KernelExplainer, none of them set to 0 for being small."""
    with quiet_and_seeded(seed):
        found = explainer.shap_values(row, nsamples=coalitions, l1_reg=0, silent=True)
    return np.reshape(found, (len(row), -1))


def _taken_apart(trees: Trees, rows: Array, outputs: Array, keys: Unsigned) -> Found:
    own = outputs.argmax(axis=1)
    return Found(trees(rows)[np.arange(len(rows)), :, own], np.zeros(len(rows), dtype=np.int64))


def _tree_values(shap: Any, model: Any, subject: Subject, sample: Array) -> Trees | None:
    """From (n, d) rows to (n, d, k) values by the trees themselves; None where SHAP cannot take this model apart."""
    if not _sees_the_matrix(model, subject):
        return None

    def values(rows: Array) -> Array:
        with quiet_and_seeded(0):
            found = np.asarray(explainer.shap_values(rows, check_additivity=False), dtype=np.float64)
        both = np.stack([-found, found], axis=2) if found.ndim == 2 and not subject.is_regression else found
        return both.reshape(*rows.shape, -1)

    scale = "raw" if subject.is_regression else "probability"
    chosen = slice(None, None, max(1, len(subject.outputs) // CHECKED_ROWS))
    rows, outputs = subject.space.background[chosen], subject.outputs[chosen]
    try:
        with quiet_and_seeded(0):
            explainer = shap.TreeExplainer(model, sample, feature_perturbation="interventional", model_output=scale)
        total = values(rows).sum(axis=1) + np.mean(subject.predict(sample), axis=0)
        spread = max(float(outputs.std(axis=0).max()), 1e-300)
        adds_up = total.shape == outputs.shape and float(np.abs(total - outputs).mean()) / spread <= TOLERANCE
    except Exception:  # every library that it knows fails in its own way
        return None
    return values if adds_up else None


def _sees_the_matrix(model: Any, subject: Subject) -> bool:
    """Whether the model's features are the columns of the matrix as they stand."""
    names = getattr(model, "feature_names_in_", None)
    same = names is None or tuple(str(name) for name in names) == subject.space.names
    return same and not any(column.levels or column.unit for column in subject.space.columns)
