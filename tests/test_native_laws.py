"""Laws of reading: random ensembles of every library say what they answer, and damaged ones are asked about."""

from __future__ import annotations

import ctypes
import json
import logging
import shutil
import types
import warnings

import numpy as np
import pandas as pd
import pytest
import sklearn
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.ensemble import (
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

import xcid
from xcid._kernels.random import run_key
from xcid.generators import Balanced
from xcid.native import library, read, trees

N_ROWS = 120


@pytest.fixture(scope="module", params=["numpy", "compiled"])
def form(request, tmp_path_factory):
    found = None
    if request.param == "compiled":
        if not any(map(shutil.which, library.COMPILERS)):
            pytest.skip("there is no C compiler")
        found = ctypes.CDLL(str(library.build(tmp_path_factory.mktemp("built") / "bits.so"))).xcid_sums
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trees, "loaded", lambda: found)
        yield request.param


def pair(classifier, regressor):
    return lambda n_classes, **more: (classifier if n_classes else regressor)(**more)


def forest(n_classes, depth, seed):
    make = pair(RandomForestClassifier, RandomForestRegressor)
    return make(n_classes, n_estimators=6, max_depth=depth, random_state=seed)


def extra_trees(n_classes, depth, seed):
    return pair(ExtraTreesClassifier, ExtraTreesRegressor)(
        n_classes, n_estimators=5, max_depth=depth, random_state=seed
    )


def boosting(n_classes, depth, seed):
    make = pair(GradientBoostingClassifier, GradientBoostingRegressor)
    return make(n_classes, n_estimators=5, max_depth=depth, random_state=seed)


def histograms(n_classes, depth, seed):
    make = pair(HistGradientBoostingClassifier, HistGradientBoostingRegressor)
    more = {"categorical_features": "from_dtype"}  # as is usual from scikit-learn 1.6 on; 1.5 warns if nothing is said
    return make(n_classes, max_iter=6, max_depth=depth, min_samples_leaf=3, random_state=seed, **more)


def xgboost(n_classes, depth, seed):
    found = pytest.importorskip("xgboost")
    more = {
        "enable_categorical": True,
        "max_cat_to_onehot": 1 + 5 * (seed % 2),
        "booster": ("gbtree", "dart")[seed % 2],
    }
    make = pair(found.XGBClassifier, found.XGBRegressor)
    return make(n_classes, n_estimators=6, max_depth=depth, n_jobs=1, random_state=seed, **more)


def lightgbm(n_classes, depth, seed):
    found = pytest.importorskip("lightgbm")
    more = {"min_child_samples": 3, "min_data_per_group": 2, "cat_smooth": 1, "verbose": -1, "n_jobs": 1}
    make = pair(found.LGBMClassifier, found.LGBMRegressor)
    return make(
        n_classes, n_estimators=6, max_depth=depth, random_state=seed, max_cat_to_onehot=1 + 5 * (seed % 2), **more
    )


def catboost(n_classes, depth, seed):
    found = pytest.importorskip("catboost")
    more = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": seed}
    grow = ("SymmetricTree", "Lossguide", "Depthwise")[seed % 3]
    make = pair(found.CatBoostClassifier, found.CatBoostRegressor)
    return make(n_classes, iterations=6, depth=depth, grow_policy=grow, **more)


# What a library takes beside complete numbers.
LIBRARIES = {
    forest: {"missing"},
    extra_trees: {"missing"} if tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 6) else set(),
    boosting: set(),
    histograms: {"missing", "levels"},
    xgboost: {"missing", "levels"},
    lightgbm: {"missing", "levels"},
    catboost: {"missing"},
}


def drawn(random, decimals, takes):
    """A table with ties, missing cells and levels, as far as a library takes them."""
    cells = random.normal(size=(N_ROWS, 3)).round(decimals)
    if "missing" in takes:
        cells[random.random(cells.shape) < 0.1] = np.nan
    table = pd.DataFrame(cells, columns=list("abc"))
    if "levels" in takes:
        levels = random.permutation(["v", "w", "x", "y", "z"])[: random.integers(2, 6)]
        table["d"] = pd.Categorical(random.choice(levels, N_ROWS), categories=levels)
    return table


@pytest.mark.parametrize("make", LIBRARIES, ids=lambda make: make.__name__)
@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    seed=st.integers(0, 2**16),
    depth=st.integers(1, 7),
    n_classes=st.sampled_from([0, 2, 3, 5]),
    decimals=st.integers(0, 9),
    n=st.sampled_from([64, 100, 333]),
)
def test_random_ensembles_say_what_they_answer(make, form, seed, depth, n_classes, decimals, n):
    random = np.random.default_rng(seed)
    table = drawn(random, decimals, LIBRARIES[make])
    number = table["a"].fillna(0) * table["b"].fillna(1) + np.sin(3 * table["c"].fillna(0)) + random.normal(size=N_ROWS)
    if "d" in table:
        number += table["d"].isin(["v", "y"]) * 2
    bounds = np.quantile(number, np.arange(1, n_classes) / max(1, n_classes))
    model = make(n_classes, depth, seed).fit(table, np.digitize(number, bounds) if n_classes else number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        explainer = xcid.Explainer(model, table, generator=Balanced(n))
        predict = explainer.subject.predict
        assert predict.native is not None
        plan = explainer.setup.generator.draw(explainer.space, run_key(seed)).plan
        rows = explainer.space.rows[:9]
        asked = predict(plan.samples(rows).reshape(-1, rows.shape[1]))
        found = predict.native.planned(plan)(rows).reshape(asked.shape)
        alone = np.abs(predict.native.outputs(rows) - predict(rows)).max()
    precision = (1e-6 if make is xgboost else 1e-9) * max(1.0, np.abs(asked).max())
    assert np.abs(found - asked).max() <= precision
    assert alone <= precision


def damaged(kind, random, tree):
    """A tree of XGBoost with one thing wrong."""
    inner = np.flatnonzero(np.array(tree["left_children"]) >= 0)
    node = int(random.choice(inner))
    if kind == "cycle":
        tree["left_children"][node] = 0
    elif kind == "two parents":
        tree["left_children"][node] = tree["right_children"][node]
    elif kind == "itself":
        tree["right_children"][node] = node
    elif kind == "child out of range":
        tree["right_children"][node] = len(tree["left_children"]) + int(random.integers(9))
    elif kind == "threshold":
        tree["split_conditions"][node] = float("nan")
    elif kind == "leaf":
        tree["split_conditions"][tree["left_children"].index(-1)] = float("nan")
    elif kind == "column":
        tree["split_indices"][node] = 3 + int(random.integers(9))
    elif kind == "truncated":
        name = random.choice(["left_children", "right_children", "split_conditions", "default_left", "split_indices"])
        tree[name] = tree[name][: int(random.integers(len(tree[name])))]
    elif kind == "no such list":
        del tree[random.choice(["left_children", "split_conditions", "default_left", "tree_param", "categories_nodes"])]
    else:
        tree["left_children"] = {"left": "somewhere"}


DAMAGES = (
    *("cycle", "two parents", "itself", "child out of range", "threshold", "leaf", "column", "truncated"),
    *("no such list", "no list at all"),
)


def stub(package, name, **attributes):
    """An object of a class that goes by a library's name, and always gives the same answer."""
    kind = type(name, (), {"__module__": package, "predict_proba": lambda self, X: np.tile([0.4, 0.6], (len(X), 1))})
    found = kind()
    for attribute, value in attributes.items():
        setattr(found, attribute, value)
    return found


def is_read(model):
    """Whether a model gets a program at all, before anything compares its answers."""
    try:
        return read(model, list("abc")) is not None
    except (LookupError, ValueError, TypeError, AttributeError):  # which a predictor notes before it asks
        return False


@pytest.fixture(scope="module")
def trained():
    found = pytest.importorskip("xgboost")
    cells = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    model = found.XGBClassifier(n_estimators=3, max_depth=4, n_jobs=1).fit(cells, cells[:, 0] * cells[:, 1] > 0)
    return json.loads(bytes(model.get_booster().save_raw("json")))


def xgboost_stub(text):
    booster = types.SimpleNamespace(save_raw=lambda kind: text, feature_types=None)
    return stub("xgboost.sklearn", "XGBClassifier", missing=np.nan, get_booster=lambda: booster)


def test_whole_trees_are_read(trained):
    assert is_read(xgboost_stub(json.dumps(trained).encode()))


@pytest.mark.parametrize("damage", DAMAGES)
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**16))
def test_damaged_trees_are_asked_about(damage, trained, seed):
    written = json.loads(json.dumps(trained))
    random = np.random.default_rng(seed)
    damaged(damage, random, random.choice(written["learner"]["gradient_booster"]["model"]["trees"]))
    assert not is_read(xgboost_stub(json.dumps(written).encode()))


@pytest.mark.parametrize("text", [b"", b"{", b"[]", b"\xff\x00", b'{"learner": 3}'])
def test_boosters_that_write_nonsense_are_asked(text, caplog):
    cells = np.random.default_rng(0).normal(size=(N_ROWS, 3))
    with caplog.at_level(logging.INFO, logger="xcid"):
        explainer = xcid.Explainer(xgboost_stub(text), cells, generator=Balanced(64))
    assert explainer.subject.predict.native is None
    assert "it cannot be read from inside" in caplog.text


def leaf(value):
    return {"leaf_value": value}


def split(column, threshold, left, right, **more):
    usual = {"decision_type": "<=", "missing_type": "None", "default_left": True}
    return usual | {"split_feature": column, "threshold": threshold, "left_child": left, "right_child": right} | more


def lightgbm_stub(root):
    info = [{"num_leaves": 2, "tree_structure": root}]
    dump = {"objective": "binary sigmoid:1", "num_tree_per_iteration": 1, "tree_info": info}
    sizes = {"num_model_per_iteration": lambda: 1, "num_trees": lambda: 1}
    booster = types.SimpleNamespace(dump_model=lambda: dump, pandas_categorical=None, **sizes)
    return stub("lightgbm.sklearn", "LGBMClassifier", booster_=booster)


@pytest.mark.parametrize(
    "root",
    [
        split(7, 0.5, leaf(0.0), leaf(1.0)),
        split(-3, 0.5, leaf(0.0), leaf(1.0)),
        split(0, float("nan"), leaf(0.0), leaf(1.0)),
        split(0, 0.5, leaf(0.0), leaf(float("inf"))),
        split(0, 0.5, leaf(0.0), {}),
        split(0, "1||many", leaf(0.0), leaf(1.0), decision_type="=="),
        split(0, f"1||{10**9}", leaf(0.0), leaf(1.0), decision_type="=="),
        split(0, 0.5, leaf(0.0), leaf(1.0), decision_type=">"),
        {},
    ],
)
def test_damaged_trees_of_lightgbm_are_asked_about(root):
    assert is_read(lightgbm_stub(split(0, 0.5, leaf(0.0), leaf(1.0))))
    assert not is_read(lightgbm_stub(root))


def test_trees_that_never_end_are_asked_about():
    root = split(0, 0.5, leaf(0.0), None)
    root["right_child"] = root
    assert not is_read(lightgbm_stub(root))
