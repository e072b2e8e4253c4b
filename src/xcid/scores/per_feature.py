"""The paper's score: one density for each set, one distance for each feature."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from xcid._kernels.arrays import blocks
from xcid.densities import Discrete, Kernel
from xcid.distances import Distance, Overlap
from xcid.records import Array, Density, Integers, Perturbations
from xcid.scores import planned
from xcid.scores.directions import Direction, unsigned
from xcid.scores.evidences import estimate, joint

MOST_ITEMS = 128  # features of rows whose densities are held at a time: they stay in the cache


class Scores(NamedTuple):
    """(n, f) each; see :class:`xcid.Explanation`."""

    values: Array
    importance: Array
    direction: Array
    lower: Array | None = None
    upper: Array | None = None
    p_values: Array | None = None
    null_mean: Array | None = None
    null_quantile: Array | None = None


class Score(Protocol):
    """Anything that scores the features of clouds; ``density`` makes the evidence that is shown."""

    @property
    def density(self) -> Density: ...

    def __call__(self, cloud: Perturbations) -> Scores: ...


@dataclass(frozen=True, slots=True)
class PerFeature:
    """Distance between the densities of C+ and C-, feature by feature; for a group between its joint densities.

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
        importance = np.zeros((len(cloud), len(cloud.features)))
        first = np.array([columns[0] for columns in cloud.features])
        is_group = np.array([len(columns) > 1 for columns in cloud.features])
        compared = (cloud.positive.sum(axis=1) > 0) & (cloud.negative.sum(axis=1) > 0)
        waiting = ~is_group
        for part in planned.parts(cloud, self.density):
            importance[:, part.features] = planned.distances(part, cloud, self.distance)
            waiting[part.features] = False
        for density, chosen in ((self.density, ~cloud.discrete[first]), (Discrete(), cloud.discrete[first])):
            features = np.flatnonzero(chosen & waiting)
            if features.size:
                importance[:, features] = self._distances(density, cloud, first[features])
        for feature in np.flatnonzero(is_group):
            for row in np.flatnonzero(compared):
                pair = joint(cloud, int(row), cloud.features[feature])
                importance[row, feature] = self.distance(pair.p, pair.q, pair.weights)
        importance = np.where(compared[:, None], importance, 0.0)
        direction = np.where(compared[:, None], self.direction(cloud), 0.0)
        return Scores(np.where(direction == 0, importance, direction * importance), importance, direction)

    def _distances(self, density: Density, cloud: Perturbations, columns: Integers) -> Array:
        """Distances of some columns of all rows, a block at a time."""
        result, samples = np.zeros((len(cloud), len(columns))), cloud.samples
        for part in blocks(len(cloud), MOST_ITEMS // len(columns)):
            values = np.ascontiguousarray(samples[part, :, columns].transpose(0, 2, 1))
            pair = estimate(density, values, cloud.positive[part, None, :], cloud.negative[part, None, :])
            result[part] = self.distance(pair.p, pair.q, pair.weights)
        return result
