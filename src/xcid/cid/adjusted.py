"""The recommended importance: d1 of the evidence, adjusted for the other features, without the bias of noise."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from xcid.cid.calibrated import flips_alone, importance
from xcid.cid.densities.mixed import Mixed
from xcid.cid.per_feature import Scores, plan_by_plan
from xcid.contributions import sampled
from xcid.contributions.effects import Measured
from xcid.records import Array, Density, Perturbations


@dataclass(frozen=True, slots=True)
class Adjusted:
    """Calibrated d1 of every feature; the contributions beside it are measured by the same perturbations.

    Parameters
    ----------
    density : Density
        Of the evidence.
    """

    density: Density = field(default_factory=Mixed)

    def __call__(self, cloud: Perturbations) -> Scores:
        return plan_by_plan(self._scored, cloud)

    def _scored(self, cloud: Perturbations) -> Scores:
        value, lower, upper, p = importance(cloud, self.density)
        ends = {"importance_lower": lower, "importance_upper": upper, "importance_p_values": p}
        return Scores(value, value, lower, upper, p, **ends, flips_alone=flips_alone(cloud))

    def measured(self, cloud: Perturbations, numbers: Array) -> Measured:
        """Measure mean effects on (n, s) numbers, of which contributions are made."""
        return sampled.measured(cloud, numbers)


@dataclass(frozen=True, slots=True)
class ContributionsAlone(Adjusted):
    """Contributions alone: of importance nothing is known."""

    def __call__(self, cloud: Perturbations) -> Scores:
        nothing = np.full((len(cloud), len(cloud.features)), np.nan)
        return Scores(nothing, nothing)
