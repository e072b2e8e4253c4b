"""Independent masks: every feature is left alone or replaced by a background value, with equal odds."""

from __future__ import annotations

from dataclasses import dataclass

from xcid._kernels.streams import MARGINAL
from xcid.generators.reach import Reach, counters
from xcid.generators.search import Member, Search, check_search
from xcid.records import Array, Perturbations, Unsigned
from xcid.space import FeatureSpace


@dataclass(frozen=True, slots=True)
class Marginal:
    """Independent masks with values from the background's marginals.

    Each feature of each candidate is replaced with probability 1/2, by the value of a random background row, drawn
    for every feature by itself, among the values that the constraints allow. So a feature that makes no difference is
    independent of flipping.

    Parameters
    ----------
    m, max_evaluations : int
        Positives and negatives to find for each row, and the most rows that the model is asked to predict for it.
    """

    m: int = 200
    max_evaluations: int = 4_000

    def __post_init__(self) -> None:
        check_search(self)

    def __call__(self, rows: Array, keys: Unsigned, space: FeatureSpace, member: Member) -> Perturbations:
        search = Search(rows, space, member, self.m, self.max_evaluations)
        reach = Reach.of(rows, space)
        for at, start, size in search.rounds():
            search.offer(at, reach[at].masked(MARGINAL.bits(keys[at], counters(start, size, space))))
        return search.result()
