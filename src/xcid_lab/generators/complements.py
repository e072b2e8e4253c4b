"""Masks with their complements that depend on nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid._kernels.arrays import thinned
from xcid._kernels.random import BALANCED, run_key
from xcid.cid.generators.balanced import check_n, count_kinds, plan_by_masks
from xcid.cid.generators.reach import MOST_DONORS
from xcid.cid.generators.search import Bound, Drawn, Member, counters
from xcid.records import Array, Integers, Perturbations, Plan, Unsigned
from xcid.table import FeatureSpace

_, _MASKS, _DONORS, _, _ = BALANCED


@dataclass(frozen=True, slots=True)
class Complements:
    """Independent masks with their complements; donors are reference rows in random order.

    All else is as by :class:`xcid.generators.Balanced`.

    Parameters
    ----------
    n : int, optional
        As for :class:`xcid.generators.Balanced`.
    """

    n: int | None = None

    def __post_init__(self) -> None:
        check_n(self.n)

    def bind(self, space: FeatureSpace, outputs: Array) -> Bound:
        """Choose the rows that may be donors; outputs make no difference."""
        return Bound(self, thinned(len(space.background), MOST_DONORS), len(space.names))

    def draw(self, space: FeatureSpace, key: Unsigned) -> Drawn:
        """Draw the masks and donors of a run."""
        return self.bind(space, np.empty((0, 0))).draw(space, key)

    def plan(self, space: FeatureSpace, key: Unsigned, order: Integers) -> Plan:
        """Draw masks, and donors in random order: all of them before any comes again."""
        sizes = count_kinds(self.n, space)
        passes = -(-sizes.pairs // len(order))
        shuffle = _DONORS.bits(key, np.arange(passes * len(order), dtype=np.uint64)).reshape(passes, -1)
        donors = order[np.argsort(shuffle, axis=1)].ravel()[: sizes.pairs]
        masks = (_MASKS.bits(key, counters(0, sizes.pairs, space))[0] >> np.uint64(63)).astype(bool)
        return plan_by_masks(space, key, order, sizes, masks, donors)

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        return self.draw(space, run_key(0))(rows, keys, space, member)
