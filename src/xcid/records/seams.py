"""The two seams that an explanation remembers: what drew its evidence, and what was asked."""

from __future__ import annotations

from typing import Protocol

from xcid.records.arrays import Array
from xcid.records.pair import DensityPair


class Density(Protocol):
    """Anything that turns weighted samples of features into pairs of densities; a plain function qualifies.

    ``values``, ``positive`` and ``negative`` have a common shape ``(..., s)`` after broadcasting; the result is
    batched over the same leading axes. A density has mass 1 where its weights have a positive sum and 0 elsewhere.
    """

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair: ...


class Outcome(Protocol):
    """Anything that tells positives from negatives; a plain function qualifies. See :mod:`xcid.outcomes`."""

    def __call__(self, outputs: Array, reference: Array) -> Array: ...
