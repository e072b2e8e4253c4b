"""Plain models of scikit-learn, XGBoost and LightGBM load from .skops files without flags; all else needs trust."""

from __future__ import annotations

import importlib
import inspect
import os
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import (
    calibration,
    compose,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    isotonic,
    linear_model,
    model_selection,
    multiclass,
    naive_bayes,
    neighbors,
    neural_network,
    pipeline,
    preprocessing,
    svm,
    tree,
)

from xcid.errors import InvalidFile
from xcid.io import models, vetted

io = pytest.importorskip("skops.io", reason="needs the extra skops")

RANDOM = np.random.default_rng(5)
X = pd.DataFrame(RANDOM.normal(size=(120, 3)), columns=["a", "b", "c"]).round(3)
Y = (X["a"] - X["b"] > 0).astype(int)
THREE = pd.cut(X["a"], [-9, -0.5, 0.5, 9], labels=["low", "mid", "high"]).astype(str)
MIXED = X.assign(
    c=np.where(RANDOM.random(120) < 0.2, np.nan, X["c"]),
    level=RANDOM.choice(["x", "y", "z"], 120),
    count=RANDOM.integers(0, 5, 120),
)


def table(last):
    """A pipeline as people write them."""
    numbers = pipeline.make_pipeline(impute.SimpleImputer(strategy="median"), preprocessing.StandardScaler())
    levels = preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    columns = compose.make_column_transformer((numbers, ["a", "b", "c"]), (levels, ["level"]), remainder="passthrough")
    return pipeline.make_pipeline(columns, last)


FORMULA = linear_model.LogisticRegression()
CLASSIFIERS = {
    "logistic": FORMULA,
    "ridge": linear_model.RidgeClassifier(),
    "sgd": linear_model.SGDClassifier(loss="log_loss"),
    "perceptron": linear_model.Perceptron(),
    "tree": tree.DecisionTreeClassifier(max_depth=3),
    "forest": ensemble.RandomForestClassifier(5),
    "extra trees": ensemble.ExtraTreesClassifier(5),
    "boosting": ensemble.GradientBoostingClassifier(n_estimators=3),
    "histogram boosting": ensemble.HistGradientBoostingClassifier(max_iter=3),
    "adaboost": ensemble.AdaBoostClassifier(n_estimators=3),
    "bagging": ensemble.BaggingClassifier(n_estimators=3),
    "isolated votes": ensemble.VotingClassifier([("a", FORMULA), ("b", naive_bayes.GaussianNB())], voting="soft"),
    "stack": ensemble.StackingClassifier([("a", FORMULA), ("b", tree.DecisionTreeClassifier())], cv=2),
    "network": neural_network.MLPClassifier((4,), max_iter=500, tol=0.1),
    "network by sgd": neural_network.MLPClassifier((4,), solver="sgd", max_iter=500, tol=0.1),
    "svm": svm.SVC(),
    "nu svm": svm.NuSVC(),
    "linear svm": svm.LinearSVC(),
    "calibrated by sigmoid": calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=2),
    "calibrated by steps": calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=2, method="isotonic"),
    "neighbours": neighbors.KNeighborsClassifier(3),
    "neighbours by balls": neighbors.KNeighborsClassifier(3, algorithm="ball_tree", metric="manhattan"),
    "naive bayes": naive_bayes.GaussianNB(),
    "lda": discriminant_analysis.LinearDiscriminantAnalysis(),
    "qda": discriminant_analysis.QuadraticDiscriminantAnalysis(),
    "gaussian process": gaussian_process.GaussianProcessClassifier(max_iter_predict=5),
    "one against the rest": multiclass.OneVsRestClassifier(FORMULA),
    "search": model_selection.GridSearchCV(FORMULA, {"C": [0.1, 1.0]}, cv=2),
    "selected": pipeline.make_pipeline(feature_selection.SelectKBest(k=2), FORMULA),
    "polynomial": pipeline.make_pipeline(preprocessing.PolynomialFeatures(2), FORMULA),
    "quantiles": pipeline.make_pipeline(preprocessing.QuantileTransformer(n_quantiles=20), FORMULA),
    "splines": pipeline.make_pipeline(preprocessing.SplineTransformer(), FORMULA),
    "bins": pipeline.make_pipeline(preprocessing.KBinsDiscretizer(3, quantile_method="averaged_inverted_cdf"), FORMULA),
}
REGRESSORS = {
    "least squares": linear_model.LinearRegression(),
    "lasso": linear_model.Lasso(),
    "huber": linear_model.HuberRegressor(),
    "forest of numbers": ensemble.RandomForestRegressor(5),
    "boosting of numbers": ensemble.GradientBoostingRegressor(n_estimators=3, loss="huber"),
    "histogram boosting of numbers": ensemble.HistGradientBoostingRegressor(max_iter=3, loss="quantile", quantile=0.5),
    "network of numbers": neural_network.MLPRegressor(hidden_layer_sizes=(4,), max_iter=500, tol=0.1),
    "svm of numbers": svm.SVR(),
    "neighbours of numbers": neighbors.KNeighborsRegressor(3),
    "gaussian process of numbers": gaussian_process.GaussianProcessRegressor(
        gaussian_process.kernels.Matern() + gaussian_process.kernels.WhiteKernel()
    ),
    "steps": pipeline.make_pipeline(
        feature_selection.SelectKBest(feature_selection.f_regression, k=1),
        isotonic.IsotonicRegression(out_of_bounds="clip"),
    ),
    "logarithm of the target": compose.TransformedTargetRegressor(
        linear_model.Ridge(), transformer=preprocessing.StandardScaler()
    ),
}
PIPELINES = {
    "mixed table": table(FORMULA),
    "mixed table, forest": table(ensemble.RandomForestClassifier(5)),
    "mixed table, boosting": table(ensemble.HistGradientBoostingClassifier(max_iter=3)),
}


@pytest.fixture(autouse=True)
def tidied_up():
    """SVR draws from NumPy's global generator: give it back as it was."""
    before = np.random.get_state()  # noqa: NPY002
    yield
    np.random.set_state(before)  # noqa: NPY002


def seeded(model):
    """The same model every time."""
    return model.set_params(**{name: 0 for name in model.get_params() if name.endswith("random_state")})


def same_answers(model, table, target, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what will change in a later version
        seeded(model).fit(table, target)
    io.dump(model, path)
    loaded = models.load(path, [])
    ask = "predict_proba" if hasattr(model, "predict_proba") else "predict"
    assert type(loaded) is type(model)
    assert np.array_equal(getattr(loaded, ask)(table), getattr(model, ask)(table))


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers(tmp_path, name):
    same_answers(CLASSIFIERS[name], X, THREE, tmp_path / "m.skops")


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors(tmp_path, name):
    same_answers(REGRESSORS[name], X, X["a"] * 2 - X["b"], tmp_path / "m.skops")


@pytest.mark.parametrize("name", PIPELINES)
def test_pipelines(tmp_path, name):
    same_answers(PIPELINES[name], MIXED, Y, tmp_path / "m.skops")


@pytest.mark.parametrize("name", ["XGBClassifier", "XGBRegressor", "XGBRFClassifier", "XGBRFRegressor"])
def test_xgboost(tmp_path, name):
    library = pytest.importorskip("xgboost")
    same_answers(getattr(library, name)(n_estimators=3, max_depth=2, n_jobs=1), X, Y, tmp_path / "m.skops")


@pytest.mark.parametrize("name", ["LGBMClassifier", "LGBMRegressor"])
def test_lightgbm(tmp_path, name):
    library = pytest.importorskip("lightgbm")
    settings = {"n_estimators": 3, "num_leaves": 4, "verbosity": -1, "n_jobs": 1}
    same_answers(getattr(library, name)(**settings), X, Y, tmp_path / "m.skops")


def test_boosted_trees_in_a_pipeline(tmp_path):
    library = pytest.importorskip("xgboost")
    same_answers(table(library.XGBClassifier(n_estimators=3, n_jobs=1)), MIXED, Y, tmp_path / "m.skops")


class TestTheList:
    @pytest.mark.parametrize("name", vetted.VETTED)
    def test_every_type_is_there(self, name):
        home, _, last = name.rpartition(".")
        pytest.importorskip(name.partition(".")[0])
        if last != "_TemperatureScaling":  # of scikit-learn 1.8 and newer
            assert callable(getattr(importlib.import_module(home), last))

    @pytest.mark.parametrize("name", [name for name, why in vetted.VETTED.items() if why == vetted.STATE_ONLY])
    def test_no_code_of_its_own_takes_the_state(self, name):
        home, _, last = name.rpartition(".")
        pytest.importorskip(name.partition(".")[0])
        found = getattr(importlib.import_module(home), last, None)
        makers = [
            kind
            for kind in inspect.getmro(found or object)
            for part in ("__setstate__", "__reduce__")
            if part in vars(kind)
        ]
        assert {kind.__module__ for kind in makers} <= {"builtins", "sklearn.base"}


class TestOthersNeedTrust:
    def test_a_function_that_would_run_commands(self, tmp_path):
        harm = preprocessing.FunctionTransformer(os.system)
        io.dump(pipeline.make_pipeline(harm, FORMULA), tmp_path / "m.skops")
        with pytest.raises(InvalidFile, match=r"does not know: posix\.system; a model has no need of"):
            models.load(tmp_path / "m.skops", [])

    def test_trust_of_one_type_is_not_that_of_another(self, tmp_path):
        two = pipeline.make_pipeline(
            preprocessing.FunctionTransformer(os.system), preprocessing.FunctionTransformer(os.popen)
        )
        io.dump(two, tmp_path / "m.skops")
        with pytest.raises(InvalidFile, match=r"does not know: os\.popen;"):
            models.load(tmp_path / "m.skops", ["posix.system"])


@pytest.mark.parametrize(
    ("model", "features"),
    [
        (ensemble.RandomForestClassifier(2, max_depth=3), lambda model: model.estimators_[1].tree_.feature),
        (
            ensemble.HistGradientBoostingClassifier(max_iter=2),
            lambda model: model._predictors[1][0].nodes["feature_idx"],
        ),
    ],
)
def test_features_that_a_row_does_not_have(tmp_path, model, features):
    """What lies beside a row in memory may or may not be there: the trial does not always find out."""
    features(seeded(model).fit(X, Y))[0] = 3
    io.dump(model, tmp_path / "m.skops")
    with pytest.raises(InvalidFile, match=r"m\.skops has a tree with a feature beyond"):
        models.load(tmp_path / "m.skops", [])


def test_levels_of_boosted_trees(tmp_path):
    boosted = ensemble.HistGradientBoostingClassifier(max_iter=5, categorical_features=[1], min_samples_leaf=5)
    table = np.column_stack([X["a"], MIXED["count"]])
    same_answers(boosted, table, (MIXED["count"] % 2 == 0).astype(int), tmp_path / "m.skops")
    assert any(stage[0].nodes["is_categorical"].any() for stage in boosted._predictors)
