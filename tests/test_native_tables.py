"""Models of tables with levels, behind steps, and made of other models say what they answer when they are read."""

from __future__ import annotations

import ctypes
import functools
import shutil
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor, make_column_transformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SGDClassifier,
    TweedieRegressor,
)
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    SplineTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR
from sklearn.tree import DecisionTreeClassifier

import xcid
from xcid._kernels.random import run_key
from xcid.generators import Balanced
from xcid.io import training
from xcid.native import library, trees
from xcid.native.seen import by_cell

N_ROWS = 160
NUMBERS, LEVELS = ["n0", "n1", "n2"], ["colour", "size", "flag"]


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    if not any(map(shutil.which, library.COMPILERS)):
        return None
    return ctypes.CDLL(str(library.build(tmp_path_factory.mktemp("built") / "bits.so"))).xcid_sums


@pytest.fixture(params=["numpy", "compiled"])
def form(request, monkeypatch, compiled):
    monkeypatch.setattr(trees, "loaded", lambda: compiled if request.param == "compiled" else None)


def frame(seed, missing=0.0, n_rows=N_ROWS):
    """Numbers, texts, ordered and unordered categories of which some never occur, and truths."""
    random = np.random.default_rng(seed)
    found = pd.DataFrame(random.normal(size=(n_rows, 3)).round(2), columns=NUMBERS)
    found["colour"] = pd.Categorical(random.choice(["red", "green", "blue", "grey", "pink"], n_rows))
    found["size"] = pd.Categorical(random.choice([7, 3, 5, 1], n_rows), categories=[9, 7, 5, 3, 1])
    found["flag"] = random.random(n_rows) < 0.4
    holes = random.random((n_rows, 2)) < missing
    found["n1"] = found["n1"].mask(holes[:, 0])
    found["colour"] = found["colour"].mask(holes[:, 1])
    return found.sample(frac=1, axis=1, random_state=seed)


def targets(table, n_classes=2):
    number = table["n0"] + table["n1"].fillna(0) * table["flag"] + 2 * table["colour"].isin(["red", "pink"])
    number += table["size"].isin([3, 7]).astype(float)
    if not n_classes:
        return number.to_numpy() - number.min() + 0.1
    return np.digitize(number, np.quantile(number, np.arange(1, n_classes) / n_classes))


def fitted(model, *given):
    """Fit a model that draws from no global generator, and put back what libsvm draws from there."""
    seeds = {name: 0 for name in model.get_params() if name.endswith("random_state") and "targetencoder" not in name}
    state = np.random.get_state()  # noqa: NPY002
    model.set_params(**seeds).fit(*given)
    np.random.set_state(state)  # noqa: NPY002
    return model


def gap(model, table, seed=0, rows=None, n=150):
    """The largest difference between what is read and what is answered, relative to the largest output."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        explainer = xcid.Explainer(model, table, generator=Balanced(n))
        predict, space = explainer.subject.predict, explainer.space
        assert predict.native is not None
        plan = explainer.setup.generator.draw(space, run_key(seed)).plan
        own = space.encode(table if rows is None else rows)[:21]
        asked = predict(plan.samples(own).reshape(-1, own.shape[1])).reshape(21, -1, len(predict.read.names))
        read = predict.native.planned(plan)(own)
        alone = np.abs(predict.native.outputs(own) - predict(own)).max()
    assert read.shape == asked.shape
    assert np.ptp(asked) > 0
    return max(alone, np.abs(read - asked).max()) / max(1.0, np.abs(asked).max())


def is_read(model, table):
    return xcid.Explainer(model, table, generator=Balanced(64)).subject.predict.native is not None


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_histogram_boosting_on_levels(n_classes, seed, form):
    table = frame(seed, missing=0.1 * (seed % 2))
    make = HistGradientBoostingClassifier if n_classes else HistGradientBoostingRegressor
    model = make(max_iter=12, min_samples_leaf=5, random_state=0).fit(table, targets(table, n_classes))
    assert gap(model, table, seed) <= 1e-12


def lightgbm(name, **settings):
    library = pytest.importorskip("lightgbm")
    more = {"min_child_samples": 4, "min_data_per_group": 2, "cat_smooth": 1, "verbose": -1, "n_jobs": 1}
    return getattr(library, name)(n_estimators=12, **more | settings)


def xgboost(name, **settings):
    return getattr(pytest.importorskip("xgboost"), name)(n_estimators=12, n_jobs=1, **settings)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_lightgbm_on_levels(n_classes, seed, form):
    table = frame(seed, missing=0.1 * (seed % 2))
    model = lightgbm("LGBMClassifier" if n_classes else "LGBMRegressor", max_cat_to_onehot=1 + 4 * (seed % 2))
    model.fit(table, targets(table, n_classes))
    assert '"=="' in str(model.booster_.dump_model()).replace("'", '"')
    assert gap(model, table, seed) <= 1e-12


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_xgboost_on_levels(n_classes, seed, form):
    table = frame(seed, missing=0.1 * (seed % 2))
    make = "XGBClassifier" if n_classes else "XGBRegressor"
    model = xgboost(make, enable_categorical=True, max_cat_to_onehot=1 + 4 * (seed % 2), max_depth=4)
    assert gap(model.fit(table, targets(table, n_classes)), table, seed) <= 1e-6


def test_categories_in_another_order_than_the_models(form):
    table = frame(2)
    other = table.assign(
        colour=table["colour"].cat.set_categories(["pink", "grey", "green", "blue", "red"]),
        size=table["size"].cat.set_categories([1, 3, 5, 7]),
    )
    y = targets(table)
    assert gap(lightgbm("LGBMClassifier").fit(table, y), other) <= 1e-12
    assert gap(fitted(HistGradientBoostingClassifier(max_iter=9), table, y), other) <= 1e-12
    assert gap(xgboost("XGBClassifier", enable_categorical=True).fit(table, y), other) <= 1e-6


def test_levels_beyond_ascii(form):
    """XGBoost remembers their texts cut off, so that they go by the codes of the frame."""
    table = frame(4)
    table["colour"] = table["colour"].cat.rename_categories(["São Paulo", "Zürich", "Köln", "東京", "Oslo"])
    y = (table["colour"].isin(["São Paulo", "東京"]) ^ (table["n0"] > 0)).astype(int)
    assert gap(xgboost("XGBClassifier", enable_categorical=True).fit(table, y), table) <= 1e-6
    assert gap(lightgbm("LGBMClassifier").fit(table, y), table) <= 1e-12


@pytest.mark.parametrize("seed", range(2))
def test_levels_that_are_numbers_to_the_model(seed, form):
    random = np.random.default_rng(seed)
    cells = np.column_stack([random.normal(size=N_ROWS), random.choice([0, 2, 5, 7, 300], N_ROWS)])
    y = np.isin(cells[:, 1], [2, 7, 300]) ^ (cells[:, 0] > 1)
    boosted = lightgbm("LGBMClassifier").fit(cells, y, categorical_feature=[1])
    assert '"=="' in str(boosted.booster_.dump_model()).replace("'", '"')
    assert gap(boosted, cells) <= 1e-12
    assert gap(fitted(HistGradientBoostingClassifier(max_iter=9, categorical_features=[1]), cells, y), cells) <= 1e-12
    table = pd.DataFrame(cells, columns=["a", "b"])
    forest = RandomForestClassifier(9, random_state=0).fit(table, y)
    assert gap(forest, table.astype({"b": "category"})) <= 1e-12


def test_bare_boosters_of_levels_are_read(form):
    table = frame(3)
    y = targets(table)
    assert gap(lightgbm("LGBMClassifier").fit(table, y).booster_, table) <= 1e-12
    assert gap(xgboost("XGBClassifier", enable_categorical=True).fit(table, y).get_booster(), table) <= 1e-6


def prepared(numbers, levels=None):
    """Steps for some columns; the others are passed on or left out."""
    levels = OneHotEncoder(handle_unknown="ignore") if levels is None else levels
    parts = (numbers, ["n2", "n0", "n1"]), (levels, ["size", "colour"]), ("passthrough", ["flag"])
    return make_column_transformer(*parts, sparse_threshold=0)


STEPS = {
    "standard": lambda: prepared(make_pipeline(SimpleImputer(), StandardScaler())),
    "range": lambda: prepared(make_pipeline(MinMaxScaler(), SimpleImputer(add_indicator=True))),
    "largest": lambda: prepared(make_pipeline(MaxAbsScaler(), "passthrough", SimpleImputer(strategy="median"))),
    "robust": lambda: prepared(make_pipeline(SimpleImputer(), RobustScaler()), OneHotEncoder(drop="first")),
    "powers": lambda: prepared(make_pipeline(SimpleImputer(), PowerTransformer())),
    "quantiles": lambda: prepared(make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=20))),
    "bins": lambda: prepared(
        make_pipeline(
            SimpleImputer(), KBinsDiscretizer(4, encode="onehot-dense", quantile_method="averaged_inverted_cdf")
        )
    ),
    "splines": lambda: prepared(make_pipeline(SimpleImputer(), SplineTransformer(n_knots=4))),
    "codes": lambda: prepared(
        make_pipeline(SimpleImputer(), FunctionTransformer(np.tanh)),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    ),
    "rare levels": lambda: prepared(SimpleImputer(), OneHotEncoder(min_frequency=35, handle_unknown="ignore")),
    "targets": lambda: prepared(SimpleImputer(), TargetEncoder(cv=KFold(3))),
}
LAST = {
    "logistic": lambda: LogisticRegression(max_iter=500),
    "forest": lambda: RandomForestClassifier(9, random_state=0),
    "histograms": lambda: HistGradientBoostingClassifier(max_iter=9),
    "boosting": lambda: GradientBoostingClassifier(n_estimators=9, random_state=0),
}


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("last", LAST)
@pytest.mark.parametrize("steps", STEPS)
def test_pipelines_say_what_they_answer(steps, last, seed, form):
    table = frame(seed, missing=0.1)
    model = fitted(make_pipeline(STEPS[steps](), LAST[last]()), table, targets(table, 2 + seed))
    assert gap(model, table, seed) <= 1e-9


def test_further_steps_are_read(form):
    table = frame(1, missing=0.1)
    first = prepared(SimpleImputer())
    model = make_pipeline(first, SelectKBest(k=6), StandardScaler(with_mean=False), LogisticRegression())
    assert gap(model.fit(table, targets(table)), table) <= 1e-9
    first = make_column_transformer((OneHotEncoder(), LEVELS), remainder=SimpleImputer(), sparse_threshold=1)
    assert gap(make_pipeline(first, LAST["forest"]()).fit(table, targets(table)), table) <= 1e-9
    first = make_column_transformer(
        (OrdinalEncoder(), LEVELS), remainder="passthrough", verbose_feature_names_out=False
    )
    first = first.set_output(transform="pandas")
    assert gap(make_pipeline(first, lightgbm("LGBMClassifier")).fit(table, targets(table)), table) <= 1e-9
    assert gap(make_pipeline(first, xgboost("XGBClassifier")).fit(table, targets(table)), table) <= 1e-6


@pytest.mark.parametrize(
    "step", [PolynomialFeatures(2), FunctionTransformer(lambda X: X**2), FunctionTransformer(np.cumsum)]
)
def test_steps_that_mix_columns_or_are_unknown_are_asked_about(step):
    table = frame(1)[NUMBERS]
    ones = np.ones(len(table))
    table = table.assign(y=ones)
    model = make_pipeline(step, RandomForestClassifier(3, random_state=0))
    if getattr(step, "func", None) is np.cumsum:
        step.set_params(kw_args={"axis": 1})
    assert not is_read(model.fit(table, targets(frame(1))), table)


def margins(last, **settings):
    return CalibratedClassifierCV(make_pipeline(StandardScaler(), last), cv=3, **settings)


CLASSIFIERS = {
    "calibrated forest": lambda: CalibratedClassifierCV(RandomForestClassifier(5, random_state=0), cv=3),
    "calibrated boosting": lambda: CalibratedClassifierCV(HistGradientBoostingClassifier(max_iter=5), cv=2),
    "calibrated logistic": lambda: CalibratedClassifierCV(LogisticRegression(), cv=3, method="isotonic"),
    "calibrated together": lambda: CalibratedClassifierCV(LogisticRegression(), cv=3, ensemble=False),
    "calibrated support": lambda: margins(LinearSVC(random_state=0)),
    "calibrated support, steps": lambda: margins(LinearSVC(random_state=0), method="isotonic"),
    "search": lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1]}, cv=2),
    "bagged trees": lambda: BaggingClassifier(n_estimators=9, max_features=0.5, random_state=0),
    "bagged boosting": lambda: BaggingClassifier(
        HistGradientBoostingClassifier(max_iter=4), n_estimators=3, max_features=0.7, random_state=0
    ),
    "adaptive": lambda: AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=9, random_state=0),
    "votes": lambda: VotingClassifier(
        [("a", LogisticRegression()), ("b", RandomForestClassifier(5, random_state=0))], voting="soft", weights=[1, 3]
    ),
    "discriminant": lambda: LinearDiscriminantAnalysis(),
    "descended": lambda: SGDClassifier(loss="log_loss", random_state=0),
}
REGRESSORS = {
    "lasso": lambda: Lasso(0.01),
    "elastic net": lambda: ElasticNet(0.01),
    "support": lambda: LinearSVR(random_state=0),
    "support, kernel": lambda: SVR(kernel="linear"),
    "poisson": lambda: PoissonRegressor(),
    "gamma": lambda: GammaRegressor(),
    "tweedie": lambda: TweedieRegressor(power=1.5),
    "tweedie, identity": lambda: TweedieRegressor(power=0),
    "votes": lambda: VotingRegressor([("a", Ridge()), ("b", RandomForestRegressor(5, random_state=0))]),
    "bagged": lambda: BaggingRegressor(n_estimators=5, random_state=0),
    "of logarithms": lambda: TransformedTargetRegressor(LinearRegression(), func=np.log, inverse_func=np.exp),
    "of scaled targets": lambda: TransformedTargetRegressor(Ridge(), transformer=StandardScaler()),
}


def numbers(seed):
    return np.column_stack([frame(seed)[NUMBERS].to_numpy(), frame(seed + 9)[NUMBERS].to_numpy()])


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_classifiers_say_what_they_answer(name, n_classes, form):
    cells, y = numbers(1), targets(frame(1), n_classes)
    assert gap(fitted(CLASSIFIERS[name](), cells, y), cells) <= 1e-9


@pytest.mark.parametrize("name", REGRESSORS)
def test_regressors_say_what_they_answer(name, form):
    cells, y = numbers(1), targets(frame(1), 0)
    assert gap(fitted(REGRESSORS[name](), cells, y), cells) <= 1e-9


@pytest.mark.parametrize("kind", [kind for kind in training.FAMILIES if kind != "network"])  # which is called
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_models_that_the_command_trains(kind, n_classes, form):
    """On numbers, dates and texts with missing cells: behind a pipeline whose functions are marked."""
    table = frame(5, missing=0.1)
    table["on"] = pd.to_datetime("2024-01-01") + pd.to_timedelta(np.arange(N_ROWS) % 50, unit="D")
    model = training.train(table.assign(y=targets(table, n_classes)), "y", kind, 0).model
    assert gap(model, table, 5) <= 1e-9


def test_what_wraps_a_marked_function_is_not_marked():
    def centred(table):
        return table - np.mean(table, axis=1, keepdims=True)

    table, y = numbers(1), targets(frame(1))
    known = FunctionTransformer(by_cell(lambda cells: np.asarray(cells) ** 3))
    wrapped = FunctionTransformer(functools.wraps(known.func)(centred))
    for step, is_known in ((known, True), (wrapped, False), (FunctionTransformer(known.func, kw_args={}), True)):
        assert is_read(make_pipeline(step, LogisticRegression()).fit(table, y), table) == is_known


def test_frozen_models_are_read(form):
    frozen = pytest.importorskip("sklearn.frozen", reason="scikit-learn has frozen models from 1.6 on")
    cells, y = numbers(1), targets(frame(1))
    inner = frozen.FrozenEstimator(fitted(SVC(kernel="linear"), cells, y))
    assert gap(fitted(CalibratedClassifierCV(inner), cells, y), cells) <= 1e-9


@pytest.mark.parametrize(
    "model",
    [
        SVR(),
        SGDClassifier(loss="modified_huber", random_state=0),
        CalibratedClassifierCV(SVC(), cv=2),
        GradientBoostingClassifier(init=LogisticRegression(), n_estimators=3),
        BaggingClassifier(SVC(), n_estimators=2),
    ],
)
def test_models_that_are_not_known_are_asked(model):
    cells = numbers(1)
    assert not is_read(fitted(model, cells, targets(frame(1))), cells)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("XGBClassifier", {"booster": "dart", "rate_drop": 0.4}),
        ("XGBRFClassifier", {}),
        ("XGBRFRegressor", {"subsample": 0.5}),
        ("XGBClassifier", {"num_parallel_tree": 3}),
    ],
)
def test_further_boosters_of_xgboost(name, settings, seed, form):
    cells, y = numbers(seed), targets(frame(seed), 0 if "Regressor" in name else 2 + seed)
    assert gap(xgboost(name, random_state=0, **settings).fit(cells, y), cells) <= 1e-6


def test_dart_of_lightgbm(form):
    cells, y = numbers(1), targets(frame(1))
    assert gap(lightgbm("LGBMClassifier", boosting_type="dart", drop_rate=0.5).fit(cells, y), cells) <= 1e-12


def catboost(name, **settings):
    library = pytest.importorskip("catboost")
    more = {"verbose": False, "allow_writing_files": False, "thread_count": 1, "random_seed": 0}
    return getattr(library, name)(iterations=12, depth=4, **more | settings)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("CatBoostClassifier", {}),
        ("CatBoostClassifier", {"grow_policy": "Lossguide"}),
        ("CatBoostClassifier", {"nan_mode": "Max"}),
        ("CatBoostRegressor", {}),
        ("CatBoostRegressor", {"loss_function": "Poisson", "grow_policy": "Depthwise"}),
    ],
)
def test_catboost(name, settings, seed, form):
    cells = numbers(seed)
    cells[::9, 0] = np.nan
    y = targets(frame(seed), 2 + seed if "Classifier" in name else 0)
    assert gap(catboost(name, **settings).fit(cells, y), cells, seed) <= 1e-9


def test_catboost_on_levels_is_asked():
    table = frame(1).astype({"colour": str, "size": str})
    model = catboost("CatBoostClassifier", cat_features=["colour", "size"]).fit(table, targets(table))
    assert not is_read(model, table)


def test_networks_in_single_precision_are_asked():
    nn = pytest.importorskip("torch").nn
    assert not is_read(nn.Sequential(nn.Linear(6, 4), nn.ReLU(), nn.Linear(4, 2), nn.Softmax(dim=1)), numbers(1))


@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_explainable_boosting(n_classes):
    glassbox = pytest.importorskip("interpret.glassbox")
    make = glassbox.ExplainableBoostingClassifier if n_classes else glassbox.ExplainableBoostingRegressor
    table = frame(1)
    settings = {"outer_bags": 2, "max_rounds": 20, "n_jobs": 1, "random_state": 0}
    model = make(interactions=0, **settings).fit(table, targets(table, n_classes))
    assert gap(model, table) <= 1e-9
    if n_classes < 3:
        assert not is_read(make(interactions=1, **settings).fit(table, targets(table, n_classes)), table)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_naive_bayes(n_classes):
    cells = numbers(1)
    assert gap(GaussianNB().fit(cells, targets(frame(1), n_classes)), cells) <= 1e-9
