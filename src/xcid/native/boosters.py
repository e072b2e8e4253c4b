"""Trees of XGBoost and LightGBM, read from what they write about themselves; neither is imported."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from xcid.native.ensemble import Ensemble, Link, Tree, exponential, first, logistic, several, single
from xcid.records import Array, Integers


def single_logistic(sums: Array) -> Array:
    """Probabilities of two classes as XGBoost rounds them: log odds tell the difference where they are close to 1."""
    second = 1 / (np.exp(-sums).astype(np.float32) + np.float32(1))
    return np.concatenate([1 - second, second], axis=-1).astype(np.float64)


def single_logit(shares: Array) -> Array:
    """Log odds as XGBoost rounds them."""
    odds = 1 / shares.astype(np.float32) - np.float32(1)
    return -np.log(odds.astype(np.float64))


def single_several(sums: Array) -> Array:
    """Probabilities of several classes as XGBoost rounds them."""
    apart = sums.astype(np.float32) - sums.max(axis=-1, keepdims=True).astype(np.float32)
    shares = np.exp(apart.astype(np.float64)).astype(np.float32)
    total = shares.astype(np.float64).sum(axis=-1, keepdims=True).astype(np.float32)
    return (shares / total).astype(np.float64)


# What sums are by the objective, and what the base score becomes before it is added to them.
XGBOOST: dict[str, tuple[Link, Callable[[Array], Array]]] = {
    "binary:logistic": (single_logistic, single_logit),
    "multi:softprob": (single_several, np.asarray),
    "reg:squarederror": (first, np.asarray),
    "reg:absoluteerror": (first, np.asarray),
    "reg:pseudohubererror": (first, np.asarray),
    "count:poisson": (exponential, np.log),
    "reg:gamma": (exponential, np.log),
    "reg:tweedie": (exponential, np.log),
}
LIGHTGBM: dict[str, Link] = {
    "multiclass": several,
    "cross_entropy": logistic,
    **dict.fromkeys(("regression", "regression_l1", "huber", "fair", "quantile", "mape"), first),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), exponential),
}

TINY = float(np.float32(1e-35))  # what counts as 0 to LightGBM


def xgboost_model(model: Any, order: Integers) -> Ensemble | None:
    """A model with scikit-learn's manners, up to the round at which its training stopped."""
    if not math.isnan(model.missing):
        return None
    stopped: int | None = getattr(model, "best_iteration", None)
    booster = model.get_booster()
    return xgboost_booster(booster if stopped is None else booster[: stopped + 1], order)


def xgboost_booster(booster: Any, order: Integers) -> Ensemble | None:
    """Cells below a threshold go left, in single precision; splits on levels and dropped trees are not read."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    boosted, objective = learner["gradient_booster"], learner["objective"]["name"]
    if boosted["name"] != "gbtree" or objective not in XGBOOST:
        return None
    trees, slots = boosted["model"]["trees"], boosted["model"]["tree_info"]
    if any(any(tree["split_type"]) or int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        return None
    link, start = XGBOOST[objective]
    scores = np.array(json.loads(f"[{learner['learner_model_param']['base_score'].strip('[]')}]"), dtype=np.float64)
    base = single(start(scores) + np.zeros(max(slots) + 1))
    return Ensemble(tuple(map(partial(_of_xgboost, order), trees, slots)), base, single, link, np.float32)


def _of_xgboost(order: Integers, tree: dict[str, Any], slot: int) -> Tree:
    left, right, feature = (np.array(tree[key]) for key in ("left_children", "right_children", "split_indices"))
    conditions, is_leaf = np.array(tree["split_conditions"], dtype=np.float32), left < 0
    below = np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64)  # less than: at most the number before
    missing = np.array(tree["default_left"]).astype(bool)
    columns = np.where(is_leaf, -1, order[np.where(is_leaf, 0, feature)])
    return Tree(columns, below, left, right, missing, conditions[:, None].astype(np.float64), slot)


def lightgbm_model(model: Any, order: Integers) -> Ensemble | None:
    """A model with scikit-learn's manners."""
    return lightgbm_booster(model.booster_, order)


def lightgbm_booster(booster: Any, order: Integers) -> Ensemble | None:
    """Cells at most as large as a threshold go left; splits on levels and zeros that count as missing are not read."""
    dump = booster.dump_model()
    objective, _, settings = dump["objective"].partition(" ")
    if objective == "binary":
        slope = float(dict(one.split(":") for one in settings.split())["sigmoid"])
        link: Link | None = partial(steep, slope)
    else:
        link = LIGHTGBM.get(objective) if "sqrt" not in settings else None
    trees = [
        _of_lightgbm(order, one["tree_structure"], at % dump["num_tree_per_iteration"])
        for at, one in enumerate(dump["tree_info"])
    ]
    found = tuple(tree for tree in trees if tree is not None)
    if link is None or len(found) < len(trees):
        return None
    return Ensemble(found, np.zeros(dump["num_tree_per_iteration"]), flushed, link)


def flushed(rows: Array) -> Array:
    """Cells without those that are as good as 0 to LightGBM."""
    return np.where(np.abs(rows) <= TINY, 0.0, rows)


def steep(slope: float, sums: Array) -> Array:
    """Probabilities of two classes, from log odds in units of their own."""
    return logistic(slope * sums)


def _of_lightgbm(order: Integers, root: dict[str, Any], slot: int) -> Tree | None:
    nodes, rows = [root], list[tuple[int, float, int, int, bool, float]]()
    for node in nodes:  # grows on the way
        if "split_feature" not in node:
            rows.append((-1, 0.0, -1, -1, False, node["leaf_value"]))
            continue
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            return None
        threshold, left = float(node["threshold"]), len(nodes)
        nodes += [node["left_child"], node["right_child"]]
        missing = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0  # else it counts as 0
        rows.append((int(order[node["split_feature"]]), threshold, left, left + 1, missing, 0.0))
    feature, threshold_, left_, right, missing_left, value = map(np.array, zip(*rows, strict=True))
    return Tree(feature, threshold_, left_, right, missing_left.astype(bool), value[:, None].astype(np.float64), slot)
