"""Exact masses of levels: no smoothing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._kernels import ties
from xcid.densities._items import flatten
from xcid.densities.slots import Slots
from xcid.records import Array, DensityPair


@dataclass(frozen=True, slots=True)
class Discrete:
    """Every distinct value is an atom with its exact mass.

    Examples
    --------
    >>> import numpy as np
    >>> pair = Discrete()(np.array([1.0, 1.0, 2.0, 3.0]), np.array([1, 1, 0, 0.0]), np.array([0, 1, 1, 0.0]))
    >>> pair.points.tolist(), pair.p.tolist(), pair.q.tolist()
    ([1.0, 2.0], [1.0, 0.0], [0.5, 0.5])
    """

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair:
        """Count (..., s) samples with (..., s) weights."""
        items = flatten(values, positive, negative)
        raw = np.broadcast_to(values, (*items.batch, items.values.shape[1])).reshape(items.values.shape)
        code, points = ties.distinct(raw, items.used)
        p, q = (ties.sums(code, weights, points.shape[1]) for weights in (items.positive, items.negative))
        shape = (*items.batch, points.shape[1])
        points, p, q = (part.reshape(shape) for part in (points, p, q))
        return DensityPair(points, p, q, np.ones(shape), np.ones(shape, dtype=bool))

    def slots(self, values: Array) -> Slots:
        """Tell where each of (p, f) values goes that many rows share."""
        distinct = [np.unique(column) for column in values.T]
        atoms = np.full((len(distinct), max(len(one) for one in distinct)), np.inf)
        place = np.empty(values.shape, dtype=np.int64)
        for feature, one in enumerate(distinct):
            atoms[feature, : len(one)] = one
            place[:, feature] = np.searchsorted(one, values[:, feature])
        nothing = np.zeros(len(atoms))
        covered = np.ones(len(atoms), dtype=bool)
        return Slots(atoms, nothing, nothing, place, np.zeros(values.shape), np.zeros((0, 0)), covered)
