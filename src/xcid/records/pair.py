"""Two densities of one feature, that of C+ and that of C-, and the seams that an explanation remembers."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, Protocol

import numpy as np

from xcid.records.arrays import Array, Flags


@dataclass(frozen=True, slots=True, eq=False)
class DensityPair:
    """Two densities on common points, batched over leading axes.

    A point is a cell of the line with its width as ``weights`` and the mean density over the cell as ``p`` and ``q``,
    or an atom with ``weights`` 1 and its mass as ``p`` and ``q``. Either way ``weights * p`` is a mass, so that one
    formula serves continuous, discrete and mixed features.

    Attributes
    ----------
    points : (..., g)
        Where: the middle of a cell, or the value that carries an atom.
    p, q : (..., g)
        Densities (or masses) of C+ and C-.
    weights : (..., g)
        Widths of the cells; 1 for an atom; 0 for an unused place.
    atoms : (..., g) bool
        Which points are atoms.
    """

    points: Array
    p: Array
    q: Array
    weights: Array
    atoms: Flags

    def __getitem__(self, index: Any) -> DensityPair:
        """Select from the leading axes."""
        return DensityPair(*(getattr(self, each.name)[index] for each in fields(self)))

    def compact(self) -> DensityPair:
        """Drop the unused places of a single pair and sort the rest by value."""
        used = np.flatnonzero(self.weights * (self.p + self.q) > 0)
        order = used[np.argsort(self.points[used], kind="stable")]
        return self[order]


class Density(Protocol):
    """Anything that turns weighted samples of features into pairs of densities; a plain function qualifies.

    ``values``, ``positive`` and ``negative`` have a common shape ``(..., s)`` after broadcasting; the result is
    batched over the same leading axes. A density has mass 1 where its weights have a positive sum and 0 elsewhere.
    """

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair: ...


class Outcome(Protocol):
    """Anything that tells positives from negatives; a plain function qualifies. See :mod:`xcid.outcomes`."""

    def __call__(self, outputs: Array, reference: Array) -> Array: ...
