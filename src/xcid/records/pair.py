"""Two densities of one feature: that of C+ and that of C-."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

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
