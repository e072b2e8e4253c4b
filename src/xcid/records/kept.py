"""The samples of many rows in one place, filled block by block: whole, in single precision, or not at all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xcid.records.arrays import Array
from xcid.records.cloud import Perturbations

WEIGHTS = ("positive", "negative")  # in C+ and in C-, of every sample
LARGE = (*WEIGHTS, "outputs")


class SampleStore:
    """Keeps the samples of ``n_rows`` rows where all of them take no more than ``max_bytes``.

    Where that is too little, what the model predicted is left out, and weights are in single precision, as in files.
    The first block says what a row takes, so that all rows keep the same.
    """

    __slots__ = ("_filled", "_is_lean", "_large", "_left", "_n_rows")

    def __init__(self, n_rows: int, max_bytes: int) -> None:
        self._n_rows, self._left, self._is_lean = n_rows, max_bytes, False
        self._large, self._filled = dict[str, Any](), np.zeros(n_rows, dtype=bool)

    def keep(self, cloud: Perturbations, start: int) -> Perturbations | None:
        """Keep the samples of rows from ``start`` on; give the rest of their cloud, or None where there is no room."""
        is_first, share = not self._filled.any(), self._n_rows / max(1, len(cloud))
        if is_first:
            self._is_lean = cloud.nbytes * share > self._left
        cloud = in_less_room(cloud) if self._is_lean else cloud
        self._left -= cloud.nbytes
        if self._left < 0 or (is_first and cloud.nbytes * (share - 1) > self._left):
            return None
        if len(cloud) == self._n_rows:  # the only block
            return cloud
        rows = slice(start, start + len(cloud))
        self._filled[rows] = True
        own = {name: getattr(cloud, name) for name in LARGE}
        for name, part in own.items():
            if is_first and part is not None:
                self._large[name] = np.zeros(
                    (self._n_rows, *part.shape[1:]), dtype=part.dtype
                )  # no memory until filled
            if part is None:
                self._large.pop(name, None)
            elif name in self._large:
                self._large[name][rows] = part
        # a view would keep the whole alive
        return replace(cloud, **{name: part[:, :0].copy() for name, part in own.items() if part is not None})

    def restore(self, cloud: Perturbations) -> Perturbations:
        """The cloud of all rows with what is kept here; rows that could not be explained lack it."""
        if not self._large:
            return cloud
        if "outputs" in self._large:
            self._large["outputs"][~self._filled] = np.nan
        return replace(cloud, **{"outputs": None, **self._large})


def in_less_room(cloud: Perturbations) -> Perturbations:
    """The same cloud with weights in single precision, and without what the model predicted."""
    weights: Any = {name: in_single(getattr(cloud, name)) for name in WEIGHTS}
    return replace(cloud, **weights, outputs=None)


def in_single(weights: Array) -> Array:
    """Weights in half the room, each on its side of one half."""
    single, half = weights.astype(np.float32), np.float32(0.5)
    return np.where(weights > 0.5, np.maximum(single, np.nextafter(half, np.float32(1))), np.minimum(single, half))
