"""Flips among the samples of an explanation: the nearest, and the most diverse."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xcid._check import as_int, position_of
from xcid._kernels.arrays import same
from xcid.cid.generators.reach import Metric
from xcid.errors import EvidenceNotKept, NotEnoughFlips
from xcid.records import Array, Explanation, Flags, Integers
from xcid.table import Backend, frame_of


def frame_flips(explanation: Explanation, row: int, nearest: int, diverse: int, backend: Backend) -> Any:
    """Give the nearest and the most diverse flips of one row, one line each.

    Columns: kind ("nearest" or "diverse"), changes ("Glucose 148 -> 112, Age 50 -> 31"), n_changes, distance (in mean
    absolute deviations of each column; 1 for another level).
    """
    found = find_flips(explanation, row, nearest, diverse)
    changes = [
        _word_changes(explanation, row, flip, moved) for flip, moved in zip(found.rows, found.moved, strict=True)
    ]
    return frame_of(
        {
            "kind": list(found.kinds),
            "changes": changes,
            "n_changes": found.moved.sum(axis=1),
            "distance": found.distance,
        },
        backend,
    )


class Flips(NamedTuple):
    """Some perturbations that flip one row: (k, c) rows, what kind they are, what changed, how far they are.

    ``outputs`` (k, o) are what the model predicts for them, where that was kept.
    """

    rows: Array
    kinds: tuple[str, ...]
    moved: Flags
    distance: Array
    outputs: Array | None


def find_flips(explanation: Explanation, row: int, nearest: int, diverse: int) -> Flips:
    """Find the nearest and the most diverse flips of one row among its samples."""
    row = position_of(row, len(explanation), "row")
    wanted = as_int(nearest, "nearest", at_least=0), as_int(diverse, "diverse", at_least=0)
    if explanation.cloud is None:
        raise EvidenceNotKept("the samples behind these scores were not kept: explain this row by itself")
    cloud = explanation.cloud[row : row + 1]
    is_flip = cloud.positive[0] > 0.5
    found, first = _drop_repeats(cloud.samples[0][is_flip])
    if not len(found):
        raise NotEnoughFlips(
            f"row {row} has no perturbation that flips the output in {explanation.n_evaluations[row]:,} evaluations: "
            "search with generator=xcid.generators.Growing(), or relax the constraints"
        )
    scales = np.array(explanation.details.scales)
    metric = Metric(scales, cloud.discrete, np.arange(found.shape[1]))
    distance = metric.between(found, cloud.origin[0])
    near = np.argsort(distance, kind="stable")[: wanted[0]]
    far = _choose_diverse(found, near, wanted[1], metric)
    chosen = np.concatenate([near, far])
    kinds = ("nearest",) * len(near) + ("diverse",) * len(far)
    outputs = None if cloud.outputs is None else cloud.outputs[0][is_flip][first[chosen]]
    return Flips(found[chosen], kinds, ~same(found[chosen], cloud.origin[0]), distance[chosen], outputs)


def _word_changes(explanation: Explanation, row: int, flip: Array, moved: Flags) -> str:
    cell, own = explanation.details.cell, explanation.data[row]
    names, changed = explanation.details.column_names, np.flatnonzero(moved).tolist()
    return ", ".join(f"{names[at]} {cell(own[at], at)} -> {cell(flip[at], at)}" for at in changed)


def _drop_repeats(samples: Array) -> tuple[Array, Integers]:
    """Every sample once, and where it is first."""
    distinct, first = np.unique(np.where(np.isnan(samples), np.inf, samples), axis=0, return_index=True)
    return np.where(np.isinf(distinct), np.nan, distinct), first


def _choose_diverse(flips: Array, taken: Integers, count: int, metric: Metric) -> Integers:
    """Add one after the other the flip that is farthest from all that are taken."""
    chosen: list[int] = []
    left = np.full(len(flips), np.inf)
    for at in taken:
        left = np.minimum(left, metric.between(flips, flips[at]))
    while len(chosen) < count and left.max(initial=0.0) > 0:  # what is taken is 0 from itself
        chosen.append(int(np.argmax(left)))
        left = np.minimum(left, metric.between(flips, flips[chosen[-1]]))
    return np.array(chosen, dtype=np.int64)
