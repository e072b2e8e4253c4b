"""A model that was changed in place is never explained by its past.

Every public way to change a fitted model, in the process that has the explainer, and before the explainer is copied or
sent elsewhere: the explanation is that of an explainer made now, or an error says why there is none.
"""

from __future__ import annotations

import copy
import io
import json
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

import xcid
from xcid.errors import ModelError, XcidWarning
from xcid.generators import Balanced
from xcid.native import Fingerprint

X = np.random.default_rng(5).normal(size=(160, 4))
BEFORE, AFTER = (X[:, 0] + X[:, 1] / 2 > 0).astype(int), (X[:, 2] - X[:, 3] / 2 > 0).astype(int)
NUMBERS = X[:, 0] + X[:, 1] / 2
ROWS = X[:4]


def by_joblib(explainer: Any) -> Any:
    buffer = io.BytesIO()
    joblib.dump(explainer, buffer)
    buffer.seek(0)
    return joblib.load(buffer)


def by_pickle(explainer: Any) -> Any:
    return pickle.loads(pickle.dumps(explainer))


WAYS = {
    "same process": lambda explainer: explainer,
    "pickle": by_pickle,
    "deepcopy": copy.deepcopy,
    "joblib": by_joblib,
}


def forest(**settings: Any) -> Any:
    return RandomForestClassifier(8, max_depth=4, random_state=0, **settings).fit(X, BEFORE)


def tree() -> Any:
    return DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, BEFORE)


def pipeline() -> Any:
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, BEFORE)


def histogram() -> Any:
    return HistGradientBoostingClassifier(max_iter=8, random_state=0).fit(X, BEFORE)


def refit(model: Any) -> None:
    model.fit(X, AFTER)


def one_leaf(model: Any) -> None:
    """A single leaf of a single tree, which few rows reach."""
    inner = model.tree_ if hasattr(model, "tree_") else model.estimators_[3].tree_
    leaf = int(np.flatnonzero(inner.children_left < 0)[1])
    inner.value[leaf] = inner.value[leaf, :, ::-1]


def grow(model: Any) -> None:
    model.set_params(warm_start=True, n_estimators=14).fit(X, AFTER)


def put(**values: Any) -> Callable[[Any], None]:
    return lambda model: [setattr(model, name, value) for name, value in values.items()] and None


def turn(name: str) -> Callable[[Any], None]:
    """Write over an array in place."""

    def change(model: Any) -> None:
        array = getattr(model, name)
        array[...] = -array[..., ::-1]

    return change


def flipped(table: Any) -> Any:
    second = 1 / (1 + np.exp(-np.asarray(table)[:, 3]))
    return np.column_stack([1 - second, second])


class Other(RandomForestClassifier):
    """Predicts what its trees do not say."""

    def predict_proba(self, X: Any) -> Any:
        return flipped(X)


def other_class(model: Any) -> None:
    model.__class__ = Other


def other_state(model: Any) -> None:
    vars(model).update(vars(RandomForestClassifier(8, max_depth=4, random_state=1).fit(X, AFTER)))


# Unless it is told, scikit-learn 1.5 votes by SAMME.R, which has no weights to change; later ones know SAMME alone.
WEIGHTED = {"algorithm": "SAMME"} if AdaBoostClassifier().get_params().get("algorithm") == "SAMME.R" else {}

CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "tree: fit": (tree, refit),
    "tree: a leaf": (tree, one_leaf),
    "tree: thresholds": (
        tree,
        lambda model: model.tree_.threshold.__setitem__(slice(None), model.tree_.threshold + 0.7),
    ),
    "tree: columns": (
        tree,
        lambda model: np.copyto(model.tree_.feature, (model.tree_.feature + 1) % 4, where=model.tree_.feature >= 0),
    ),
    "tree: another": (
        tree,
        lambda model: setattr(model, "tree_", DecisionTreeClassifier(max_depth=3, random_state=0).fit(X, AFTER).tree_),
    ),
    "forest: fit": (forest, refit),
    "forest: warm start": (forest, grow),
    "forest: a leaf": (forest, one_leaf),
    "forest: fewer trees": (forest, lambda model: model.estimators_.pop()),
    "forest: another tree": (forest, lambda model: model.estimators_.__setitem__(0, tree())),
    "forest: a tree refitted": (forest, lambda model: model.estimators_[0].fit(X, AFTER)),
    "forest: state": (forest, other_state),
    "forest: class": (forest, other_class),
    "forest: predict_proba": (forest, put(predict_proba=flipped)),
    "forest of numbers: fit": (
        lambda: RandomForestRegressor(8, max_depth=4, random_state=0).fit(X, NUMBERS),
        lambda model: model.fit(X, -2 * X[:, 3]),
    ),
    "extra trees: fit": (lambda: ExtraTreesClassifier(8, max_depth=4, random_state=0).fit(X, BEFORE), refit),
    "boosting: fit": (lambda: GradientBoostingClassifier(n_estimators=8, random_state=0).fit(X, BEFORE), refit),
    "boosting: warm start": (lambda: GradientBoostingClassifier(n_estimators=8, random_state=0).fit(X, BEFORE), grow),
    "boosting: learning rate": (
        lambda: GradientBoostingClassifier(n_estimators=8, random_state=0).fit(X, BEFORE),
        lambda model: model.set_params(learning_rate=0.9),
    ),
    "histograms: fit": (histogram, refit),
    "histograms: a leaf": (
        histogram,
        lambda model: model._predictors[0][0].nodes["value"].__setitem__(slice(None), 1.0),
    ),
    "histograms: base": (histogram, lambda model: model._baseline_prediction.__iadd__(2.0)),
    "votes: weights": (
        lambda: AdaBoostClassifier(
            DecisionTreeClassifier(max_depth=2, random_state=0), n_estimators=6, random_state=0, **WEIGHTED
        ).fit(X, BEFORE),
        lambda model: model.estimator_weights_.__setitem__(0, 9.0),
    ),
    "bagging: fit": (lambda: BaggingClassifier(tree(), 6, random_state=0).fit(X, BEFORE), refit),
    "bagging: columns": (
        lambda: BaggingClassifier(tree(), 6, random_state=0, max_features=2).fit(X, BEFORE),
        lambda model: model.estimators_features_.__setitem__(0, model.estimators_features_[0][::-1]),
    ),
    "logistic: fit": (lambda: LogisticRegression().fit(X, BEFORE), refit),
    "logistic: weights": (lambda: LogisticRegression().fit(X, BEFORE), turn("coef_")),
    "logistic: other weights": (
        lambda: LogisticRegression().fit(X, BEFORE),
        put(coef_=np.array([[0.0, 0.0, 2.0, 1.0]])),
    ),
    "logistic: intercept": (lambda: LogisticRegression().fit(X, BEFORE), put(intercept_=np.array([0.8]))),
    "linear: fit": (lambda: LinearRegression().fit(X, NUMBERS), lambda model: model.fit(X, X[:, 3])),
    "descent: partial fit": (
        lambda: SGDClassifier("log_loss", random_state=0).fit(X, BEFORE),
        lambda model: [model.partial_fit(X, AFTER) for _ in range(5)] and None,
    ),
    "bayes: fit": (lambda: GaussianNB().fit(X, BEFORE), refit),
    "bayes: partial fit": (lambda: GaussianNB().fit(X, BEFORE), lambda model: model.partial_fit(X, AFTER)),
    "bayes: means": (lambda: GaussianNB().fit(X, BEFORE), turn("theta_")),
    "pipeline: fit": (pipeline, refit),
    "pipeline: last step": (pipeline, lambda model: model[-1].fit(X, AFTER)),
    "pipeline: first step": (pipeline, lambda model: model[0].fit(X * [9, 1, 1, 1])),
    "pipeline: scale": (pipeline, lambda model: model[0].scale_.__imul__([5, 1, 1, 1])),
    "pipeline: another step": (pipeline, lambda model: model.steps.__setitem__(1, ("last", tree()))),
    "search: fit": (
        lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X, BEFORE),
        refit,
    ),
    "search: best": (
        lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2).fit(X, BEFORE),
        lambda model: model.best_estimator_.fit(X, AFTER),
    ),
    "vote: one of two": (
        lambda: VotingClassifier([("a", tree()), ("b", LogisticRegression())], voting="soft").fit(X, BEFORE),
        lambda model: model.estimators_[0].fit(X, AFTER),
    ),
    "vote: weights": (
        lambda: VotingClassifier([("a", tree()), ("b", LogisticRegression())], voting="soft").fit(X, BEFORE),
        lambda model: model.set_params(weights=[5, 1]),
    ),
    "calibrated: fit": (lambda: CalibratedClassifierCV(tree(), cv=2).fit(X, BEFORE), refit),
    "calibrated: calibrator": (
        lambda: CalibratedClassifierCV(tree(), cv=2).fit(X, BEFORE),
        lambda model: setattr(model.calibrated_classifiers_[0].calibrators[0], "a_", -9.0),
    ),
    "neighbours: fit": (lambda: KNeighborsClassifier().fit(X, BEFORE), refit),
    "network: weights": (
        lambda: MLPClassifier(5, max_iter=40, random_state=0).fit(X, BEFORE),
        lambda model: model.coefs_[0].__imul__(-1),
    ),
    "network: partial fit": (
        lambda: MLPClassifier(5, max_iter=40, random_state=0).fit(X, BEFORE),
        lambda model: [model.partial_fit(X, AFTER) for _ in range(20)] and None,
    ),
}


def explained(explainer: Any) -> Any:
    return explainer(ROWS)


def made(model: Any) -> Any:
    return xcid.Explainer(model, X)


def check_is_never_stale(make: Callable[[], Any], change: Callable[[Any], Any], way: Callable[[Any], Any]) -> None:
    model = make()
    explainer = made(model)
    before = explained(explainer)
    change(model)
    copied = way(explainer)
    with pytest.warns(XcidWarning, match="the model has changed"):
        found = explained(copied)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XcidWarning)
        fresh = explained(made(copied.made.subject.model))  # a few libraries lose settings when they are copied
        changed = fresh if copied is explainer else explained(made(model))
    assert max(np.abs(changed.outputs - before.outputs).max(), np.abs(changed.values - before.values).max()) > 1e-6
    for name in ("values", "outputs", "lower", "upper", "p_values", "importance"):
        assert np.allclose(getattr(found, name), getattr(fresh, name), rtol=0, atol=1e-9, equal_nan=True), name


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", CHANGES)
def test_a_changed_model_is_explained_as_it_is(name):
    check_is_never_stale(*CHANGES[name], WAYS["same process"])


QUICK = ("tree: a leaf", "forest: fit", "forest: predict_proba", "logistic: weights", "pipeline: first step")
FAR = [way for way in WAYS if way != "same process"]


@pytest.mark.parametrize("way", FAR)
@pytest.mark.parametrize("name", QUICK)
def test_a_copy_is_of_the_model_that_came_with_it(name, way):
    check_is_never_stale(*CHANGES[name], WAYS[way])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("way", FAR)
@pytest.mark.parametrize("name", [name for name in CHANGES if name not in QUICK])
def test_every_copy_is_of_the_model_that_came_with_it(name, way):
    check_is_never_stale(*CHANGES[name], WAYS[way])


@pytest.mark.parametrize("way", WAYS)
def test_a_copy_whose_own_model_changes(way):
    explainer = WAYS[way](made(forest()))
    explained(explainer)
    model = explainer.made.subject.model
    refit(model)
    with pytest.warns(XcidWarning, match="the model has changed"):
        found = explained(explainer)
    assert np.allclose(found.values, explained(made(model)).values, rtol=0, atol=1e-9)


@pytest.mark.parametrize("name", ["tree: a leaf", "forest: fit", "logistic: weights", "boosting: warm start"])
def test_without_the_comparison_it_would_be_stale(monkeypatch, name):
    """The positive control: the suite goes red where nothing is compared."""
    monkeypatch.setattr(Fingerprint, "__eq__", lambda self, other: True)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_is_never_stale(*CHANGES[name], WAYS["same process"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("make", [tree, forest, pipeline, histogram])
def test_a_model_that_stays_is_read_and_nothing_is_said(make, way):
    model = make()
    explainer = made(model)
    before = explained(explainer)
    model.predict_proba(X)
    model.history = ["a line"] * 10**6  # what users add takes no time
    if hasattr(model, "n_jobs"):
        model.n_jobs = 2
    again = WAYS[way](explainer)
    assert np.array_equal(explained(again).values, before.values)
    assert again.subject.predict.native is not None
    assert again.setup.subject is again.made.subject


def test_it_is_said_once_for_each_change():
    model = forest()
    explainer = made(model)
    for target in (AFTER, 1 - AFTER):
        model.fit(X, target)
        with pytest.warns(XcidWarning, match="the model has changed"):
            explained(explainer)
        explained(explainer)  # a warning is an error here


def test_a_model_that_changes_back_is_the_one_that_was_read():
    model = LogisticRegression().fit(X, BEFORE)
    explainer = made(model)
    model.coef_ *= -1
    with pytest.warns(XcidWarning):
        explained(explainer)
    model.coef_ *= -1
    assert explainer.subject is explainer.made.subject


def test_what_was_chosen_stays_chosen():
    model = RandomForestRegressor(8, max_depth=4, random_state=0).fit(X, NUMBERS)
    settings = {"generator": Balanced(256), "outcome": xcid.outcomes.Interval(share=0.5)}
    explainer = xcid.Explainer(model, X, **settings)
    model.fit(X, 30 * X[:, 2])
    with pytest.warns(XcidWarning, match="the model has changed"):
        found = explained(explainer)
    fresh = explained(xcid.Explainer(model, X, **settings))
    assert found.details.settings == fresh.details.settings
    assert np.allclose(found.values, fresh.values, rtol=0, atol=1e-9)


def test_every_question_is_about_the_model_as_it_is():
    model = forest()
    explainer, old = made(model), made(forest())
    refit(model)
    fresh = made(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XcidWarning)
        assert explainer.counterfactuals(ROWS).to_frame().equals(fresh.counterfactuals(ROWS).to_frame())
        assert not explainer.counterfactuals(ROWS).to_frame().equals(old.counterfactuals(ROWS).to_frame())
        assert np.array_equal(explainer.interactions(ROWS).values, fresh.interactions(ROWS).values)
        asked = [one.with_outcome(xcid.outcomes.ToClass(1))(ROWS).values for one in (explainer, fresh)]
        assert np.array_equal(*asked)
        per_class = [one.per_class(ROWS)["1"].values for one in (explainer, fresh)]
        assert np.array_equal(*per_class)
        streamed = [next(one.stream([ROWS])).values for one in (explainer, fresh)]
        assert np.array_equal(*streamed)


def test_threads_read_a_changed_model_once():
    model = forest()
    explainer = made(model)
    refit(model)
    fresh, found = explained(made(model)).values, list[Any]()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=lambda: found.append(explained(explainer).values)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 6
    assert all(np.array_equal(one, fresh) for one in found)
    assert sum("the model has changed" in str(one.message) for one in heard) == 1


def test_another_number_of_classes_is_refused(approved):
    model = forest()
    explainer = made(model)
    model.fit(X, BEFORE + AFTER)
    with approved.raises(ModelError):
        explained(explainer)


def test_other_columns_are_refused():
    model = forest()
    explainer = made(model)
    model.fit(X[:, :3], BEFORE)
    with pytest.raises(ModelError, match="4 features"):
        explained(explainer)


def test_a_model_too_large_to_be_compared_is_called(monkeypatch):
    monkeypatch.setattr("xcid.native.MOST_BYTES", 1_000)
    assert made(forest()).subject.predict.native is None


def xgboost_model(**settings: Any) -> Any:
    xgboost = pytest.importorskip("xgboost")
    return xgboost.XGBClassifier(n_estimators=8, max_depth=3, n_jobs=1, **settings).fit(X, BEFORE)


def xgboost_booster(target: Any = BEFORE, rounds: int = 8) -> Any:
    xgboost = pytest.importorskip("xgboost")
    settings = {"objective": "binary:logistic", "max_depth": 3, "nthread": 1}
    return xgboost.train(settings, xgboost.DMatrix(X, target), rounds)


def edited_leaf(model: Any) -> None:
    """A model of the same shape, loaded into the same object."""
    booster = model.get_booster() if hasattr(model, "get_booster") else model
    written = json.loads(bytes(booster.save_raw("json")))
    first = written["learner"]["gradient_booster"]["model"]["trees"][0]
    leaf = max(at for at, left in enumerate(first["left_children"]) if left < 0)
    first["split_conditions"][leaf] = first["base_weights"][leaf] = 2.5
    booster.load_model(bytearray(json.dumps(written).encode()))


def lightgbm_model() -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    return lightgbm.LGBMClassifier(n_estimators=8, min_child_samples=5, verbose=-1, n_jobs=1).fit(X, BEFORE)


def lightgbm_booster(target: Any = BEFORE) -> Any:
    lightgbm = pytest.importorskip("lightgbm")
    settings = {"objective": "binary", "verbose": -1, "num_threads": 1, "min_data_in_leaf": 5}
    data = lightgbm.Dataset(X, target, free_raw_data=False)
    return lightgbm.train(settings, data, 8, keep_training_booster=True)


def catboost_model(target: Any = BEFORE) -> Any:
    catboost = pytest.importorskip("catboost")
    settings = {"depth": 3, "verbose": 0, "thread_count": 1, "allow_writing_files": False, "random_seed": 0}
    return catboost.CatBoostClassifier(8, **settings).fit(X, target)


def boosting_machine() -> Any:
    glassbox = pytest.importorskip("interpret.glassbox")
    return glassbox.ExplainableBoostingClassifier(interactions=0, outer_bags=2, max_rounds=50, n_jobs=1).fit(X, BEFORE)


def update_xgboost(model: Any) -> None:
    import xgboost

    model.update(xgboost.DMatrix(X, AFTER), 9)


def set_weights(model: Any) -> None:
    model.load_model(catboost_bytes(catboost_model(AFTER)), format="cbm")


def catboost_bytes(model: Any) -> str:
    import tempfile

    path = tempfile.mkstemp(suffix=".cbm")[1]
    model.save_model(path)
    return path


LIBRARIES: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "xgboost: fit": (xgboost_model, refit),
    "xgboost: load_model": (
        xgboost_model,
        lambda model: model.load_model(bytearray(xgboost_booster(AFTER).save_raw("ubj"))),
    ),
    "xgboost: an edited leaf": (xgboost_model, edited_leaf),
    "xgboost: best round": (xgboost_model, lambda model: model.get_booster().set_attr(best_iteration="2")),
    "xgboost: missing": (xgboost_model, lambda model: [model.set_params(missing=0.5), model.fit(X, AFTER)]),
    "xgboost: another booster": (xgboost_model, lambda model: setattr(model, "_Booster", xgboost_booster(AFTER))),
    "xgboost: predict_proba": (xgboost_model, put(predict_proba=flipped)),
    "booster of xgboost: update": (xgboost_booster, update_xgboost),
    "booster of xgboost: load_model": (
        xgboost_booster,
        lambda model: model.load_model(bytearray(xgboost_booster(AFTER).save_raw("ubj"))),
    ),
    "booster of xgboost: an edited leaf": (xgboost_booster, edited_leaf),
    "booster of xgboost: state": (
        xgboost_booster,
        lambda model: model.__setstate__(xgboost_booster(AFTER).__getstate__()),
    ),
    "lightgbm: fit": (lightgbm_model, refit),
    "lightgbm: a leaf": (lightgbm_model, lambda model: model.booster_.set_leaf_output(2, 3, 1.5)),
    "lightgbm: another booster": (lightgbm_model, lambda model: setattr(model, "_Booster", lightgbm_booster(AFTER))),
    "booster of lightgbm: a leaf": (lightgbm_booster, lambda model: model.set_leaf_output(0, 2, 1.5)),
    "booster of lightgbm: text": (
        lightgbm_booster,
        lambda model: model.model_from_string(lightgbm_booster(AFTER).model_to_string()),
    ),
    "booster of lightgbm: update": (
        lightgbm_booster,
        lambda model: [model.update(), model.update(), put(best_iteration=-1)(model)],
    ),
    "booster of lightgbm: roll back": (lightgbm_booster, lambda model: model.rollback_one_iter()),
    "booster of lightgbm: best round": (lightgbm_booster, put(best_iteration=3)),
    "catboost: fit": (catboost_model, refit),
    "catboost: scale and bias": (catboost_model, lambda model: model.set_scale_and_bias(2.0, 0.5)),
    "catboost: load_model": (catboost_model, set_weights),
    "catboost: shrink": (catboost_model, lambda model: model.shrink(4)),
    "interpret: fit": (boosting_machine, refit),
    "interpret: scores": (boosting_machine, lambda model: model.term_scores_[0].__imul__(-1)),
    "interpret: intercept": (boosting_machine, put(intercept_=np.array([0.9]))),
    "interpret: scale": (boosting_machine, lambda model: model.scale(1, 3.0)),
    "interpret: remove terms": (boosting_machine, lambda model: model.remove_terms([0])),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:interpret", "ignore::UserWarning:sklearn")
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LIBRARIES)
def test_a_changed_model_of_another_library_is_explained_as_it_is(name, way):
    check_is_never_stale(*LIBRARIES[name], WAYS[way])
