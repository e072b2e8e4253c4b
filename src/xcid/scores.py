"""Scores: ``score(cloud) -> Scores``, from perturbations to a value for each feature.

``PerFeature(density, distance, direction)`` is the paper's, with a direction on request; ``Adjusted()`` is the
recommended one. ``variability`` is the paper's heuristic before any density.
"""

from xcid.cid.calibrated import Adjusted
from xcid.cid.distances import variability
from xcid.cid.per_feature import PerFeature
from xcid.cid.resampled import Resampled

__all__ = ["Adjusted", "PerFeature", "Resampled", "variability"]
