"""Where things stand in a picture: pure functions on arrays, without random jitter, so that pictures repeat."""

from __future__ import annotations

import numpy as np

from xcid.records import Array

BINS = 60  # of an axis: dots of one bin stand on each other
WIDTH = 0.8  # of the fullest bin, where lines are 1 apart
FEWEST = 12  # so many dots fill the width
LINE = 60  # letters


def span(points: Array, margin: float) -> tuple[float, float]:
    """The ends of an axis for all finite points, with a share of their range as room on either side."""
    there = points[np.isfinite(points)]
    low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    room = margin * (high - low) or 1.0
    return low - room, high + room


def stacked(values: Array, length: float) -> Array:
    """(n,) offsets from the middle of a line for dots that would cover each other, on an axis of a length."""
    if not len(values):
        return np.zeros(0)
    code = np.round((values - values.min()) / (length or 1.0) * BINS).astype(np.int64)
    order = np.argsort(code, kind="stable")
    count = np.bincount(code)
    place = np.empty(len(values))
    place[order] = np.arange(len(values)) - np.repeat(np.cumsum(count) - count, count)
    step = WIDTH / max(int(count.max()), FEWEST)
    offset: Array = step * (place - (count[code] - 1) / 2)
    return offset


def strips(codes: Array, values: Array) -> tuple[Array, Array]:
    """The levels that occur among (n,) codes, and the places of dots in a strip for each of these levels."""
    there, strip = np.unique(codes, return_inverse=True)
    places = strip.astype(np.float64)
    for at in range(len(there)):
        places[strip == at] += stacked(values[strip == at], float(np.ptp(values)))
    return there, places


def ranks(own: Array) -> Array:
    """(n,) ranks of values in [0, 1]; NaN for missing ones."""
    known = ~np.isnan(own)
    _, rank = np.unique(own[known], return_inverse=True)
    found = np.full(len(own), np.nan)
    found[known] = rank / max(int(rank.max(initial=0)), 1)
    return found


def wrapped(words: list[str]) -> list[tuple[int, int]]:
    """Where each word of a text begins: (column, line)."""
    places, column, line = [], 0, 0
    for word in words:
        if column and column + len(word) > LINE:
            column, line = 0, line + 1
        places.append((column, line))
        column += len(word) + 2
    return places
