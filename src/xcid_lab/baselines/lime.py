"""LIME for tables."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import numpy as np

from xcid._check import as_int
from xcid._require import quiet_and_seeded, require
from xcid.errors import InvalidData, InvalidParameter
from xcid.explanation import Explanation
from xcid.records import Array, Unsigned
from xcid.subject import Subject
from xcid_lab.baselines._common import Counting, Found, explained, seeds_of

Discretizer: TypeAlias = Literal["quartile", "decile"]


class Lime:
    """Contributions of LIME's local linear model to the predicted class, or to the output of a regression.

    A weight of that model is a slope, whose sign says nothing about the present value. So it is multiplied by how far
    the row lies from the background's mean, in the standard deviations that LIME's model is fitted in; for a level, by
    how far its indicator lies from its share. With a discretizer, LIME's own default, numbers are cut into bins and
    the weights are contributions of the row's own bin as they stand; they are less faithful. All features have a
    weight; none is selected. Integers are rounded before the model is called. LIME takes no missing cells.

    Parameters
    ----------
    model, background
        As for :class:`xcid.Explainer`.
    samples : int
        Evaluations for each row.
    discretizer : "quartile" or "decile", optional
        How numbers are cut.
    weights : (N,) array, list or series, optional
        Of the background rows, as for :class:`xcid.Explainer`.
    """

    def __init__(
        self,
        model: Any,
        background: Any,
        *,
        samples: int = 5_000,
        discretizer: Discretizer | None = None,
        weights: Any = None,
    ) -> None:
        if discretizer not in (None, "quartile", "decile"):
            raise InvalidParameter(f'discretizer must be "quartile", "decile" or None, not {discretizer!r}')
        self.subject, self.discretizer = Subject.of(model, background, weights=weights), discretizer
        self.samples = as_int(samples, "samples", at_least=2)
        space = self.subject.space
        if space.missing.any():
            holes = [name for name, share in zip(space.names, space.missing, strict=True) if share > 0]
            raise InvalidData(
                f"LIME takes no missing cells, and the reference data have some in {holes}: fill or drop them"
            )
        with quiet_and_seeded(0):
            self.tabular = require("lime.lime_tabular", extra="lime").LimeTabularExplainer

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        settings = {"baseline": "Lime", "samples": self.samples, "discretizer": self.discretizer}
        return explained(self.subject, X, seed, self._scores, settings)

    def _scores(self, rows: Array, outputs: Array, keys: Unsigned) -> Found:
        n, d = rows.shape
        ask, state = Counting(self._predict), np.random.RandomState(0)
        weights, n_evaluations = np.zeros((n, d)), np.empty(n, dtype=np.int64)
        explainer = self._explainer(state)
        for row, row_seed in enumerate(seeds_of(keys)):
            before, label = ask.n_rows, 1 if self.subject.is_regression else int(outputs[row].argmax())
            state.seed(row_seed)  # the one that all parts of the explainer draw from
            with quiet_and_seeded(0):
                found = explainer.explain_instance(
                    rows[row], ask, labels=(label,), num_features=d, num_samples=self.samples
                )
            for feature, weight in found.as_map()[label]:
                weights[row, feature] = weight
            n_evaluations[row] = ask.n_rows - before
        return Found(weights if self.discretizer else weights * self._displacements(rows), n_evaluations)

    def _explainer(self, state: np.random.RandomState) -> Any:
        space = self.subject.space
        with quiet_and_seeded(0):
            return self.tabular(
                space.background,
                mode="regression" if self.subject.is_regression else "classification",
                feature_names=list(space.names),
                categorical_features=np.flatnonzero(space.discrete).tolist(),
                feature_selection="none",
                discretize_continuous=self.discretizer is not None,
                discretizer=self.discretizer,
                random_state=state,
            )

    def _displacements(self, rows: Array) -> Array:
        """(n, d) how far the columns of LIME's linear model lie from their means."""
        background, discrete = self.subject.space.background, self.subject.space.discrete
        spread = background.std(axis=0)
        far = (rows - background.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        for feature in np.flatnonzero(discrete):
            far[:, feature] = np.mean(rows[:, [feature]] != background[:, feature], axis=1)
        return far

    def _predict(self, matrix: Array) -> Array:
        outputs = self.subject.predict(np.where(self.subject.space.resolution == 1, np.round(matrix), matrix))
        return outputs[:, 0] if self.subject.is_regression else outputs
