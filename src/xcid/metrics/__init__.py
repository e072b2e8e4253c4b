"""Figures of merit of scores: plain arrays go in, so that any method can be judged; (n,) figures come out."""

from xcid.metrics.agreement import feature_agreement, rank_agreement, sign_agreement, stability
from xcid.metrics.faithfulness import comprehensiveness, masking_curves, sufficiency
from xcid.metrics.maskings import JointRows, SimilarRows, mean

__all__ = [
    "JointRows",
    "SimilarRows",
    "comprehensiveness",
    "feature_agreement",
    "masking_curves",
    "mean",
    "rank_agreement",
    "sign_agreement",
    "stability",
    "sufficiency",
]


def __dir__() -> list[str]:
    return __all__
