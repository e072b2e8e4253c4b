"""Model x table x question: every cell is a real fit and a real explanation of rows that one planted feature decides.

The score behind every target is the planted feature's effect plus two mild ones that cannot turn the rows explained
here: these change sides only when the planted feature does. The ignored column is constant while the models learn (a
pipeline drops it) and varies in the background, so that no model can have learnt anything from it; each cell checks
both, on the model as it is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction import DictVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import xcid
from xcid.generators import Balanced
from xcid.outcomes import Threshold, ToClass, Within
from xcid.setup import READ, bind_generator

pytestmark = [
    pytest.mark.filterwarnings("ignore:the module's outputs are no probabilities"),
    pytest.mark.filterwarnings("ignore:the module's one output is taken for a number"),
]

N, ROWS = 300, 6
MILD = 0.5  # the most that one mild feature adds
DECIDED = 4 * MILD  # an effect beyond it is well out of the mild ones' reach, for two classes and for three
CITIES = {"Bern": 2.1, "Lyon": 0.4, "Oslo": -2.1, "Porto": -0.4}
GRADES = ["high", "low", "middle"]
CODES = {level: float(i) for levels in (sorted(CITIES), GRADES) for i, level in enumerate(levels)}


# Tables ---------------------------------------------------------------------------------------------------------------


def young_or_old(rng):
    """Ages without a middle, so that age tells: 18 counts -1 and 89 counts 1."""
    return np.where(rng.random(N) < 0.5, rng.integers(18, 25, N), rng.integers(83, 90, N))


def numeric():
    """Numbers alone."""
    rng = np.random.default_rng(11)
    return {
        "mild": (rng.choice([-1, 1], N) * rng.uniform(0.7, 1, N)).round(3),
        "planted": rng.normal(0, 1.3, N).round(3),
        "ignored": rng.normal(size=N).round(3),
        "age": young_or_old(rng),
        "idle": rng.normal(size=N).round(3),
        "count": rng.poisson(1.0, N),
    }


def gappy():
    """Numbers, some of them missing."""
    columns = numeric()
    idle = np.where(np.random.default_rng(12).random(N) < 0.1, np.nan, columns["idle"])
    return {**columns, "idle": idle}


def mixed():
    """Numbers, whole numbers, text, booleans, and missing numbers."""
    rng = np.random.default_rng(13)
    income = np.where(rng.random(N) < 0.1, np.nan, rng.lognormal(8, 1, N).round(2))
    return {
        "income": income,
        "member": rng.random(N) < 0.5,
        "planted": np.array(list(CITIES), dtype=object)[rng.integers(0, 4, N)],
        "ignored": rng.normal(size=N).round(3),
        "age": young_or_old(rng),
        "grade": np.array(GRADES, dtype=object)[rng.integers(0, 3, N)],
    }


def holey():
    """The same with missing text."""
    columns = mixed()
    return {**columns, "grade": np.where(np.random.default_rng(14).random(N) < 0.1, None, columns["grade"])}


def effect(columns):
    """(N,) what the planted feature adds to the score."""
    planted = columns["planted"]
    return np.array([CITIES[city] for city in planted]) if planted.dtype == object else planted


def targets(columns):
    """Two classes, three classes and a number from one score."""
    mild = columns["mild"] if "mild" in columns else np.where(columns["member"], 1.0, -1.0)
    score = effect(columns) + MILD * (mild + (columns["age"] - 53.5) / 35.5)
    return {"two": (score > 0).astype(int), "three": np.digitize(score, [-0.8, 0.3]), "number": 10 * score}


def as_array(columns):
    return np.column_stack(list(columns.values())).astype(float)


def as_objects(columns):
    return np.column_stack([column.astype(object) for column in columns.values()])


def as_categories(columns):
    return pd.DataFrame(columns).astype({"planted": "category", "grade": "category"})


def as_polars(columns):
    frame = pl.DataFrame({name: column.tolist() for name, column in columns.items()})
    return frame.with_columns(pl.selectors.float().fill_nan(None))


def as_arrow(columns):
    return as_polars(columns).to_arrow()


def as_dicts(columns):
    lists = (column.tolist() for column in columns.values())
    return [dict(zip(columns, row, strict=True)) for row in zip(*lists, strict=True)]


TABLES = {
    "pandas": (numeric, pd.DataFrame),
    "polars": (numeric, as_polars),
    "pyarrow": (numeric, as_arrow),
    "array": (numeric, as_array),
    "csr": (numeric, lambda columns: scipy.sparse.csr_matrix(as_array(columns))),
    "csc": (numeric, lambda columns: scipy.sparse.csc_array(as_array(columns))),
    "dicts": (numeric, as_dicts),
    "gappy pandas": (gappy, pd.DataFrame),
    "gappy array": (gappy, as_array),
    "mixed pandas": (mixed, pd.DataFrame),
    "mixed categories": (mixed, as_categories),
    "mixed polars": (mixed, as_polars),
    "mixed pyarrow": (mixed, as_arrow),
    "mixed objects": (mixed, as_objects),
    "mixed dicts": (mixed, as_dicts),
    "holey pandas": (holey, pd.DataFrame),
    "holey categories": (holey, as_categories),
    "holey polars": (holey, as_polars),
    "holey dicts": (holey, as_dicts),
}
PLAIN = ["pandas", "polars", "pyarrow", "array", "csr", "csc", "dicts"]
UNNAMED = {"array", "csr", "csc", "gappy array", "mixed objects"}


@cache
def columns_of(name):
    return TABLES[name][0]()


@cache
def background(name):
    return TABLES[name][1](columns_of(name))


@cache
def lesson(name):
    """The table that a model learns from: nothing can be learnt from its ignored column."""
    columns = columns_of(name)
    return TABLES[name][1]({**columns, "ignored": np.zeros(N)})


def decided_rows(name):
    """Rows that the planted feature alone decides."""
    return np.flatnonzero(np.abs(effect(columns_of(name))) > DECIDED)[:ROWS]


def rows_of(name, table):
    """The same rows in the same kind of table."""
    at = decided_rows(name)
    if isinstance(table, pd.DataFrame):
        return table.iloc[at]
    if isinstance(table, list):
        return [table[i] for i in at]
    return table.take(at) if isinstance(table, pa.Table) else table[at]


def names_for(name, columns=None):
    """What an explainer is told of a table without names."""
    return {"feature_names": list(columns or columns_of(name))} if name in UNNAMED else {}


# Models: fit(table, target, task, names) -> model ---------------------------------------------------------------------


def numbers(table, names):
    """Any table as a float64 matrix; levels by their place in the alphabet, missing ones as NaN."""
    if scipy.sparse.issparse(table):
        return table.toarray()
    if isinstance(table, np.ndarray) and table.dtype.kind == "f":
        return table
    if isinstance(table, list):
        columns = [[row[name] for row in table] for name in names]
    else:
        columns = list(table.T) if isinstance(table, np.ndarray) else [np.asarray(table[name]) for name in names]
    return np.column_stack([coded(np.asarray(column)) for column in columns])


def coded(column):
    """Numbers as they are; levels by their place in the alphabet."""
    if column.dtype.kind in "fiub":
        return column.astype(float)
    return np.array([CODES.get(cell, cell) for cell in column.tolist()], dtype=float)


def tree(task):
    kind = DecisionTreeRegressor if task == "number" else DecisionTreeClassifier
    return kind(max_depth=7, min_samples_leaf=3, random_state=0)


def linear(task):
    return LinearRegression() if task == "number" else LogisticRegression(max_iter=5000, tol=1e-10)


def fit_linear(table, target, task, names):
    return linear(task).fit(table, target)


def fit_tree(table, target, task, names):
    return tree(task).fit(table, target)


def fit_pipeline(table, target, task, names):
    columns = make_column_transformer(
        ("drop", ["ignored"]),
        (OneHotEncoder(), ["planted", "grade"]),
        (make_pipeline(SimpleImputer(), StandardScaler()), ["income", "age"]),
        remainder="passthrough",
    )
    return make_pipeline(columns, linear(task)).fit(table, target)


def fit_by_position(table, target, task, names):
    """A pipeline that knows columns by place, as one does that learns from an array of objects."""
    at = {name: names.index(name) for name in names}
    columns = make_column_transformer(
        ("drop", [at["ignored"]]),
        (OneHotEncoder(), [at["planted"], at["grade"]]),
        (make_pipeline(SimpleImputer(), StandardScaler()), [at["income"], at["age"]]),
        remainder="passthrough",
    )
    return make_pipeline(columns, linear(task)).fit(table, target)


def fit_dict_pipeline(table, target, task, names):
    return make_pipeline(DictVectorizer(), StandardScaler(with_mean=False), linear(task)).fit(table, target)


def fit_xgboost(table, target, task, names):
    import xgboost

    kind = xgboost.XGBRegressor if task == "number" else xgboost.XGBClassifier
    return kind(n_estimators=20, n_jobs=1, max_depth=4, enable_categorical=True).fit(table, target)


def fit_xgboost_booster(table, target, task, names):
    import xgboost

    objective = {
        "two": {"objective": "binary:logistic"},
        "three": {"objective": "multi:softprob", "num_class": 3},
        "number": {"objective": "reg:squarederror"},
    }[task]
    data = xgboost.DMatrix(table, target, enable_categorical=True)
    return xgboost.train({"max_depth": 4, "nthread": 1, "seed": 0, **objective}, data, 20)


LIGHTGBM = {"num_leaves": 8, "min_child_samples": 5, "min_data_per_group": 5, "verbose": -1}


def fit_lightgbm(table, target, task, names):
    import lightgbm

    kind = lightgbm.LGBMRegressor if task == "number" else lightgbm.LGBMClassifier
    return kind(n_estimators=20, n_jobs=1, learning_rate=0.3, **LIGHTGBM).fit(table, target)


def fit_lightgbm_booster(table, target, task, names):
    import lightgbm

    objective = {
        "two": {"objective": "binary"},
        "three": {"objective": "multiclass", "num_class": 3},
        "number": {"objective": "regression"},
    }[task]
    settings = {"num_threads": 1, "learning_rate": 0.3, **LIGHTGBM, **objective}
    return lightgbm.train(settings, lightgbm.Dataset(table, target), 20)


def fit_catboost(table, target, task, names):
    import catboost

    kind = catboost.CatBoostRegressor if task == "number" else catboost.CatBoostClassifier
    levels = [] if "mild" in names else [names.index("planted"), names.index("grade")]
    settings = {"iterations": 30, "depth": 3, "learning_rate": 0.3, "verbose": 0, "thread_count": 1}
    return kind(**settings, allow_writing_files=False, cat_features=levels).fit(table, target)


def fit_torch(table, target, task, names):
    """A small network; weights of a column that is 0 while it learns do not move, so they start from 0."""
    import torch

    torch.manual_seed(0)
    matrix = numbers(table, names)
    first = torch.nn.Linear(matrix.shape[1], 8)
    with torch.no_grad():
        first.weight[:, names.index("ignored")] = 0.0
        first.weight[:, names.index("age")] /= 50.0
    head = [torch.nn.Sigmoid()] * (task == "two")
    model = torch.nn.Sequential(first, torch.nn.ReLU(), torch.nn.Linear(8, 3 if task == "three" else 1), *head)
    loss = {"two": torch.nn.BCELoss(), "three": torch.nn.CrossEntropyLoss(), "number": torch.nn.MSELoss()}[task]
    wanted = torch.tensor(target) if task == "three" else torch.tensor(target, dtype=torch.float32)[:, None]
    inputs = torch.tensor(matrix, dtype=torch.float32)
    steps = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(400):
        steps.zero_grad()
        loss(model(inputs), wanted).backward()
        steps.step()
    return model


def fit_onnx(table, target, task, names):
    import skl2onnx

    matrix = numbers(table, names).astype(np.float32)
    model = tree(task).fit(matrix, target)
    return session(skl2onnx.to_onnx(model, matrix[:1]))


def fit_onnx_columns(table, target, task, names):
    """One input for each column; the pipeline drops the ignored one."""
    import skl2onnx
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType, StringTensorType

    kinds = {"planted": StringTensorType, "grade": StringTensorType, "age": Int64TensorType, "member": Int64TensorType}
    model = fit_pipeline(pd.DataFrame(mixed()), target, task, names)
    types = [(name, kinds.get(name, FloatTensorType)([None, 1])) for name in names]
    return session(skl2onnx.to_onnx(model, initial_types=types))


def session(proto):
    import onnxruntime

    return onnxruntime.InferenceSession(proto.SerializeToString(), providers=["CPUExecutionProvider"])


class OnlyPredict:
    """A model of one's own."""

    def __init__(self, predict):
        self.predict = predict


def fit_object(table, target, task, names):
    model = tree(task).fit(numbers(table, names), target)
    return OnlyPredict(lambda rows: model.predict(numbers(rows, names)))


def fit_function(table, target, task, names):
    """Two classes are answered by the probability of the second."""
    model = tree(task).fit(numbers(table, names), target)
    if task == "number":
        return lambda rows: model.predict(numbers(rows, names))
    if task == "three":
        return lambda rows: model.predict_proba(numbers(rows, names))
    return lambda rows: model.predict_proba(numbers(rows, names))[:, 1]


MODELS = {
    "sklearn": (fit_linear, ["pandas", "polars", "pyarrow", "array", "csr", "csc"], ()),
    "sklearn tree": (fit_tree, ["gappy pandas", "gappy array", "polars"], ()),
    "pipeline": (
        fit_pipeline,
        ["mixed pandas", "mixed categories", "mixed polars", "holey pandas", "holey polars"],
        (),
    ),
    "pipeline by position": (fit_by_position, ["mixed objects"], ()),
    "dict pipeline": (fit_dict_pipeline, ["dicts"], ()),
    "xgboost": (
        fit_xgboost,
        ["pandas", "polars", "pyarrow", "array", "csr", "gappy array", "mixed categories", "holey categories"],
        ("xgboost",),
    ),
    "xgboost booster": (
        fit_xgboost_booster,
        ["pandas", "polars", "pyarrow", "array", "csr", "gappy pandas", "mixed categories", "holey categories"],
        ("xgboost",),
    ),
    "lightgbm": (
        fit_lightgbm,
        ["pandas", "pyarrow", "array", "csr", "gappy array", "mixed categories", "holey categories"],
        ("lightgbm",),
    ),
    "lightgbm booster": (
        fit_lightgbm_booster,
        ["pandas", "pyarrow", "array", "csr", "gappy pandas", "mixed categories", "holey categories"],
        ("lightgbm",),
    ),
    "catboost": (
        fit_catboost,
        ["pandas", "polars", "array", "csr", "gappy array", "mixed pandas", "mixed categories", "mixed objects"],
        ("catboost",),
    ),
    "torch": (fit_torch, PLAIN, ("torch",)),
    "onnx": (fit_onnx, PLAIN, ("onnxruntime", "skl2onnx")),
    "onnx columns": (
        fit_onnx_columns,
        ["mixed pandas", "mixed polars", "mixed pyarrow", "mixed dicts"],
        ("onnxruntime", "skl2onnx"),
    ),
    "object": (fit_object, [*PLAIN, "mixed objects", "holey pandas", "holey polars", "holey dicts"], ()),
    "function": (fit_function, [*PLAIN, "gappy array", "holey pandas", "holey polars", "holey dicts"], ()),
}


@cache
def fitted(model, table, task):
    names = list(columns_of(table))
    return MODELS[model][0](lesson(table), targets(columns_of(table))[task], task, names)


# Questions ------------------------------------------------------------------------------------------------------------


def other_sign(outputs, reference):
    """A user's own question."""
    return np.sign(outputs[:, 0]) != np.sign(reference[:, 0])


QUESTIONS = {
    "flip": ("two", None),
    "to class": ("three", ToClass(2)),
    "three classes": ("three", None),
    "threshold": ("two", Threshold(0.3, target=1)),
    "interval": ("number", None),
    "within": ("number", Within(5, np.inf)),
    "function": ("number", other_sign),
}


@dataclass(frozen=True)
class Cell:
    model: str
    table: str
    question: str

    def __str__(self):
        return f"{self.model}-{self.table}-{self.question}"

    @property
    def task(self):
        return QUESTIONS[self.question][0]

    @property
    def names(self):
        return list(columns_of(self.table))


@cache
def explained(cell, make=xcid.Explainer):
    """The explainer of a cell and what it says of the rows that the planted feature decides."""
    need(cell.model)
    model, outcome = fitted(cell.model, cell.table, cell.task), QUESTIONS[cell.question][1]
    explainer = make(model, background(cell.table), outcome=outcome, **names_for(cell.table))
    return explainer, explainer(rows_of(cell.table, background(cell.table)))


def need(model):
    for library in MODELS[model][2]:
        pytest.importorskip(library, reason=f"cells of {model} need {library}")


CELLS = [
    Cell(model, table, question)
    for model, (_, tables, _) in MODELS.items()
    for i, table in enumerate(tables)
    for j, question in enumerate(["flip", "to class", "threshold", "interval", "within", "function"])
    if (i + j) % 2 == 0 or len(tables) < 3  # a chessboard: every table with three questions, half the time
]


def assert_learnt(explainer, cell):
    """The model knows its target, and the ignored column makes no difference to it."""
    matrix, target = explainer.space.background, targets(columns_of(cell.table))[cell.task]
    outputs = explainer.subject.predict(matrix)
    if cell.task == "number":
        assert np.corrcoef(outputs[:, 0], target)[0, 1] ** 2 > 0.9
    else:
        assert np.mean(outputs.argmax(axis=1) == target) > 0.9
    other = matrix.copy()
    other[:, cell.names.index("ignored")] = matrix[::-1, cell.names.index("ignored")]
    assert np.allclose(explainer.subject.predict(other), outputs, rtol=0, atol=1e-9)


def assert_sound(explanation, cell):
    """The planted feature comes first in every row."""
    assert explanation.values.shape == explanation.importance.shape == (ROWS, len(cell.names))
    assert explanation.feature_names == tuple(cell.names)
    assert np.isfinite(explanation.values).all()
    assert np.isfinite(explanation.importance).all()
    assert (explanation.status == "ok").all()
    assert (np.abs(explanation.values).argmax(axis=1) == cell.names.index("planted")).all()


@pytest.mark.parametrize("cell", CELLS, ids=str)
def test_cell(cell):
    explainer, explanation = explained(cell)
    assert_learnt(explainer, cell)
    assert_sound(explanation, cell)
    mean = np.abs(explanation.values).mean(axis=0)
    ignored = mean[cell.names.index("ignored")]
    assert ignored < 0.35 * mean[cell.names.index("planted")]
    assert np.sum(mean > ignored) >= len(mean) / 2
    assert np.all(explanation.p_values[:, cell.names.index("planted")] < 0.01)
    assert (
        np.mean(explanation.p_values[:, cell.names.index("ignored")] > 0.01) > 0.6
    )  # marked as noise, all but by chance


@pytest.mark.parametrize("cell", [Cell(model, tables[0], "flip") for model, (_, tables, _) in MODELS.items()], ids=str)
def test_cell_in_the_papers_setting(cell):
    """Its perturbations change one or two features, so that all but the planted one score alike, far above 0."""
    explainer, explanation = explained(cell, xcid.Explainer.paper)
    assert_learnt(explainer, cell)
    assert_sound(explanation, cell)
    mean = np.abs(explanation.values).mean(axis=0)
    assert mean[cell.names.index("ignored")] < 0.6 * mean[cell.names.index("planted")]
    assert explanation.base_values is None


def test_threshold_of_a_model_that_gives_labels():
    """Without a target the second of two classes counts, as for probabilities."""
    cell = Cell("object", "array", "threshold")
    model = fitted(cell.model, cell.table, cell.task)
    explanation = xcid.Explainer(model, background("array"), outcome=Threshold(0.3))(background("array")[:ROWS])
    assert (explanation.status == "ok").all()


# Invariances ----------------------------------------------------------------------------------------------------------


def assert_same_scores(explanation, expected, order=slice(None), atol=1e-9):
    """Scores, counts and data agree, the columns taken in the given order."""
    if np.array_equal(explanation.exact, expected.exact):  # else one is read, and the other sampled
        reach = 10 * atol * max(1.0, np.abs(expected.values).max())
        assert np.allclose(explanation.values[:, order], expected.values, rtol=0, atol=reach)
    assert np.allclose(explanation.importance[:, order], expected.importance, rtol=0, atol=atol)
    assert np.array_equal(explanation.data[:, order], expected.data, equal_nan=True)
    assert np.array_equal(explanation.n_evaluations, expected.n_evaluations)


def picking(torch, columns):
    """A module that puts columns in another order."""

    class Pick(torch.nn.Module):
        def forward(self, rows):
            return rows[:, columns]

    return Pick()


def turned(columns):
    """Last column first."""
    return dict(reversed(columns.items()))


def explained_turned(cell, model):
    columns = turned(columns_of(cell.table))
    table = TABLES[cell.table][1](columns)
    explainer = xcid.Explainer(model, table, outcome=QUESTIONS[cell.question][1], **names_for(cell.table, columns))
    return explainer(rows_of(cell.table, table))


BY_NAME = [
    Cell("sklearn", "pandas", "flip"),
    Cell("sklearn", "polars", "interval"),
    Cell("sklearn tree", "gappy pandas", "to class"),
    Cell("pipeline", "mixed pandas", "to class"),
    Cell("pipeline", "holey polars", "threshold"),
    Cell("xgboost", "pandas", "flip"),
    Cell("xgboost", "holey categories", "to class"),
    Cell("xgboost booster", "pandas", "flip"),
    Cell("xgboost booster", "polars", "within"),
    Cell("xgboost booster", "holey categories", "threshold"),
    Cell("lightgbm", "pandas", "flip"),
    Cell("lightgbm", "pyarrow", "interval"),
    Cell("lightgbm", "holey categories", "threshold"),
    Cell("lightgbm booster", "pandas", "to class"),
    Cell("lightgbm booster", "holey categories", "flip"),
    Cell("catboost", "pandas", "interval"),
    Cell("catboost", "polars", "flip"),
    Cell("catboost", "mixed pandas", "to class"),
    Cell("onnx columns", "mixed pandas", "to class"),
    Cell("onnx columns", "mixed dicts", "flip"),
    Cell("dict pipeline", "dicts", "flip"),
    Cell("object", "holey polars", "function"),
    Cell("function", "holey dicts", "to class"),
]


@pytest.mark.parametrize("cell", BY_NAME, ids=str)
def test_the_order_of_columns_changes_no_score(cell):
    """A model that knows its columns by name is the same model."""
    _, expected = explained(cell)
    model = fitted(cell.model, cell.table, cell.task)
    assert_same_scores(explained_turned(cell, model), expected, slice(None, None, -1))


NAMED = ["sklearn", "xgboost", "xgboost booster", "lightgbm", "lightgbm booster", "catboost"]


@pytest.mark.parametrize("question", ["flip", "to class", "interval"])
@pytest.mark.parametrize("model", NAMED)
def test_the_order_of_named_columns_of_an_array_changes_no_score(model, question):
    """A model that knows names, and an array whose columns are named in another order."""
    _, expected = explained(Cell(model, "pandas", question))
    cell = Cell(model, "array", question)
    explanation = explained_turned(cell, fitted(model, "pandas", cell.task))
    assert_same_scores(explanation, expected, slice(None, None, -1))


@pytest.mark.parametrize("question", ["flip", "to class", "interval"])
def test_the_order_of_columns_of_an_array_changes_no_score(question):
    """A model that knows its columns by place learns again from the turned table."""
    cell = Cell("sklearn", "array", question)
    _, expected = explained(cell)
    columns = turned(columns_of("array"))
    again = fit_linear(as_array({**columns, "ignored": np.zeros(N)}), targets(columns)[cell.task], cell.task, None)
    assert_same_scores(explained_turned(cell, again), expected, slice(None, None, -1), atol=1e-5)


@pytest.mark.parametrize("question", ["flip", "to class", "interval"])
@pytest.mark.parametrize("table", ["array", "pandas"])
def test_the_order_of_inputs_changes_no_score(table, question):
    """A network that turns its inputs back; in single precision it answers a row by its place in a call, a little."""
    cell = Cell("torch", table, question)
    _, expected = explained(cell)
    torch = pytest.importorskip("torch")
    turn_back = picking(torch, list(range(len(cell.names)))[::-1])
    model = torch.nn.Sequential(turn_back, fitted(cell.model, table, cell.task))
    assert_same_scores(explained_turned(cell, model), expected, slice(None, None, -1), atol=1e-5)


TEXT = [("a", "b", "c"), ("b", "c", "a"), ("z", "k", "a")]
WHOLE = [(1, 2, 0), (2, 1, 0)]
RENAMED = [
    (Cell(model, table, question), labels)
    for (model, table), names in {
        ("sklearn", "array"): TEXT,
        ("sklearn tree", "gappy pandas"): TEXT,
        ("pipeline", "mixed pandas"): TEXT,
        ("dict pipeline", "dicts"): TEXT,
        ("lightgbm", "mixed categories"): TEXT,
        ("catboost", "mixed pandas"): TEXT,
        ("onnx", "array"): TEXT,
        ("onnx columns", "mixed polars"): TEXT,
        ("object", "pandas"): TEXT,
        ("xgboost", "array"): WHOLE,
        ("xgboost booster", "pandas"): WHOLE,
        ("lightgbm booster", "pandas"): WHOLE,
    }.items()
    for labels in names
    for question in ["to class", "three classes"]
]


class Renamed:
    """The outputs of a model under other names, in the order of those."""

    def __init__(self, predict, space, labels):
        self.predict, self.space, self.order = predict, space, np.argsort(np.array(labels).astype(str))
        self.classes_ = np.array(labels).astype(str)[self.order]

    def predict_proba(self, table):
        return self.predict(self.space.encode(table))[:, self.order]


def renamed_outcome(cell, labels):
    return ToClass(labels[2]) if cell.question == "to class" else None


def explained_under(labels, known, cell, table):
    """The outputs of a known model under other names, explained by as many perturbations as the model that is read."""
    model = Renamed(known.subject.predict, known.space, labels)
    explainer = xcid.Explainer(model, table, outcome=renamed_outcome(cell, labels), **names_for(cell.table))
    is_sampled = known.subject.predict.is_quick and known.subject.adds_up_on is None
    explainer = explainer.replace(generator=bind_generator(Balanced(READ if is_sampled else None), explainer.subject))
    return explainer, explainer(rows_of(cell.table, table))


@pytest.mark.parametrize(("cell", "labels"), RENAMED, ids=lambda part: str(part).replace("'", ""))
def test_the_names_of_classes_change_no_score(cell, labels):
    """Names that sort like the old ones and names that do not: the same outputs under other names, in their order."""
    known, expected = explained(cell)
    table = background(cell.table)
    if known.subject.exact is not None and not expected.exact.all():  # what is exact helps where a model is read alone
        _, expected = explained_under(known.subject.predict.read.names, known, cell, table)
    explainer, found = explained_under(labels, known, cell, table)
    assert_same_scores(found, expected)
    assert explainer.subject.predict.read.names == tuple(sorted(str(label) for label in labels))


@pytest.mark.parametrize(("cell", "labels"), RENAMED, ids=lambda part: str(part).replace("'", ""))
def test_a_model_that_learns_other_names_says_nearly_the_same(cell, labels):
    """A model that learns again differs in the last digits, and some libraries' in more."""
    _, expected = explained(cell)
    target = np.array(labels)[targets(columns_of(cell.table))["three"]]
    model = MODELS[cell.model][0](lesson(cell.table), target, "three", cell.names)
    table = background(cell.table)
    explainer = xcid.Explainer(model, table, outcome=renamed_outcome(cell, labels), **names_for(cell.table))
    explanation = explainer(rows_of(cell.table, table))
    assert np.allclose(explanation.values, expected.values, rtol=0, atol=0.15 * np.abs(expected.values).max())
    assert set(explainer.subject.predict.read.names) - {"another label"} == {str(label) for label in labels}


@pytest.mark.parametrize("question", ["to class", "three classes"])
@pytest.mark.parametrize("labels", WHOLE, ids=str)
def test_the_order_of_outputs_changes_no_score(labels, question):
    """Where classes have no names, their places are their names."""
    torch = pytest.importorskip("torch", reason="modules of PyTorch need it")
    cell = Cell("torch", "pandas", question)
    _, expected = explained(cell)
    model = torch.nn.Sequential(fitted("torch", "pandas", "three"), picking(torch, np.argsort(labels).tolist()))
    explainer = xcid.Explainer(model, background("pandas"), outcome=renamed_outcome(cell, labels))
    assert_same_scores(explainer(rows_of("pandas", background("pandas"))), expected)


@pytest.mark.parametrize("labels", [("a", "b"), ("b", "a")], ids=str)
@pytest.mark.parametrize("question", ["flip", "threshold"])
@pytest.mark.parametrize("model", ["sklearn", "lightgbm", "catboost", "onnx"])
def test_the_names_of_two_classes_change_no_score(model, question, labels):
    cell = Cell(model, "array", question)
    _, expected = explained(cell)
    target = np.array(labels)[targets(columns_of("array"))["two"]]
    again = MODELS[model][0](lesson("array"), target, "two", cell.names)
    outcome = Threshold(0.3, target=labels[1]) if question == "threshold" else None
    explainer = xcid.Explainer(again, background("array"), outcome=outcome, **names_for("array"))
    explanation = explainer(rows_of("array", background("array")))
    turned = explanation.towards(labels[1])  # which need not be the second of them
    assert np.allclose(turned.values, expected.values, rtol=0, atol=1e-2)  # the model learns again


RETYPED = [
    (Cell(model, tables[0], question), table)
    for model, *tables in [
        ("sklearn", "pandas", "polars", "pyarrow", "array"),
        ("xgboost", "pandas", "polars", "pyarrow", "array"),  # not sparse: to XGBoost a 0 is missing there
        ("xgboost booster", "pandas", "polars", "pyarrow", "array"),
        ("lightgbm", "pandas", "pyarrow", "array"),
        ("lightgbm booster", "pandas", "pyarrow", "array", "csr"),
        ("catboost", "pandas", "polars", "array", "csr"),
        ("torch", *PLAIN),
        ("onnx", *PLAIN),
        ("onnx columns", "mixed pandas", "mixed polars", "mixed pyarrow", "mixed dicts"),
        ("object", *PLAIN),
        ("function", *PLAIN),
        ("function", *(name for name in TABLES if name.startswith("mixed"))),
        ("function", *(name for name in TABLES if name.startswith("holey"))),
    ]
    for table in tables[1:]
    for question in ["flip", "interval"]
]


@pytest.mark.parametrize(("cell", "table"), RETYPED, ids=str)
def test_the_make_of_the_table_changes_no_score(cell, table):
    """One model, asked with other tables of the same cells."""
    _, expected = explained(cell)
    model = fitted(cell.model, cell.table, cell.task)
    explainer = xcid.Explainer(model, background(table), outcome=QUESTIONS[cell.question][1], **names_for(table))
    assert_same_scores(explainer(rows_of(table, background(table))), expected)


# Tables that reach the model changed ----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", ["sklearn", "lightgbm"])
@pytest.mark.parametrize("table", ["csr", "csc"])
def test_a_sparse_table_for_a_model_that_knows_names(model, table):
    need(model)
    _, expected = explained(Cell(model, "pandas", "flip"))
    explainer = xcid.Explainer(fitted(model, "pandas", "two"), background(table), **names_for(table))
    assert_same_scores(explainer(rows_of(table, background(table))), expected)


@pytest.mark.parametrize("model", ["lightgbm booster", "catboost"])
def test_the_order_of_named_columns_of_a_sparse_table_changes_no_score(model):
    _, expected = explained(Cell(model, "pandas", "flip"))
    explanation = explained_turned(Cell(model, "csr", "flip"), fitted(model, "pandas", "two"))
    assert_same_scores(explanation, expected, slice(None, None, -1))


@pytest.mark.parametrize(
    "model",
    [
        "xgboost",
        "xgboost booster",
        "lightgbm",
        "lightgbm booster",
        "catboost",
    ],
)
def test_an_absent_cell_that_decides(model):
    """For XGBoost a cell that a sparse table does not hold is missing, and not 0."""
    need(model)
    rng = np.random.default_rng(15)
    matrix = np.where(rng.random((N, 3)) < 0.5, 0.0, rng.normal(size=(N, 3)).round(3))
    table, target = scipy.sparse.csr_matrix(matrix), (matrix[:, 1] == 0).astype(int)
    asked = MODELS[model][0](table, target, "two", ["mild", "planted", "idle"])
    explainer = xcid.Explainer(asked, table)
    assert np.mean(explainer.subject.predict(matrix).argmax(axis=1) == target) > 0.99
    assert (explainer(table[:ROWS]).importance.argmax(axis=1) == 1).all()


@pytest.mark.parametrize(
    "table",
    [
        "array",
        "pandas",
    ],
)
def test_numbers_that_are_levels_reach_the_model_as_numbers(table):
    columns = numeric()
    columns["count"] = np.array([10.0, 20.0, 30.0])[np.arange(N) % 3]
    target = (columns["count"] == 20).astype(int)
    data = TABLES[table][1](columns)
    model = tree("two").fit(data, target)
    explainer = xcid.Explainer(model, data, kinds={"count": "categorical"}, **names_for(table))
    assert np.mean(explainer.subject.predict(explainer.space.background).argmax(axis=1) == target) > 0.99
