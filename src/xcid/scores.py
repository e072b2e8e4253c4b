"""Scores: ``score(cloud) -> Scores``, from perturbations to a value for each feature.

``PerFeature(density, distance, direction)`` is the paper's, with a direction on request; ``Adjusted()`` is the
recommended one; ``Surrogate()`` is the same with less noise, for slow models.
"""

from xcid.cid.per_feature import Direction, PerFeature, Score, Scores, evidence, held_in_place, unsigned
from xcid.cid.resampled import Resampled
from xcid.contributions.adjusted import Adjusted
from xcid.contributions.pairs import PairScores, pairs
from xcid.contributions.surrogate import Fit, Surrogate, smooth

__all__ = [
    "Adjusted",
    "Direction",
    "Fit",
    "PairScores",
    "PerFeature",
    "Resampled",
    "Score",
    "Scores",
    "Surrogate",
    "evidence",
    "held_in_place",
    "pairs",
    "smooth",
    "unsigned",
]
