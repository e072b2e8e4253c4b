"""Dots that would cover each other, side by side; no random jitter, so that a picture is the same every time."""

from __future__ import annotations

import numpy as np

from xcid.records import Array

BINS = 60  # of the whole axis: dots of one bin stand on each other
WIDTH = 0.8  # of the fullest bin, where lines are 1 apart
FEWEST = 12  # so many dots fill the width


def stacked(values: Array, span: float) -> Array:
    """(n,) offsets of dots from the middle of their line, for values on an axis of a length."""
    if not len(values):
        return np.zeros(0)
    code = np.round((values - values.min()) / (span or 1.0) * BINS).astype(np.int64)
    order = np.argsort(code, kind="stable")
    count = np.bincount(code)
    place = np.empty(len(values))
    place[order] = np.arange(len(values)) - np.repeat(np.cumsum(count) - count, count)
    step = WIDTH / max(int(count.max()), FEWEST)
    offset: Array = step * (place - (count[code] - 1) / 2)
    return offset
