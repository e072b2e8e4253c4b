"""A model that is read from inside says what it answers when it is asked, and explanations are the same."""

from __future__ import annotations

import ctypes
import logging
import pickle
import re
import shutil
import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
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
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import xcid
from xcid._kernels.random import run_key
from xcid.errors import ModelError
from xcid.generators import Balanced
from xcid.native import ensemble, library, planned, program, read, trees
from xcid.table import FeatureSpace

N_ROWS, N_COLUMNS = 160, 5
TREES = {
    "tree": lambda **seed: DecisionTreeClassifier(**seed),
    "tree, numbers": lambda **seed: DecisionTreeRegressor(**seed),
    "forest": lambda **seed: RandomForestClassifier(12, **seed),
    "forest of mixed leaves": lambda **seed: RandomForestClassifier(12, min_samples_leaf=4, max_depth=5, **seed),
    "forest of stumps": lambda **seed: RandomForestClassifier(40, max_depth=1, **seed),
    "forest, numbers": lambda **seed: RandomForestRegressor(7, **seed),
    "extra trees": lambda **seed: ExtraTreesClassifier(9, **seed),
    "extra trees, numbers": lambda **seed: ExtraTreesRegressor(5, max_depth=4, **seed),
    "histogram boosting": lambda **seed: HistGradientBoostingClassifier(max_iter=12, **seed),
    "histogram boosting, numbers": lambda **seed: HistGradientBoostingRegressor(max_iter=12, **seed),
    "histogram boosting, counts": lambda **seed: HistGradientBoostingRegressor(loss="poisson", max_iter=8, **seed),
}
TAKES_HOLES = {  # extra trees take missing cells from scikit-learn 1.6 on
    name for name in TREES if "extra" not in name or tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 6)
}
BOOSTED = {  # of complete tables only
    "boosting": lambda **seed: GradientBoostingClassifier(n_estimators=9, **seed),
    "boosting, numbers": lambda **seed: GradientBoostingRegressor(n_estimators=9, loss="huber", **seed),
}
LINEAR = {
    "logistic": lambda: LogisticRegression(),
    "scaled logistic": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "scaled around nothing": lambda: make_pipeline(StandardScaler(with_mean=False), LogisticRegression()),
    "only shifted": lambda: make_pipeline(StandardScaler(with_std=False), Ridge()),
    "least squares": lambda: LinearRegression(),
}


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if not any(map(shutil.which, library.COMPILERS)):
        pytest.skip("there is no C compiler")
    return ctypes.CDLL(str(library.build(tmp_path_factory.mktemp("built") / "bits.so"))).xcid_sums


@pytest.fixture(params=["numpy", "compiled"])
def form(request, monkeypatch):
    found = request.getfixturevalue("compiled") if request.param == "compiled" else None
    monkeypatch.setattr(trees, "loaded", lambda: found)
    monkeypatch.setattr(trees, "FEWEST_ROWS", 1)
    monkeypatch.setattr(trees, "STEPS", 10**9)
    return request.param


def table(seed, missing=0.0):
    """Few values in some columns, so that there are ties, and some missing cells."""
    random = np.random.default_rng(seed)
    cells = random.normal(size=(N_ROWS, N_COLUMNS)).round([0, 1, 2, 6, 12][seed % 5])
    return np.where(random.random(cells.shape) < missing, np.nan, cells)


def targets(cells, model, n_classes):
    known = np.nan_to_num(cells)
    number = known[:, 0] * known[:, 1] + known[:, 2] + np.sin(3 * known[:, 3])
    if not hasattr(model, "predict_proba"):
        return number - number.min()
    return np.digitize(number, np.quantile(number, np.arange(1, n_classes) / n_classes))


def with_ties(cells, native, seed):
    """Put thresholds, and numbers beside them, in place of some cells."""
    random, cells = np.random.default_rng(seed), cells.copy()
    for tree in getattr(native.core, "ensemble", LinearHasNone).trees:
        at = np.flatnonzero((tree.feature >= 0) & np.isfinite(tree.threshold))
        if len(at):
            node = random.choice(at)
            near = tree.threshold[node] + np.array([0.0, 0.0, 1e-7, -1e-7])
            cells[random.integers(len(cells), size=4), tree.feature[node]] = near
    return cells


class LinearHasNone:
    trees = ()


def asked(model, samples):
    flat = samples.reshape(-1, samples.shape[2])
    answers = model.predict_proba(flat) if hasattr(model, "predict_proba") else model.predict(flat)[:, None]
    return answers.reshape(*samples.shape[:2], -1)


def agree(model, cells, seed, n=150, tolerance=1e-12):
    native = read(model, [f"x{at}" for at in range(N_COLUMNS)])
    assert native is not None
    plan = Balanced(n).draw(FeatureSpace.of(with_ties(cells, native, seed)), run_key(seed)).plan
    rows = with_ties(cells, native, seed + 1)[:21]
    wanted, found = asked(model, plan.samples(rows)), native.planned(plan)(rows)
    assert found.shape == wanted.shape
    assert np.abs(found - wanted).max() <= tolerance * max(1.0, np.abs(wanted).max())
    assert np.ptp(wanted) > 0
    own = asked(model, rows[:, None])[:, 0]
    assert np.abs(native.outputs(rows) - own).max() <= tolerance * max(1.0, np.abs(own).max())


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("name", [*TREES, *BOOSTED])
def test_trees_say_what_they_answer(name, seed, form):
    model = (TREES | BOOSTED)[name](random_state=seed)
    cells = table(seed, missing=0.1 * (seed % 2) * (name in TAKES_HOLES))
    agree(model.fit(cells, targets(cells, model, 2 + seed % 3)), cells, seed, n=(64, 150, 1_000)[seed % 3])


def test_the_order_of_bytes_in_a_word_makes_no_difference():
    flags = np.random.default_rng(0).random((3, 5, 200)) < 0.5
    planes = [planned._bits(one) for one in flags]
    turned = [plane.view(">u8") for plane in planes]  # the same bytes, as a big-endian machine reads them
    due = (flags * np.array([1, 2, 4])[:, None, None]).sum(axis=0)
    assert np.array_equal(planned._bytes(planes)[:, :200], due)
    assert np.array_equal(planned._bytes(turned)[:, :200], due)
    joined = [((one & two) | ~two) for one, two in zip(turned, turned[::-1], strict=True)]
    assert np.array_equal(planned._bytes(joined)[:, :200], planned._bytes([one.view("<u8") for one in joined])[:, :200])


def xgboost(name, **settings):
    return getattr(pytest.importorskip("xgboost"), name)(n_estimators=12, n_jobs=1, **settings)


def lightgbm(name, **settings):
    return getattr(pytest.importorskip("lightgbm"), name)(n_estimators=12, n_jobs=1, verbose=-1, **settings)


SINGLE = {
    "classes": lambda **seed: xgboost("XGBClassifier", **seed),
    "classes from a base score": lambda **seed: xgboost("XGBClassifier", base_score=0.2, max_depth=3, **seed),
    "numbers": lambda **seed: xgboost("XGBRegressor", **seed),
    "counts": lambda **seed: xgboost("XGBRegressor", objective="count:poisson", **seed),
}
DOUBLE = {
    "classes": lambda **seed: lightgbm("LGBMClassifier", **seed),
    "steep classes": lambda **seed: lightgbm("LGBMClassifier", sigmoid=2.0, max_depth=3, **seed),
    "no missing": lambda **seed: lightgbm("LGBMClassifier", use_missing=False, **seed),
    "numbers": lambda **seed: lightgbm("LGBMRegressor", **seed),
    "counts": lambda **seed: lightgbm("LGBMRegressor", objective="tweedie", **seed),
}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("makers", "tolerance", "name"),
    [*((SINGLE, 1e-6, one) for one in SINGLE), *((DOUBLE, 1e-12, one) for one in DOUBLE)],
    ids=[*(f"XGBoost, {one}" for one in SINGLE), *(f"LightGBM, {one}" for one in DOUBLE)],
)
def test_boosters_say_what_they_answer(makers, tolerance, name, seed, form):
    model, cells = makers[name](random_state=seed), table(seed, missing=0.1 * (seed % 2))
    n_classes = 2 if "base" in name or "steep" in name else 2 + seed % 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of LightGBM's, about names that it gave itself
        agree(model.fit(cells, targets(cells, model, n_classes)), cells, seed, tolerance=tolerance)


def test_boosters_of_other_kinds_are_asked():
    cells = table(2)
    model = xgboost("XGBClassifier", booster="gblinear")
    assert native_of(model.fit(cells, targets(cells, model, 2)), cells) is None


def test_zeros_that_are_missing_are_asked_about():
    cells = table(0)
    model = lightgbm("LGBMClassifier", zero_as_missing=True)
    assert read(model.fit(cells, targets(cells, model, 2)), list("abcde")) is None


def test_bare_boosters_are_read():
    cells = table(2)
    answers = (cells[:, 0] > 0).astype(int)
    xgboost_, lightgbm_ = (pytest.importorskip(name) for name in ("xgboost", "lightgbm"))
    first = xgboost_.train({"objective": "binary:logistic"}, xgboost_.DMatrix(cells, answers), 5)
    second = lightgbm_.train({"objective": "binary", "verbose": -1}, lightgbm_.Dataset(cells, answers), 5)
    assert native_of(first, cells) is not None
    assert native_of(second, cells) is not None


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", LINEAR)
def test_linear_models_say_what_they_answer(name, n_classes):
    model, cells = LINEAR[name](), table(3)
    agree(model.fit(cells, targets(cells, model, n_classes)), cells, seed=3)


def test_trees_without_a_split_are_read(form):
    model, cells = HistGradientBoostingRegressor(max_iter=3, min_samples_leaf=N_ROWS, random_state=0), table(1)
    native = read(model.fit(cells, cells[:, 0]), list("abcde"))
    plan = Balanced(64).draw(FeatureSpace.of(cells), run_key(0)).plan
    assert np.allclose(native.planned(plan)(cells[:3]), model.predict(cells[:1])[0], rtol=1e-12)


def explained(model, cells, rows, **settings):
    """By samples alone: what is exact on one scale would help on another, and a model that is called has none."""
    explainer = xcid.Explainer(model, cells, generator=Balanced(200), **settings)
    return explainer.replace(subject=replace(explainer.subject, exact=None))(rows)


@pytest.mark.parametrize("name", ["forest", "histogram boosting", "histogram boosting, numbers"])
def test_explanations_are_the_same(name, form):
    cells, model = table(4), TREES[name](random_state=0)
    model.fit(cells, targets(cells, model, 3))
    by_answers = model.predict_proba if hasattr(model, "predict_proba") else Numbers(model)
    sampled = {"scale": "log_odds"} if hasattr(model, "predict_proba") else {}  # where neither model adds up
    explainers = [xcid.Explainer(one, cells, generator=Balanced(200), **sampled) for one in (model, by_answers)]
    assert explainers[0].subject.predict.native is not None
    assert explainers[1].subject.predict.native is None
    alone = replace(explainers[0].subject, exact=None)  # what is exact on the other scale would help
    explainers[0] = explainers[0].replace(subject=alone)
    read_, asked_ = (explainer(cells[:40]) for explainer in explainers)
    for field in ("values", "lower", "upper", "p_values", "importance") if sampled else ("importance", "base_values"):
        assert np.abs(getattr(read_, field) - getattr(asked_, field)).max() <= 1e-9
    assert np.array_equal(read_.status, asked_.status)
    assert np.array_equal(read_.n_evaluations, asked_.n_evaluations)
    assert np.abs(read_.cloud.outputs - asked_.cloud.outputs).max() <= 1e-12
    assert np.array_equal(read_.cloud.samples, asked_.cloud.samples)


def test_explanations_of_a_model_in_single_precision_are_the_same(form):
    cells, model = table(4), SINGLE["classes"](random_state=0)
    model.fit(cells, targets(cells, model, 2))
    points = {"scale": "probability"}  # on which it does not add up
    ours, other = (explained(one, cells, cells[:40], **points) for one in (model, model.predict_proba))
    assert np.abs(ours.importance - other.importance).max() <= 1e-6
    assert np.abs(ours.cloud.outputs - other.cloud.outputs).max() <= 1e-6
    assert np.array_equal(ours.status, other.status)


class Numbers:
    """A regression of another class."""

    def __init__(self, model):
        self.model = model

    def predict(self, X):
        return self.model.predict(X)


class Cautious(RandomForestClassifier):
    def predict_proba(self, X):
        return 0.5 + 0.5 * (super().predict_proba(X) - 0.5)


def fitted(kind=RandomForestClassifier, cells=None):
    model, cells = kind(5, random_state=0), table(2) if cells is None else cells
    return model.fit(cells, targets(np.asarray(cells), model, 2))


def native_of(model, cells, **settings):
    return xcid.Explainer(model, cells, **settings).subject.predict.native


def test_what_a_subclass_or_an_object_changes_is_not_read():
    changed = fitted()
    assert native_of(changed, table(2)) is not None
    changed.predict_proba = fitted(Cautious).predict_proba
    assert native_of(changed, table(2)) is None
    assert native_of(fitted(Cautious), table(2)) is None


def test_the_model_is_asked_where_it_answers_otherwise(monkeypatch, caplog):
    model, plain = fitted(), RandomForestClassifier.predict_proba
    monkeypatch.setattr(RandomForestClassifier, "predict_proba", lambda self, X: 1 - plain(self, X))
    with caplog.at_level(logging.INFO, logger="xcid"):
        assert native_of(model, table(2)) is None
    assert "predicts otherwise than what is read" in caplog.text


def test_the_model_is_asked_where_reading_fails(monkeypatch, caplog):
    model = fitted()
    del model.n_outputs_
    monkeypatch.setattr(RandomForestClassifier, "predict_proba", lambda self, X: np.tile([0.3, 0.7], (len(X), 1)))
    with caplog.at_level(logging.INFO, logger="xcid"):
        assert native_of(model, table(2)) is None
    assert "it cannot be read from inside: " in caplog.text


def test_columns_go_by_name(form):
    frame = pd.DataFrame(table(2), columns=list("abcde"))
    model = fitted(cells=frame[list("dbaec")])
    other = explained(lambda X: model.predict_proba(X[list("dbaec")]), frame, frame[:30], scale="log_odds")
    assert native_of(model, frame) is not None
    assert np.abs(explained(model, frame, frame[:30], scale="log_odds").values - other.values).max() <= 1e-9


@pytest.mark.parametrize(
    "constraints",
    [
        xcid.Constraints(groups={"both": ["x0", "x3"]}),
        xcid.Constraints(ranges={"x0": (-1, 1)}),
        xcid.Constraints(frozen=["x2"]),
    ],
    ids=["groups", "limits", "frozen"],
)
def test_constraints_change_nothing_about_it(constraints, form):
    cells = table(2)
    model = fitted(cells=cells)
    more = {"constraints": constraints, "feature_names": [f"x{at}" for at in range(N_COLUMNS)], "scale": "log_odds"}
    ours, other = (explained(one, cells, cells[:20], **more) for one in (model, model.predict_proba))
    assert np.abs(ours.values - other.values).max() <= 1e-9
    assert np.array_equal(ours.n_evaluations, other.n_evaluations)
    assert np.abs(ours.cloud.outputs - other.cloud.outputs).max() <= 1e-9


def test_groups_are_read(monkeypatch, compiled):
    monkeypatch.setattr(trees, "loaded", lambda: compiled)
    cells, asked_ = table(2), list[int]()
    model, plain = fitted(cells=cells), RandomForestClassifier.predict_proba
    names = [f"x{at}" for at in range(N_COLUMNS)]
    groups = xcid.Constraints(groups={"both": ["x0", "x3"], "others": ["x2", "x4"]})
    monkeypatch.setattr(
        RandomForestClassifier, "predict_proba", lambda self, X: asked_.append(len(X)) or plain(self, X)
    )
    explainer = xcid.Explainer(model, cells, generator=Balanced(200), feature_names=names, constraints=groups)
    asked_.clear()
    explainer(cells[:20])
    assert sum(asked_) == 0  # not even about the rows themselves


def test_few_rows_are_asked_about_without_the_library(monkeypatch):
    monkeypatch.setattr(trees, "loaded", lambda: None)
    cells = table(2)
    explainer = xcid.Explainer(fitted(), cells, generator=Balanced(64))
    plan = explainer.setup.generator.draw(explainer.space, run_key(0)).plan
    assert explainer.subject.predict.planned(plan, 1) is None
    assert explainer.subject.predict.planned(plan, 1_000) is not None


def test_large_trees_and_plans_are_asked_about(monkeypatch):
    cells, model = table(2), fitted()
    plan = Balanced(64).draw(FeatureSpace.of(cells), run_key(0)).plan
    monkeypatch.setattr(planned, "MOST_BYTES", 100)
    assert read(model, list("abcde")).planned(plan) is None
    monkeypatch.setattr(program, "MOST_NODES", 100)
    native = read(model, list("abcde"))  # for rows, and what is exact about them
    assert native.planned(plan) is None
    assert native.fewest_rows == sys.maxsize
    assert not native.is_quick


def test_programs_of_large_trees_are_written_for_many_rows_at_a_time(monkeypatch):
    plan = Balanced(64).draw(FeatureSpace.of(table(2)), run_key(0)).plan
    usual = read(fitted(), list("abcde"))
    monkeypatch.setattr(trees, "LARGE", 100)
    large, few = read(fitted(), list("abcde")), trees.ROWS_OF_LARGE
    assert not large.is_quick
    assert large.fewest_rows == few
    rows = table(2)[:few]
    assert np.array_equal(large.planned(plan)(rows), usual.planned(plan)(rows))
    assert large.fewest_rows == usual.fewest_rows  # it is there now
    monkeypatch.setattr(trees, "loaded", lambda: None)
    assert read(fitted(), list("abcde")).fewest_rows == sys.maxsize


def test_a_model_that_is_read_travels():
    explainer = xcid.Explainer(fitted(), table(2), generator=Balanced(64))
    predict = pickle.loads(pickle.dumps(explainer.subject.predict))
    plan = explainer.setup.generator.draw(explainer.space, run_key(0)).plan
    rows = table(2)[:9]
    assert np.array_equal(predict.planned(plan, 99)(rows), explainer.subject.predict.planned(plan, 99)(rows))


@pytest.mark.parametrize("claim", ["num_class", "num_class num_tree_per_iteration"])
def test_a_model_that_claims_too_many_outputs_is_refused_before_room_is_made(claim):
    lightgbm = pytest.importorskip("lightgbm")
    cells = table(2)
    data = lightgbm.Dataset(cells, np.arange(len(cells)) % 3)
    text = lightgbm.train({"objective": "multiclass", "num_class": 3, "verbose": -1}, data, 2).model_to_string()
    for name in claim.split():
        text = re.sub(rf"{name}([=:])3", rf"{name}\g<1>300000", text)
    with pytest.raises(ModelError, match="300,000 outputs for a row: at most 4,096"):
        xcid.Explainer(lightgbm.Booster(model_str=text), cells)


@pytest.mark.parametrize("sizes", [(2**15 + 1, 1, 1), (1, 2**20 + 1, 1), (1, 1, 2**12 + 1), (1, 1, 0)])
def test_sizes_are_checked_before_trees_are_built(sizes):
    with pytest.raises(ValueError, match="too many to be read"):
        ensemble.check_size(*sizes)
