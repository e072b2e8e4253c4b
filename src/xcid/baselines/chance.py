"""Scores that know nothing: what any method has to beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._kernels.random import uniform
from xcid._kernels.streams import CHANCE
from xcid.baselines._common import explained
from xcid.records import Array, Explanation, Integers, Unsigned
from xcid.subject import Subject


class Chance:
    """Random scores between -1 and 1, from the seed and the row's values; the model is asked for its outputs only."""

    def __init__(self, model: Any, background: Any) -> None:
        self.subject = Subject.of(model, background)

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        """Score one row or many."""
        return explained(self.subject, X, seed, self._scores, {"baseline": "Chance"})

    def _scores(self, rows: Array, outputs: Array, keys: Unsigned) -> tuple[Array, Integers]:
        random = CHANCE.bits(keys, self.subject.space.rank.astype(np.uint64))
        return 2 * uniform(random) - 1, np.zeros(len(rows), dtype=np.int64)
