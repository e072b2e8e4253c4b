"""Sets of one value, on which the paper is silent: they have no bandwidth and so no density."""

from __future__ import annotations

import numpy as np

from xcid import Perturbations
from xcid.densities import Kernel
from xcid.records import Array, Flags
from xcid.scores import PerFeature, Scores


class ConstantsScoreZero:
    """The paper's score, but 0 for a feature that is constant in C+ or in C-.

    By its definition d1 of one value against a spread of values is 1: they share no density. Features that no
    counterfactual changes then come first. Skipping them instead is the other way to read the paper.
    """

    density = Kernel()  # for the evidence

    def __call__(self, cloud: Perturbations) -> Scores:
        """Score every feature of every row."""
        constant = _constant(cloud.samples, cloud.positive) | _constant(cloud.samples, cloud.negative)
        values = np.where(constant, 0.0, PerFeature(self.density)(cloud).values)
        return Scores(values, values, np.zeros_like(values))


def _constant(samples: Array, weights: Array) -> Flags:
    """(n, d) whether all of the (n, s, d) samples with weight in (n, s) are equal.

    Examples
    --------
    >>> _constant(np.array([[[1.0, 2.0], [1.0, 3.0], [9.0, 9.0]]]), np.array([[1.0, 1.0, 0.0]])).tolist()
    [[True, False]]
    """
    there = weights[..., None] > 0
    high = np.where(there, samples, -np.inf).max(axis=1)
    low = np.where(there, samples, np.inf).min(axis=1)
    return high <= low
