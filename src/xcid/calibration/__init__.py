"""How far scores can be trusted: corrected p-values, top sets, repeated runs, stopping, averages."""

from xcid.calibration.runs import Decided, Repeats, Stop, aggregate, average
from xcid.calibration.tops import in_top, top_agreement
from xcid.records import benjamini_hochberg

__all__ = [
    "Decided",
    "Repeats",
    "Stop",
    "aggregate",
    "average",
    "benjamini_hochberg",
    "in_top",
    "top_agreement",
]
