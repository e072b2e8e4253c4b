"""Trees of XGBoost and LightGBM, read from what they write about themselves; neither is imported."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from xcid.native.ensemble import (
    Ensemble,
    Link,
    Tree,
    check_size,
    exponential,
    first,
    listed,
    logistic,
    several,
    single,
    swapped,
)
from xcid.native.seen import Seen, as_codes
from xcid.records import Array


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


def xgboost_model(model: Any) -> Ensemble | None:
    """A model with scikit-learn's manners, up to the round at which its training stopped."""
    if not math.isnan(model.missing):
        return None
    stopped: int | None = getattr(model, "best_iteration", None)
    booster = model.get_booster()
    return xgboost_booster(booster if stopped is None else booster[: stopped + 1])


def xgboost_booster(booster: Any) -> Ensemble | None:
    """Cells below a threshold go left, in single precision; trees that were dropped at times have weights."""
    learner = json.loads(bytes(booster.save_raw("json")))["learner"]
    boosted, objective = learner["gradient_booster"], learner["objective"]["name"]
    if boosted["name"] not in ("gbtree", "dart") or objective not in XGBOOST:
        return None
    grown = (boosted.get("gbtree") or boosted)["model"]
    trees, slots = grown["trees"], grown["tree_info"]
    if any(int(tree["tree_param"]["size_leaf_vector"]) > 1 for tree in trees):
        return None
    check_size(len(trees), sum(len(tree["left_children"]) for tree in trees), max(slots) + 1)
    weights = boosted.get("weight_drop", grown.get("weight_drop")) or [1.0] * len(trees)  # newer versions: with trees
    link, start = XGBOOST[objective]
    scores = np.array(json.loads(f"[{learner['learner_model_param']['base_score'].strip('[]')}]"), dtype=np.float64)
    base = single(start(scores) + np.zeros(max(slots) + 1))
    found = tuple(_of_xgboost(*one) for one in zip(trees, slots, weights, strict=True))
    return Ensemble(found, base, single, link, np.float32)


def _of_xgboost(tree: dict[str, Any], slot: int, weight: float) -> Tree:
    left, right, feature = (np.array(tree[key]) for key in ("left_children", "right_children", "split_indices"))
    conditions, is_leaf = np.array(tree["split_conditions"], dtype=np.float32), left < 0
    below = np.nextafter(conditions, np.float32(-np.inf)).astype(np.float64)  # less than: at most the number before
    missing = np.array(tree["default_left"]).astype(bool)
    value = single(weight * conditions[:, None].astype(np.float64))
    sets = {
        node: frozenset(tree["categories"][start : start + size])
        for node, start, size in zip(
            tree["categories_nodes"], tree["categories_segments"], tree["categories_sizes"], strict=True
        )
    }
    return Tree(np.where(is_leaf, -1, feature), below, left, right, missing, value, slot, sets)


def xgboost_cells(model: Any, seen: Seen) -> Seen:
    """Levels by the codes that a model remembers; models of old versions take those of the frame."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    if "c" not in (booster.feature_types or ()):
        return seen
    boosted = json.loads(bytes(booster.save_raw("json")))["learner"]["gradient_booster"]
    known = (boosted.get("gbtree") or boosted)["model"].get("cats", {}).get("enc", ())
    return seen.by(partial(as_codes, [_categories(one) for one in known if one["values"]]))


def _categories(written: dict[str, Any]) -> list[Any]:
    """Numbers as they are, texts from their bytes."""
    values, ends = written["values"], written.get("offsets")
    if ends is None:
        return list(values)
    return [bytes(values[start:end]).decode() for start, end in pairwise(ends)]


def lightgbm_model(model: Any) -> Ensemble | None:
    """A model with scikit-learn's manners."""
    return lightgbm_booster(model.booster_)


def lightgbm_booster(booster: Any) -> Ensemble | None:
    """Cells at most as large as a threshold go left; models to which zeros count as missing are not read."""
    n_sums = booster.num_model_per_iteration()
    check_size(booster.num_trees(), 0, n_sums)
    dump = booster.dump_model()
    objective, _, settings = dump["objective"].partition(" ")
    if objective == "binary":
        slope = float(dict(one.split(":") for one in settings.split())["sigmoid"])
        link: Link | None = partial(steep, slope)
    else:
        link = LIGHTGBM.get(objective) if "sqrt" not in settings else None
    check_size(len(dump["tree_info"]), sum(int(one["num_leaves"]) for one in dump["tree_info"]), n_sums)
    trees = [_of_lightgbm(one["tree_structure"], at % n_sums) for at, one in enumerate(dump["tree_info"])]
    found = tuple(tree for tree in trees if tree is not None)
    if link is None or len(found) < len(trees):
        return None
    return Ensemble(found, np.zeros(n_sums), flushed, link)


def lightgbm_cells(model: Any, seen: Seen) -> Seen:
    """Levels by the codes that a model remembers."""
    known = getattr(model, "booster_", model).pandas_categorical
    return seen.by(partial(as_codes, known)) if known else seen


def flushed(rows: Array) -> Array:
    """Cells without those that are as good as 0 to LightGBM."""
    return np.where(np.abs(rows) <= TINY, 0.0, rows)


def steep(slope: float, sums: Array) -> Array:
    """Probabilities of two classes, from log odds in units of their own."""
    return logistic(slope * sums)


def _of_lightgbm(root: dict[str, Any], slot: int) -> Tree | None:
    nodes, firsts = listed(root, _children)
    rows, sets = list[tuple[int, float, bool, float]](), dict[int, frozenset[int]]()
    for at, node in enumerate(nodes):
        if firsts[at] < 0:
            rows.append((-1, 0.0, False, node["leaf_value"]))
            continue
        if node["missing_type"] == "Zero" or node["decision_type"] not in ("<=", "=="):
            return None
        if node["decision_type"] == "==":  # levels go left, missing cells right
            sets[at] = frozenset(map(int, node["threshold"].split("||")))
            rows.append((node["split_feature"], 0.0, False, 0.0))
            continue
        threshold = float(node["threshold"])
        missing = node["default_left"] if node["missing_type"] == "NaN" else threshold >= 0  # else it counts as 0
        rows.append((node["split_feature"], threshold, missing, 0.0))
    feature, thresholds, missing_left, value = map(np.array, zip(*rows, strict=True))
    left = np.array(firsts)
    right = np.where(left < 0, -1, left + 1)
    missing_left, value = missing_left.astype(bool), value[:, None].astype(np.float64)
    return swapped(Tree(feature, thresholds, left, right, missing_left, value, slot, sets))


def _children(node: dict[str, Any]) -> tuple[Any, ...]:
    return (node["left_child"], node["right_child"]) if "split_feature" in node else ()
