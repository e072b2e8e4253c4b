"""The evidence behind an importance in words: what its two sets are, and what they come to."""

from __future__ import annotations

import numpy as np

from xcid.cid.distances import Overlap
from xcid.cid.drawn import Kept
from xcid.records import DensityPair, Explanation
from xcid.show import wording

STAYS, BOTH = "perturbations that stay (C−)", "in both"
OWN, AT_ONE_VALUE = "this row's value", "lines with dots: share at exactly one value (right-hand scale)"


def name_flips(explanation: Explanation) -> str:
    """What C+ is: "perturbations that flip the output (C+)"."""
    return f"perturbations that {wording.choose_verb(explanation)} the output (C+)"


def word_evidence(kept: Kept, shown: str, does: str = "flip") -> str:
    """What the evidence of a feature comes to, in a sentence: how many perturbations of either set keep its value.

    ``does`` is the verb of C+, as :func:`xcid.show.wording.choose_verb` gives it.

    Examples
    --------
    >>> from xcid.cid.drawn import Kept
    >>> word_evidence(Kept(0.6, 0.24), "98")
    'Among the perturbations that stay, 60% keep 98; among those that flip, 24%.'
    """
    if np.isnan(kept.flip) or np.isnan(kept.stay):
        return f"None of the perturbations {does if np.isnan(kept.flip) else 'stay'}s."
    stay, flip = (f"{100 * share:.0f}%" for share in kept)
    keep = "leave it missing" if shown == "missing" else f"keep {shown}"
    return f"Among the perturbations that stay, {stay} {keep}; among those that {does}, {flip}."


def measure_noise(one: Explanation, row: int, feature: int, pair: DensityPair) -> float | None:
    """The d1 of what is drawn, where it is not the importance beside it, which noise was taken out of; else None."""
    tested = one.importance_p_values
    if tested is None or np.isnan(tested[row, feature]):
        return None
    apart = float(Overlap()(pair.p, pair.q, pair.weights))
    return None if f"{apart:.2f}" == f"{one.importance[row, feature]:.2f}" else apart
