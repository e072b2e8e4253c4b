"""DiCE's local feature importance: how often a feature changes in counterfactuals."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xcid.densities import Mixed
from xcid.explainer import Explainer
from xcid.generators import Dice, Generator
from xcid.outcomes import Flip, SoftFlip
from xcid.records import Density, Explanation, Perturbations
from xcid.scores import Scores


class DiceImportance:
    """Share of counterfactuals in which a feature differs from the row; unsigned.

    ``generator`` makes the counterfactuals: by default dice-ml's random method. Its search for samples that do not
    flip, which this score does not use, is among the evaluations.
    """

    def __init__(self, model: Any, background: Any, *, generator: Generator | None = None) -> None:
        generator = Dice(m=50) if generator is None else generator
        explainer = Explainer(model, background, generator=generator, score=Changed())
        self.explainer = explainer.asking(Flip()) if isinstance(explainer.setup.outcome, SoftFlip) else explainer

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
        return Scores(share, share, np.zeros_like(share))
