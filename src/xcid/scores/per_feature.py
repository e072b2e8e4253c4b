"""The paper's score: one density for each set, one distance for each feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from xcid._data import Array, Density, Perturbations
from xcid.densities import Kernel
from xcid.distances import Distance, Overlap
from xcid.scores.directions import Direction, unsigned

MOST_ITEMS = 128  # features of rows whose densities are held at a time: they stay in the cache


class Scores(NamedTuple):
    """(n, d) each; see :class:`xcid.Explanation`."""

    values: Array
    importance: Array
    direction: Array


class Score(Protocol):
    """Anything that scores the features of clouds; ``density`` makes the evidence that is shown."""

    @property
    def density(self) -> Density: ...

    def __call__(self, cloud: Perturbations) -> Scores: ...


@dataclass(frozen=True, slots=True)
class PerFeature:
    """Distance between the densities of C+ and C-, feature by feature.

    Parameters
    ----------
    density : Density
        From weighted samples to a pair of densities.
    distance : Distance
        From a pair of densities to a number in [0, 1].
    direction : Direction
        Gives the values their sign; where it says 0 for all features of a row, the values are unsigned.
    """

    density: Density = field(default_factory=Kernel)
    distance: Distance = field(default_factory=Overlap)
    direction: Direction = unsigned

    def __call__(self, cloud: Perturbations) -> Scores:
        """Score every feature of every row; rows where one of the sets is empty get 0."""
        n, _, d = cloud.samples.shape
        importance = np.zeros((n, d))
        block = max(1, MOST_ITEMS // d)
        for start in range(0, n, block):
            part = slice(start, start + block)
            values = np.ascontiguousarray(cloud.samples[part].transpose(0, 2, 1))
            pair = self.density(values, cloud.positive[part, None, :], cloud.negative[part, None, :])
            importance[part] = self.distance(pair.p, pair.q, pair.weights)
        sums = cloud.positive.sum(axis=1, keepdims=True), cloud.negative.sum(axis=1, keepdims=True)
        compared = (sums[0] > 0) & (sums[1] > 0)
        importance = np.where(compared, importance, 0.0)
        direction = np.where(compared, self.direction(cloud), 0.0)
        told = direction.any(axis=1, keepdims=True)
        return Scores(np.where(told, direction * importance, importance), importance, direction)
