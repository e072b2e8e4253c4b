"""Trees of CatBoost, read from the file that a model writes about itself; the package is not imported."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xcid.native.ensemble import Ensemble, Link, Tree, check_size, exponential, first, listed, logistic, several, single
from xcid.records import Array

DEEPEST = 16  # trees whose levels have one split each
LOSSES: dict[str, Link] = {
    **dict.fromkeys(("Logloss", "CrossEntropy"), logistic),
    "MultiClass": several,
    **dict.fromkeys(("RMSE", "MAE", "Quantile", "Huber", "LogCosh", "Expectile", "MAPE"), first),
    **dict.fromkeys(("Poisson", "Tweedie"), exponential),
}


def catboost_model(model: Any) -> Ensemble | None:
    """Cells above a border go right, in single precision; splits on levels and on statistics of them are not read."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        model.save_model(str(path), format="json")
        written = json.loads(path.read_text(encoding="utf-8"))
    link = LOSSES.get(written["model_info"]["params"]["loss_function"]["type"])
    scale, bias = written["scale_and_bias"]
    columns = {
        one["feature_index"]: (one["flat_feature_index"], one.get("nan_value_treatment") != "AsTrue")
        for one in written["features_info"].get("float_features", ())
    }
    whole, grown = written.get("oblivious_trees", ()), written.get("trees", ())
    n_leaves = sum(len(one["leaf_values"]) for one in whole) // len(bias)
    if any(len(one["leaf_values"]) != len(bias) * 2 ** min(len(one["splits"] or ()), DEEPEST) for one in whole):
        return None
    check_size(len(whole) + len(grown), n_leaves, len(bias))
    trees = [_oblivious(one, columns, len(bias)) for one in whole] + [_grown(one, columns, len(bias)) for one in grown]
    found = tuple(tree for tree in trees if tree is not None)
    if link is None or len(found) < len(trees):
        return None
    return Ensemble(
        found, np.array(bias, dtype=np.float64) / scale, single, partial(_scaled, scale, link), quickly=True
    )


def _scaled(scale: float, link: Link, sums: Array) -> Array:
    return link(scale * sums)


def _oblivious(tree: dict[str, Any], columns: dict[int, tuple[int, bool]], n_sums: int) -> Tree | None:
    """All nodes of a level have the same split, and the last one comes first: its answer is the highest bit."""
    splits = tree["splits"] or ()
    if any(split["split_type"] != "FloatFeature" for split in splits):
        return None
    n_inner = 2 ** len(splits) - 1
    levels = [split for level, split in enumerate(reversed(splits)) for _ in range(2**level)]
    leaf = [0.0] * (n_inner + 1)
    below = np.arange(n_inner)
    value = np.zeros((2 * n_inner + 1, n_sums))
    value[n_inner:] = np.reshape(tree["leaf_values"], (n_inner + 1, n_sums))
    return Tree(
        np.array([*(columns[one["float_feature_index"]][0] for one in levels), *(-1 for _ in leaf)]),
        np.array([*(one["border"] for one in levels), *leaf]),
        np.concatenate([2 * below + 1, np.full(n_inner + 1, -1)]),
        np.concatenate([2 * below + 2, np.full(n_inner + 1, -1)]),
        np.array([*(columns[one["float_feature_index"]][1] for one in levels), *(False for _ in leaf)]),
        value,
    )


def _grown(root: dict[str, Any], columns: dict[int, tuple[int, bool]], n_sums: int) -> Tree | None:
    """Nodes that are split one by one."""
    nodes, firsts = listed(root, _children)
    if any("split" in node and node["split"]["split_type"] != "FloatFeature" for node in nodes):
        return None
    splits = [
        (*columns[node["split"]["float_feature_index"]], node["split"]["border"])
        if "split" in node
        else (-1, False, 0.0)
        for node in nodes
    ]
    feature, missing_left, border = map(np.array, zip(*splits, strict=True))
    value = np.array([np.broadcast_to(node.get("value", 0.0), n_sums) for node in nodes], dtype=np.float64)
    left = np.array(firsts)
    return Tree(feature, border, left, np.where(left < 0, -1, left + 1), missing_left, value)


def _children(node: dict[str, Any]) -> tuple[Any, ...]:
    return (node["left"], node["right"]) if "split" in node else ()
