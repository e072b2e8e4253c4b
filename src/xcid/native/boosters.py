"""Trees of XGBoost, LightGBM and CatBoost, read from what they write about themselves; none is imported."""

from __future__ import annotations

import json
import math
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xcid.native.ensemble import (
    Ensemble,
    Tree,
    check_size,
    listed,
    single,
    single_logistic,
    single_logit,
    single_several,
    swapped,
)
from xcid.native.models import Link, exponential, first, logistic, several
from xcid.native.seen import Kind, Look, Seen, as_codes, attributes
from xcid.records import Array

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


def _categories(written: dict[str, Any]) -> list[Any] | None:
    """Numbers as they are, texts from their bytes; None for texts beyond ASCII, of which too few bytes are written."""
    values, ends = written["values"], written.get("offsets")
    if ends is None:
        return list(values)
    return [bytes(values[start:end]).decode() for start, end in pairwise(ends)] if min(values) >= 0 else None


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


DEEPEST = 16  # trees whose levels have one split each
CATBOOST: dict[str, Link] = {
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
    link = CATBOOST.get(written["model_info"]["params"]["loss_function"]["type"])
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
    return Ensemble(found, np.array(bias, dtype=np.float64) / scale, single, partial(scaled, scale, link), quickly=True)


def scaled(scale: float, link: Link, sums: Array) -> Array:
    """Outputs from sums in units of their own."""
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
    nodes, firsts = listed(root, _branches)
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


def _branches(node: dict[str, Any]) -> tuple[Any, ...]:
    return (node["left"], node["right"]) if "split" in node else ()


def _xgboost_bytes(booster: Any) -> Iterable[Any]:
    return (booster.save_raw("ubj"),)


def _lightgbm_text(booster: Any) -> Iterable[Any]:
    return booster.best_iteration, booster.model_to_string(num_iteration=-1).encode()


def _catboost_bytes(model: Any) -> Iterable[Any]:
    return (model._serialize_model(),)  # noqa: SLF001


CLASSES = ("Classifier", "Regressor")
XGB = [("xgboost", f"XGB{kind}{name}") for kind in ("", "RF") for name in CLASSES]
LGBM = [("lightgbm", f"LGBM{name}") for name in CLASSES]
CAT = [("catboost", f"CatBoost{name}") for name in ("", *CLASSES)]
READINGS: dict[Kind, Callable[[Any], Ensemble | None]] = {
    **dict.fromkeys(XGB, xgboost_model),
    ("xgboost", "Booster"): xgboost_booster,
    **dict.fromkeys(LGBM, lightgbm_model),
    ("lightgbm", "Booster"): lightgbm_booster,
    **dict.fromkeys(CAT, catboost_model),
}
CELLS: dict[Kind, Callable[[Any, Seen], Seen]] = {
    **dict.fromkeys([*XGB, ("xgboost", "Booster")], xgboost_cells),
    **dict.fromkeys([*LGBM, ("lightgbm", "Booster")], lightgbm_cells),
}
LOOKS: dict[Kind, Look] = {
    **dict.fromkeys(XGB, attributes("_Booster", "missing", "n_classes_", "enable_categorical")),
    ("xgboost", "Booster"): _xgboost_bytes,
    **dict.fromkeys(LGBM, attributes("_Booster", "_le", "_classes", "_class_map", "_objective")),
    ("lightgbm", "Booster"): _lightgbm_text,
    **dict.fromkeys(CAT, _catboost_bytes),
}
