"""Figures of merit of scores: plain arrays go in, so that any method can be judged; (n,) figures come out."""

from xcid.metrics.agreement import feature_agreement, kendall_tau, rank_agreement, sign_agreement, sparsity, stability
from xcid.metrics.faithfulness import Curves, comprehensiveness, masking_curves, sufficiency
from xcid.metrics.flips import FlipShares, flip_necessity, flip_shares, flip_sufficiency
from xcid.metrics.maskings import Centre, JointRows, MarginalRows, Masking, SimilarRows, mean, median
from xcid.metrics.summary import Interval, interval, paired

__all__ = [
    "Centre",
    "Curves",
    "FlipShares",
    "Interval",
    "JointRows",
    "MarginalRows",
    "Masking",
    "SimilarRows",
    "comprehensiveness",
    "feature_agreement",
    "flip_necessity",
    "flip_shares",
    "flip_sufficiency",
    "interval",
    "kendall_tau",
    "masking_curves",
    "mean",
    "median",
    "paired",
    "rank_agreement",
    "sign_agreement",
    "sparsity",
    "stability",
    "sufficiency",
]
