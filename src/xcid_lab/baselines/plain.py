"""Methods without a library of explanations: chance, occlusion, and how often a feature changes in counterfactuals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xcid._check import require_callable
from xcid._kernels.random import CHANCE, uniform
from xcid.cid.generators.search import Generator
from xcid.densities import Mixed
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.generators import Dice
from xcid.metrics.maskings import Masking, mean
from xcid.outcomes import Flip
from xcid.records import Array, Density, Perturbations, Scores, Unsigned
from xcid.subject import Subject
from xcid_lab.baselines._common import Found, explained


class Chance:
    """Random scores between -1 and 1, from the seed and the row's values; the model is called for its outputs only."""

    def __init__(self, model: Any, background: Any, *, weights: Any = None) -> None:
        self.subject = Subject.of(model, background, weights=weights)

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        """Score one row or many."""
        return explained(self.subject, X, seed, self._scores, {"baseline": "Chance"})

    def _scores(self, rows: Array, outputs: Array, keys: Unsigned) -> Found:
        random = CHANCE.bits(keys, self.subject.space.rank.astype(np.uint64))
        return Found(2 * uniform(random) - 1, np.zeros(len(rows), dtype=np.int64))


class Occlusion:
    """Output of the row minus its output with one feature masked: of the predicted class, or of a regression.

    By default features are masked by the background's mean; ``masking=xcid.metrics.JointRows(50)`` averages over
    background rows. The seed is for maskings that draw.
    """

    def __init__(self, model: Any, background: Any, *, masking: Masking = mean, weights: Any = None) -> None:
        require_callable(masking, "masking", "xcid.metrics.mean")
        self.subject, self.masking = Subject.of(model, background, weights=weights), masking

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        return explained(self.subject, X, seed, self._scores, {"baseline": "Occlusion", "masking": self.masking})

    def _scores(self, rows: Array, outputs: Array, keys: Unsigned) -> Found:
        n, d = rows.shape
        values, n_evaluations = np.empty((n, d)), np.empty(n, dtype=np.int64)
        one_out = ~np.eye(d, dtype=bool)[None]
        for row in range(n):
            at = slice(row, row + 1)
            filled = self.masking(rows[at], one_out, keys[at], self.subject.space)[0]  # (d, r, d)
            own = outputs[row].argmax()
            masked = self.subject.predict(filled.reshape(-1, d))[:, own].reshape(d, -1)
            values[row] = outputs[row, own] - masked.mean(axis=1)
            n_evaluations[row] = masked.size
        return Found(values, n_evaluations)


class DiceImportance:
    """Share of counterfactuals in which a feature differs from the row; unsigned.

    ``generator`` makes the counterfactuals: by default dice-ml's random method. Its search for samples that do not
    flip, which this score does not use, is among the evaluations.
    """

    def __init__(self, model: Any, background: Any, *, generator: Generator | None = None, weights: Any = None) -> None:
        generator = Dice(m=50) if generator is None else generator
        explainer = Explainer(model, background, weights=weights, generator=generator, score=Changed())
        self.explainer = explainer.with_outcome(Flip()) if explainer.setup.outcome == Flip(soft=True) else explainer

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        return self.explainer(X, seed=seed)


@dataclass(frozen=True, slots=True)
class Changed:
    """How often each feature differs from the row in C+, without a sign; rows without a counterfactual get 0."""

    density: Density = field(default_factory=Mixed)

    def __call__(self, cloud: Perturbations) -> Scores:
        own = cloud.origin[:, None, :]
        cells = (cloud.samples != own) & ~(np.isnan(cloud.samples) & np.isnan(own))
        changed = np.stack([cells[..., list(columns)].any(axis=2) for columns in cloud.features], axis=2)
        total = cloud.positive.sum(axis=1)[:, None]
        sums = np.einsum("ns,nsf->nf", cloud.positive, changed)
        share = np.divide(sums, total, out=np.zeros_like(sums), where=total > 0)
        return Scores(share, share)
