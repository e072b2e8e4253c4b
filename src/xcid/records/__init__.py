"""The values that flow through the library, all of them frozen: row -> Perturbations -> DensityPair -> Explanation."""

from xcid.records.arrays import (
    Array,
    Backend,
    Flags,
    Integers,
    Texts,
    Unsigned,
    in_words,
    log_odds,
)
from xcid.records.cloud import Perturbations, Plan
from xcid.records.explanation import Explanation
from xcid.records.fields import Estimate
from xcid.records.pair import Density, DensityPair, Outcome
from xcid.records.significance import SIGNIFICANT, benjamini_hochberg, is_significant
from xcid.records.status import FEATURE_STATUSES, POOR, STATUSES, UNKNOWN, Failure, Status, meaning
