"""The colours of scores and evidence: Okabe and Ito's, which colour-blind people can distinguish."""

from __future__ import annotations

from xcid.records import Array, Explanation
from xcid.show.wording import is_signed

POSITIVE, NEGATIVE, OVERLAP = "#0072B2", "#E69F00", "#999999"  # C+, C- and what they share
SUPPORTS, OPPOSES, UNSIGNED = "#009E73", "#D55E00", "#56B4E9"
INK = "#333333"


def of_scores(explanation: Explanation, values: Array) -> list[str]:
    """A colour for each of some scores of an explanation."""
    if not is_signed(explanation):
        return [UNSIGNED] * len(values)
    return [SUPPORTS if value >= 0 else OPPOSES for value in values]
