"""Trees as ``nearest.c`` searches them: features in cells, and leaves that add to conditions."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from xcid.records import Array, Flags, Integers, Unsigned

STOPPED, PROVED, NONE = 0, 1, 2
MOST_CONDITIONS, MOST_LEVELS = 64, 64
_PROBLEM = (
    "feature",
    "left",
    "right",
    "cut",
    "mask",
    "value",
    "root",
    "list_tree",
    "list_condition",
    "is_set",
    "start",
)
_SIZES = ("n_features", "n_trees", "n_nodes", "n_lists", "n_conditions")
_QUERY = ("own", "cost", "own_left", "need")
_LIMITS = ("incumbent", "tolerance", "most_work", "seconds", "most_bytes")


class _Problem(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_void_p) for name in _PROBLEM), *((name, ctypes.c_int64) for name in _SIZES)]


class _Query(ctypes.Structure):
    _fields_ = [*((name, ctypes.c_void_p) for name in _QUERY), *((name, ctypes.c_double) for name in _LIMITS)]


class _Answer(ctypes.Structure):
    _fields_ = [("cells", ctypes.c_void_p), *((name, ctypes.c_double) for name in ("cost", "lower", "work", "nodes"))]


class Nodes(NamedTuple):
    """All nodes of an ensemble as cells divide them; ``feature`` is -1 at leaves."""

    feature: Integers
    left: Integers
    right: Integers
    cut: Integers  # the last cell that goes left
    mask: Unsigned  # the levels that go left
    root: Integers  # (t,) of each tree


class Solved(NamedTuple):
    """What became of a search: ``cells`` are None where nothing beats the incumbent; nothing costs below ``lower``."""

    status: int
    cost: float
    lower: float
    cells: Integers | None
    work: float


class Limits(NamedTuple):
    """When a search stops: leaves and nodes that are looked at, seconds (0: never), and bytes."""

    work: float
    seconds: float
    memory: float


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Conditions on an ensemble, by (c, nodes) values that leaves add to each of them."""

    record: _Problem
    arrays: tuple[Any, ...]  # that the record points into
    n_features: int

    @staticmethod
    def of(nodes: Nodes, value: Array, is_set: Flags, start: Integers) -> Problem:
        """Put together what ``nearest.c`` reads; ``start`` (f + 1,) says where the costs of a feature begin."""
        ends = np.append(nodes.root, len(nodes.feature))
        there = np.array([np.any(value[:, a:b] != 0, axis=1) for a, b in pairwise(ends)])
        tree, condition = np.nonzero(there.reshape(len(nodes.root), len(value)))
        small = (np.ascontiguousarray(part, dtype=np.int32) for part in nodes[:4])
        arrays: tuple[Any, ...] = (
            *small,
            np.ascontiguousarray(nodes.mask, dtype=np.uint64),
            np.ascontiguousarray(value, dtype=np.float64),
            np.ascontiguousarray(nodes.root, dtype=np.int64),
            tree.astype(np.int32),
            condition.astype(np.int32),
            np.ascontiguousarray(is_set, dtype=np.uint8),
            np.ascontiguousarray(start, dtype=np.int64),
        )
        sizes = len(is_set), len(nodes.root), len(nodes.feature), len(tree), len(value)
        return Problem(_Problem(*(part.ctypes.data for part in arrays), *sizes), arrays, len(is_set))

    def solve(
        self, library: Any, own: Integers, own_left: Flags, cost: Array, need: Array, incumbent: float, limits: Limits
    ) -> Solved:
        """Find the cheapest cells with which every condition exceeds its (c,) need; cells cost 0 up to infinity."""
        arrays = (
            np.ascontiguousarray(own, dtype=np.int32),
            np.ascontiguousarray(cost, dtype=np.float64),
            np.ascontiguousarray(own_left, dtype=np.uint8),
            np.ascontiguousarray(need, dtype=np.float64),
        )
        finite = cost[np.isfinite(cost)]
        tolerance = 1e-9 + 1e-14 * float(finite.max(initial=0.0)) * self.n_features
        query = _Query(*(part.ctypes.data for part in arrays), incumbent, tolerance, *limits)
        cells = np.full(self.n_features, -1, dtype=np.int32)
        answer = _Answer(cells.ctypes.data)
        status = library.xcid_nearest(ctypes.byref(self.record), ctypes.byref(query), ctypes.byref(answer))
        found = cells.astype(np.int64) if answer.cost < incumbent else None
        return Solved(status, answer.cost, answer.lower, found, answer.work)
