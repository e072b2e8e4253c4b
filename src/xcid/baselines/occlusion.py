"""Occlusion: how far the output falls when one feature is masked."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._check import require_callable
from xcid.baselines._common import explained
from xcid.metrics import Masking, mean
from xcid.records import Array, Explanation, Integers, Unsigned
from xcid.subject import Subject


class Occlusion:
    """Output of the row minus its output with one feature masked: of the predicted class, or of a regression.

    By default features are masked by the background's mean; ``masking=xcid.metrics.JointRows(50)`` averages over
    background rows. The seed is for maskings that draw.
    """

    def __init__(self, model: Any, background: Any, *, masking: Masking = mean) -> None:
        require_callable(masking, "masking", "xcid.metrics.mean")
        self.subject, self.masking = Subject.of(model, background), masking

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        return explained(self.subject, X, seed, self._scores, {"baseline": "Occlusion", "masking": self.masking})

    def _scores(self, rows: Array, outputs: Array, keys: Unsigned) -> tuple[Array, Integers]:
        n, d = rows.shape
        values, n_evaluations = np.empty((n, d)), np.empty(n, dtype=np.int64)
        one_out = ~np.eye(d, dtype=bool)[None]
        for row in range(n):
            at = slice(row, row + 1)
            filled = self.masking(rows[at], one_out, keys[at], self.subject.space)[0]  # (d, r, d)
            own = outputs[row].argmax()
            masked = self.subject.predict(filled.reshape(-1, d))[:, own].reshape(d, -1)
            values[row] = outputs[row, own] - masked.mean(axis=1)
            n_evaluations[row] = masked.size
        return values, n_evaluations
