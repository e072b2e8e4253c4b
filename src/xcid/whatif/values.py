"""Which values of a column are plausible: without codes for what is missing, and as fine as the reference data are."""

from __future__ import annotations

import numpy as np

from xcid.records import Array, Integers
from xcid.subject import Subject

MOST_LEVELS = 64
FAR = 1.5  # mean absolute deviations of the others between a value and the next: it stands apart
SPIKE = 5  # times as frequent as any of the next values: the lowest or highest value is a code, not a number
COMMON = 0.05  # of the reference rows have a value that stands apart, or it is never proposed
FINEST = 100  # steps in a mean absolute deviation of a number without decimals of its own


def frequent(levels: Array, background: Array) -> Array:
    """The most frequent levels, where there are very many."""
    if len(levels) <= MOST_LEVELS:
        return levels
    counts = np.array([(background == level).sum() for level in levels])
    return np.sort(levels[np.argsort(-counts, kind="stable")[:MOST_LEVELS]])


def bulk(cells: Array) -> tuple[float, float, list[float]]:
    """The ends of the values of a number without those that stand apart, and of these the common ones.

    A value stands apart where it is the lowest or the highest, and either far from the next value (1.5 mean absolute
    deviations of the rest) or far more frequent than its neighbours (5 times): a 0 that stands for a missing blood
    pressure, or 999 for an unknown number of days.
    """
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    codes = []
    for end in (0, -1):
        if len(values) < 5:
            break
        rest = np.delete(np.arange(len(values)), end)
        inner = np.repeat(values[rest], counts[rest])
        spread = np.abs(inner - np.median(inner)).mean()
        beside = rest[:10] if end == 0 else rest[-10:]
        gap = abs(values[end] - values[rest][end])
        share = counts[end] / counts.sum()
        if gap > FAR * spread or (share >= COMMON and counts[end] > SPIKE * counts[beside].max()):
            codes += [float(values[end])] * bool(share >= COMMON)
            values, counts = values[rest], counts[rest]
    return float(values[0]), float(values[-1]), codes


def lattice(subject: Subject, single: Integers) -> tuple[Array, Array]:
    """(f,) step of new values and decimals to write them with: as declared, as in the data, or a part of the spread."""
    space = subject.features.space
    declared = np.where(single >= 0, subject.rules.steps[single], 0.0)
    natural = np.where(space.resolution > 0, 1 / np.maximum(space.resolution, 1.0), 0.0)
    fine = 10.0 ** np.floor(np.log10(np.maximum(space.scales / FINEST, 1e-300)))
    step = np.where(declared > 0, declared, np.where(natural > 0, natural, fine))
    digits = np.where(declared > 0, 6 - np.floor(np.log10(step)), np.ceil(-np.log10(step) - 1e-9))
    return step, np.maximum(digits, 0.0)
