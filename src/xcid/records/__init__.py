"""The values that flow through the library, all of them frozen: row -> Perturbations -> DensityPair -> Explanation."""

from xcid.records.arrays import (
    SIGNIFICANT,
    Array,
    Backend,
    Density,
    DensityPair,
    Details,
    Flags,
    Integers,
    Outcome,
    Texts,
    Unsigned,
    benjamini_hochberg,
    in_words,
    is_significant,
)
from xcid.records.cloud import Perturbations, Plan, Scores, once_for, plan_by_plan
from xcid.records.explanation import Explanation, with_details
from xcid.records.fields import Estimate
from xcid.records.kept import SampleStore
from xcid.records.status import FEATURE_STATUSES, POOR, STATUSES, UNKNOWN, Failure, Status, meaning
