"""Kernel density estimates, as cells with masses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._check import as_float
from xcid._kernels import binned
from xcid._kernels.exact import SHAPES
from xcid.densities._cells import WeightedSets, assemble, binned_cells, constant_atoms, exact_cells
from xcid.densities._items import flatten
from xcid.densities.bandwidths import Bandwidth, named
from xcid.errors import InvalidParameter
from xcid.records import Array, DensityPair

FINEST = 1e-5
BINNED_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Kernel:
    """Kernel density estimates of both sets.

    A set whose values are all equal has no bandwidth under the rules; it becomes an atom.

    Parameters
    ----------
    kernel : str
        "gaussian", "epanechnikov", "exponential", "tophat", "triangular" or "cosine".
    bandwidth : str, float or Bandwidth
        "silverman" and "scott" (each set by itself, as scipy computes them), "pooled-silverman" and "pooled-scott"
        (one for both sets), a number in the unit of the feature, or an object of :mod:`xcid.densities.bandwidths`.
    tolerance : float
        Largest error of d1: 1e-3 is fast, 1e-5 the finest.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.0])
    >>> pair = Kernel("gaussian", bandwidth=0.5)(values, values < 3, values > 3)
    >>> float(np.round(pair.weights @ pair.p, 6))
    1.0
    """

    kernel: str = "gaussian"
    bandwidth: str | float | Bandwidth = "silverman"
    tolerance: float = BINNED_TOLERANCE

    def __post_init__(self) -> None:
        if self.kernel not in list(SHAPES):
            raise InvalidParameter(f"unknown kernel {self.kernel!r}: use one of {list(SHAPES)}")
        if not FINEST <= as_float(self.tolerance, "tolerance") < 1:
            raise InvalidParameter(f"the tolerance must lie between {FINEST} and 1, not {self.tolerance}")
        named(self.bandwidth)
        object.__setattr__(self, "tolerance", float(self.tolerance))
        if isinstance(self.bandwidth, np.number):
            object.__setattr__(self, "bandwidth", float(self.bandwidth))

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair:
        """Estimate the densities of (..., s) samples with (..., s) weights."""
        items = flatten(values, positive, negative)
        bandwidths = named(self.bandwidth)(items.values, *items.given_weights, items.length)
        sets = WeightedSets.of(items, bandwidths)
        groups = []
        waiting = sets.n_cells > 0
        if self.kernel == "gaussian" and self.tolerance >= BINNED_TOLERANCE:
            for size in binned.SIZES:
                fits = np.flatnonzero(waiting & (sets.n_cells <= size))
                if fits.size:
                    groups.append(binned_cells(items, sets, fits, size))
                waiting[fits] = False
        per_bandwidth = 4 if self.tolerance >= BINNED_TOLERANCE else 16
        for item in np.flatnonzero(waiting):
            groups.append(exact_cells(items, sets, item, SHAPES[self.kernel], per_bandwidth))
        return assemble(items, constant_atoms(items, sets), groups)
