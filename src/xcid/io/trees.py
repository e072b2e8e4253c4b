"""Trees from files, looked through before they are asked.

Compiled code follows the indices of a tree without looking whether they lie within it: a file that was made to do harm,
or that is damaged, would crash the process or make it read memory that is none of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from xcid.errors import InvalidFile
from xcid.io import fitted

FAMILIES = (
    "sklearn.tree.",
    "sklearn.ensemble._forest",
    "sklearn.ensemble._gb",
    "sklearn.ensemble._hist_gradient_",
    "sklearn.ensemble._iforest",
)
LEAF = -1
BITSET_WORDS = 8  # 256 categories in words of 32 bits


def check(model: Any) -> None:
    """Refuse a model with a tree whose indices leave it, in whatever part of the model it is."""
    seen: set[int] = set()
    stack: list[tuple[Any, Any, float]] = [(model, None, np.inf)]
    while stack:
        part, owner, width = stack.pop()
        if id(part) in seen and not _kind(part):
            continue  # a tree that two models share is checked with each of them
        seen.add(id(part))
        checked = CHECKS.get(_kind(part))
        if checked is not None:
            checked(part, owner, width)
            continue
        fitted.check(part)
        if type(part).__module__.startswith(FAMILIES):  # an ensemble hands its rows on as they are
            width, owner = min(width, getattr(part, "n_features_in_", np.inf)), part
        elif not isinstance(part, list | tuple | dict | np.ndarray):
            width, owner = np.inf, part
        stack.extend((inner, owner, width) for inner in _parts(part))


def _kind(part: Any) -> str:
    name = type(part).__name__
    return name if name in CHECKS and type(part).__module__.startswith("sklearn.") else ""


def _parts(part: Any) -> Iterator[Any]:
    if isinstance(part, dict):
        yield from part.values()
    elif isinstance(part, list | tuple):
        yield from part
    elif isinstance(part, np.ndarray):
        yield from np.asarray(part).ravel().tolist() if part.dtype == object else ()  # those under a mask too
    elif type(part).__module__.startswith(("sklearn.", "xgboost.", "lightgbm.")):
        yield from getattr(part, "__dict__", {}).values()


def _tree(tree: Any, owner: Any, width: float) -> None:
    if not 0 < tree.node_count <= tree.capacity:
        raise _damaged(f"says it has {tree.node_count:,} nodes, and has {tree.capacity:,}")
    left, right = tree.children_left, tree.children_right
    _check_children(left[left != LEAF], right[left != LEAF], np.flatnonzero(left != LEAF), tree.node_count)
    _check_features(tree.feature[left != LEAF], min(width, tree.n_features))


def _predictor(predictor: Any, owner: Any, width: float) -> None:
    nodes = predictor.nodes
    inner = np.flatnonzero(nodes["is_leaf"] == 0)
    if not len(nodes):
        raise _damaged("has no nodes")
    _check_children(nodes["left"][inner], nodes["right"][inner], inner, len(nodes))
    _check_features(nodes["feature_idx"][inner], width)
    levels = inner[nodes["is_categorical"][inner] != 0]
    if len(levels):
        known = getattr(getattr(owner, "_bin_mapper", None), "is_categorical_", np.zeros(0))
        sets = predictor.raw_left_cat_bitsets
        _check_features(nodes["feature_idx"][levels], len(known))
        is_known = np.all(known[nodes["feature_idx"][levels]])
        if not is_known or sets.shape[1:] != (BITSET_WORDS,) or nodes["bitset_idx"][levels].max() >= len(sets):
            raise _damaged("asks for categories that it does not have")


def _neighbours(tree: Any, owner: Any, width: float) -> None:
    data, order, nodes, bounds, _, n_levels, n_nodes, *_, metric, _ = tree.__getstate__()
    sides = 2 if type(tree).__name__ == "KDTree" else 1
    if not type(metric).__module__.startswith("sklearn.metrics."):
        raise _damaged("has no measure of distance")
    if not len(data) or len(nodes) != n_nodes or bounds.shape != (sides, n_nodes, data.shape[1]):
        raise _damaged(f"says it has {n_nodes:,} nodes, and has {len(nodes):,}")
    if not np.array_equal(np.sort(order), np.arange(len(data))) or n_nodes != 2**n_levels - 1:
        raise _damaged("does not hold each of its rows once")
    starts, ends = nodes["idx_start"], nodes["idx_end"]
    if np.any(starts < 0) or np.any(ends > len(data)) or np.any(starts > ends):
        raise _damaged("has nodes with rows that it does not have")
    if np.any(nodes["is_leaf"][n_nodes // 2 :] == 0):
        raise _damaged("has no end")


def _check_children(left: Any, right: Any, parents: Any, n_nodes: int) -> None:
    """Children come after their parents: then no way through the tree goes round in circles."""
    for children in (left.astype(np.int64), right.astype(np.int64)):
        if np.any(children <= parents) or np.any(children >= n_nodes):
            raise _damaged(f"has children beyond its {n_nodes:,} nodes, or before their parents")


def _check_features(features: Any, width: float) -> None:
    if np.any(features.astype(np.int64) < 0) or np.any(features >= width):
        raise _damaged(f"asks for a feature beyond the {width:,.0f} that there are")


def _damaged(what: str) -> InvalidFile:
    return InvalidFile(f"a tree of this model {what}: the file is damaged, or was made to do harm")


CHECKS: dict[str, Callable[[Any, Any, float], None]] = {
    "Tree": _tree,
    "TreePredictor": _predictor,
    "KDTree": _neighbours,
    "BallTree": _neighbours,
}
