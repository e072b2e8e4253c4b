"""How far scores can be trusted: corrected p-values, top sets, repeated runs, stopping, averages, differences."""

from xcid.calibration.differences import compare
from xcid.calibration.runs import Decided, Repeats, Stop, aggregate, average
from xcid.calibration.tops import benjamini_hochberg, in_top, is_significant, top_agreement

__all__ = [
    "Decided",
    "Repeats",
    "Stop",
    "aggregate",
    "average",
    "benjamini_hochberg",
    "compare",
    "in_top",
    "is_significant",
    "top_agreement",
]
