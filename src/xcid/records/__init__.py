"""The values that flow through the library, all of them frozen: row -> Perturbations -> DensityPair -> Explanation."""

from xcid.records.arrays import Array, Backend, Flags, Integers, Texts, Unsigned
from xcid.records.cloud import Perturbations, Plan
from xcid.records.comparison import Comparison
from xcid.records.explanation import SIGNIFICANT, Explanation, in_words
from xcid.records.fields import Estimate
from xcid.records.interactions import Interactions
from xcid.records.pair import Density, DensityPair, Outcome
from xcid.records.status import FEATURE_STATUSES, POOR, STATUSES, UNKNOWN, Status, meaning

__all__ = [
    "FEATURE_STATUSES",
    "POOR",
    "SIGNIFICANT",
    "STATUSES",
    "UNKNOWN",
    "Array",
    "Backend",
    "Comparison",
    "Density",
    "DensityPair",
    "Estimate",
    "Explanation",
    "Flags",
    "Integers",
    "Interactions",
    "Outcome",
    "Perturbations",
    "Plan",
    "Status",
    "Texts",
    "Unsigned",
    "in_words",
    "meaning",
]
