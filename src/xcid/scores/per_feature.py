"""The paper's score: one density for each set, one distance for each feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from xcid._data import Array, Density, Integers, Perturbations
from xcid.densities import Discrete, Kernel
from xcid.distances import Distance, Overlap
from xcid.scores.directions import Direction, unsigned
from xcid.scores.evidences import estimate

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
        From weighted samples to a pair of densities, for numbers; levels are counted.
    distance : Distance
        From a pair of densities to a number in [0, 1].
    direction : Direction
        Gives the values their sign; where it says 0, it cannot tell, and the value is the plain distance.
    """

    density: Density = field(default_factory=Kernel)
    distance: Distance = field(default_factory=Overlap)
    direction: Direction = unsigned

    def __call__(self, cloud: Perturbations) -> Scores:
        """Score every feature of every row; rows where one of the sets is empty get 0."""
        importance = np.zeros(cloud.origin.shape)
        for density, features in ((self.density, ~cloud.discrete), (Discrete(), cloud.discrete)):
            if features.any():
                importance[:, features] = self._distances(density, cloud, np.flatnonzero(features))
        sums = cloud.positive.sum(axis=1, keepdims=True), cloud.negative.sum(axis=1, keepdims=True)
        compared = (sums[0] > 0) & (sums[1] > 0)
        importance = np.where(compared, importance, 0.0)
        direction = np.where(compared, self.direction(cloud), 0.0)
        return Scores(np.where(direction == 0, importance, direction * importance), importance, direction)

    def _distances(self, density: Density, cloud: Perturbations, features: Integers) -> Array:
        """Distances of some features of all rows, a block at a time."""
        n = len(cloud)
        result = np.zeros((n, len(features)))
        block = max(1, MOST_ITEMS // len(features))
        for start in range(0, n, block):
            part = slice(start, start + block)
            values = np.ascontiguousarray(cloud.samples[part, :, features].transpose(0, 2, 1))
            pair = estimate(density, values, cloud.positive[part, None, :], cloud.negative[part, None, :])
            result[part] = self.distance(pair.p, pair.q, pair.weights)
        return result
