"""Balanced masks: blocks of a Hadamard matrix, in which the columns are orthogonal."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from xcid._kernels.streams import HADAMARD
from xcid.records import Flags, Integers, Unsigned


def order(n_features: int) -> int:
    """Rows of a block: the least power of two that has a column for every feature, at least 2."""
    return int(2 ** max(1, int(np.ceil(np.log2(n_features)))))


def masks(key: Unsigned, rank: Integers, n_masks: int) -> Flags:
    """(n_masks, f) masks for a (1,) key; in every block rows and columns are shuffled and flipped.

    ``rank`` (f,) says which column of a block each feature gets.
    """
    size = order(len(rank))
    matrix = linalg.hadamard(size) > 0
    blocks = -(-n_masks // size)
    counters = np.arange(blocks * size, dtype=np.uint64).reshape(blocks, size)
    rows, columns, signs = (stream.bits(key, counters)[0] for stream in HADAMARD)
    row, column = (np.argsort(random, axis=1) for random in (rows, columns))
    column, flip = column[:, rank], (signs >> np.uint64(63)).astype(bool)[:, rank]
    made = matrix[row[:, :, None], column[:, None, :]] ^ flip[:, None, :]
    return made.reshape(blocks * size, len(rank))[:n_masks]
