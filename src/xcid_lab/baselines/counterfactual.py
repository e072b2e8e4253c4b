"""SHAP values against the nearest rows that the model decides otherwise."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._check import as_int
from xcid._require import quiet_and_seeded, require
from xcid.cid.generators.reach import Metric
from xcid.errors import InvalidParameter
from xcid.explanation import Explanation
from xcid.outcomes.protocol import side
from xcid.records import Array, Integers, Unsigned
from xcid.setup import bind_outcome, usual_outcome
from xcid.subject import Subject
from xcid_lab.baselines._common import Counting, Found, explained, seeds_of
from xcid_lab.baselines.shap import kernel_values


class CounterfactualShap:
    """SHAP values with counterfactuals as background, as CF-SHAP (Albini et al., "Counterfactual Shapley", 2022).

    The background of a row are the nearest rows that lie on the other side of the question that an Explainer asks by
    default: of another class, or with a distant output where the model is a regression. Rows that have none get 0, and
    the status says so. The values are those of KernelSHAP for the probability of the predicted class or the output.

    Parameters
    ----------
    model, background
        As for :class:`xcid.Explainer`.
    rows : int
        Counterfactuals of each row; fewer where the background has fewer. The authors take 100.
    n : int
        Most evaluations for each row: each coalition is averaged over all counterfactuals.
    weights : (N,) array, list or series, optional
        Of the background rows, as for :class:`xcid.Explainer`.
    """

    def __init__(self, model: Any, background: Any, *, rows: int = 100, n: int = 204_800, weights: Any = None) -> None:
        with quiet_and_seeded(0):
            self.shap = require("shap", extra="shap")
        self.subject = Subject.of(model, background, weights=weights)
        self.rows, self.n = as_int(rows, "rows", at_least=1), as_int(n, "n (evaluations)", at_least=1)
        if self.n < 3 * self.rows:
            raise InvalidParameter(f"n={n} evaluations are too few for {rows} counterfactuals: give fewer rows")
        self.outcome, self.metric = (
            bind_outcome(usual_outcome(self.subject), self.subject),
            Metric.of(self.subject.space),
        )

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        """Explain one row or many; the seed is for the coalitions that are drawn."""
        settings = {"baseline": "CounterfactualShap", "rows": self.rows, "n": self.n}
        return explained(self.subject, X, seed, self._scores, settings)

    def _scores(self, rows: Array, outputs: Array, keys: Unsigned) -> Found:
        values, n_flips = np.zeros(rows.shape), np.zeros(len(rows), dtype=np.int64)
        n_evaluations = np.zeros(len(rows), dtype=np.int64)
        for row, row_seed in enumerate(seeds_of(keys)):
            near = self.subject.space.background[self._nearest(rows[row], outputs[row])]
            n_flips[row] = len(near)
            if not len(near):
                continue
            ask, coalitions = Counting(self.subject.predict), (self.n - 1) // len(near) - 1  # the row, and all of them
            with quiet_and_seeded(0):
                explainer = self.shap.KernelExplainer(ask, near)
            found = kernel_values(explainer, rows[row], coalitions, row_seed)
            values[row], n_evaluations[row] = found[:, outputs[row].argmax()], ask.n_rows
        return Found(values, n_evaluations, n_flips=n_flips)

    def _nearest(self, row: Array, output: Array) -> Integers:
        """Positions of the nearest background rows on the other side."""
        known = self.subject.outputs
        reference = np.repeat(output[None], len(known), axis=0)
        own = side(self.outcome, output[None], output[None]) > 0.5
        there = np.flatnonzero((side(self.outcome, known, reference) > 0.5) != own)
        distance = self.metric.between(self.subject.space.background[there], row)
        return there[np.argsort(distance, kind="stable")[: self.rows]]
