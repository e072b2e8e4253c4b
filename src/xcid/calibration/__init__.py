"""How far scores can be trusted: corrected p-values, top sets, repeated runs, stopping, averages over many rows."""

from xcid.calibration.averages import aggregate, average
from xcid.calibration.stops import Decided, Repeats, Stop
from xcid.calibration.tops import benjamini_hochberg, in_top, top_agreement

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
