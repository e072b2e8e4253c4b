"""A sensible scikit-learn model for a table, where the user brings none, and tables with such a model to look at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from xcid import datasets
from xcid._require import require
from xcid.errors import InvalidData, ModelError, XcidError
from xcid.io import tables
from xcid.native.seen import by_cell

MOST_CLASSES = 20  # of a column of whole numbers that is a class
MOST_EXACT = 2**53  # below it, floats have every whole number
MOST_JUDGED = 20_000  # rows that a model is tried on before it is trained on all
MOST_FOR_FOREST = 10_000  # rows: on more, boosting is as good, and trained in a tenth of the time
FEWEST_JUDGED = 30  # held-out rows; of fewer, a share says little
LOADERS = {"diabetes": datasets.load_diabetes, "heart": datasets.load_heart}
TITLES = {"diabetes": "Who has diabetes", "heart": "Who has heart disease"}
TARGET = "answer"


class Family(NamedTuple):
    """The two models of a kind: one for classes, one for numbers."""

    module: str
    classifier: str
    regressor: str
    settings: dict[str, Any]
    takes_numbers_as_they_are: bool

    def make(self, is_class: bool, seed: int) -> Any:
        """An estimator that is not fitted."""
        found = require(f"sklearn.{self.module}", extra="cli")
        return getattr(found, self.classifier if is_class else self.regressor)(**self.settings, random_state=seed)


FAMILIES = {
    "logistic": Family("linear_model", "LogisticRegression", "Ridge", {"max_iter": 1_000}, False),
    "forest": Family("ensemble", "RandomForestClassifier", "RandomForestRegressor", {"n_estimators": 100}, True),
    "boosting": Family("ensemble", "HistGradientBoostingClassifier", "HistGradientBoostingRegressor", {}, True),
    "network": Family("neural_network", "MLPClassifier", "MLPRegressor", {"max_iter": 1_000}, False),
}


class Trained(NamedTuple):
    """A fitted model, with texts that say what it is, what it was fitted on, and what it predicts."""

    model: Any
    fitted_on: str
    task: str

    @property
    def description(self) -> str:
        """What the model is, was fitted on and predicts."""
        return f"{self.fitted_on} for {self.task}"


def choose_family(kind: str, n_rows: int) -> tuple[str, Family]:
    """The name and the models of a kind; "auto" takes the kind that fits a table of so many rows."""
    name = kind if kind != "auto" else "forest" if n_rows <= MOST_FOR_FOREST else "boosting"
    return name, FAMILIES[name]


def train(frame: Any, target: str, kind: str, seed: int) -> Trained:
    """Fit a model of a kind to a table with the target among its columns.

    Text, whole numbers with few values and booleans are classes; other numbers make a regression. Trees get a table
    of numbers as it is; all other tables and models a pipeline that fills missing cells, scales and one-hot encodes.
    """
    wanted = tables.column_of(frame, target)
    features = nw.from_native(tables.without(frame, target), eager_only=True)
    values, is_class = labels(wanted), is_classes(wanted)
    n_values = len(np.unique(values))
    if not wanted.dtype.is_numeric() and n_values > max(MOST_CLASSES, len(values) / 2):
        raise InvalidData(
            f"the target {target!r} has {n_values:,} different values in {len(values):,} rows, too many to be "
            "learnt as classes: name another column by --target, or make numbers or a few classes of this one"
        )
    if is_class and n_values < 2:
        only = values[:1].tolist()[0]
        raise InvalidData(f"the target {target!r} has the one value {only!r}: there is nothing to tell apart")
    kind, family = choose_family(kind, len(values))
    estimator = family.make(is_class, seed)
    is_numeric = all(features[name].dtype.is_numeric() for name in features.columns)
    model = estimator if is_numeric and family.takes_numbers_as_they_are else _pipeline(features, estimator)
    try:
        model.fit(features.to_native(), values)
    except Exception as error:
        raise ModelError(f"the {kind} model cannot be trained: {type(error).__name__}: {error}") from error
    task = f"{n_values} classes of {target!r}" if is_class else f"the number {target!r}"
    return Trained(model, f"{type(estimator).__name__} trained on {len(features):,} rows", task)


def judged(model: Any, frame: Any, target: str, kind: str, seed: int) -> str:
    """Say how well a model that was trained on a table does on rows that it does not know; "" where it cannot be.

    A forest is judged by the trees that did not get a row. Other models leave no row to judge them by: one of the same
    kind is trained on four fifths of at most ``MOST_JUDGED`` rows, which takes a forest much longer than others.
    """
    kind, _ = choose_family(kind, tables.size(frame))
    if kind == "forest":
        return _judge_left_out(model, frame, target)
    order = np.random.default_rng(seed).permutation(tables.size(frame))[:MOST_JUDGED]
    held, rest = (tables.part(frame, rows.tolist()) for rows in np.split(order, [len(order) // 5]))
    wanted = tables.column_of(frame, target)
    if tables.size(held) < FEWEST_JUDGED or is_classes(wanted) != is_classes(tables.column_of(rest, target)):
        return ""
    try:
        found = judgement(train(rest, target, kind, seed).model, rest, held, target)
    except XcidError:  # a class that only the held-out rows have
        return ""
    return f"such a model, trained on four fifths of the rows, {found}" if found else ""


def _judge_left_out(model: Any, frame: Any, target: str) -> str:
    """Say how well each row is predicted by those trees of a fitted forest that were trained without it."""
    wanted, table = tables.column_of(frame, target), tables.without(frame, target)
    *before, forest = [step for _, step in model.steps] if hasattr(model, "steps") else [model]
    for step in before:
        table = step.transform(table)
    cells, classes = np.asarray(table, dtype=np.float32), getattr(forest, "classes_", None)
    total, count = np.zeros((len(cells), 1 if classes is None else len(classes))), np.zeros((len(cells), 1))
    for tree, drawn in zip(forest.estimators_, forest.estimators_samples_, strict=True):
        left = np.setdiff1d(np.arange(len(cells)), drawn)
        if left.size:
            total[left] += tree.predict(cells[left])[:, None] if classes is None else tree.predict_proba(cells[left])
        count[left] += 1
    known = np.flatnonzero(count)
    if known.size < FEWEST_JUDGED:
        return ""
    predicted = (total / np.maximum(count, 1))[known, 0] if classes is None else classes[total[known].argmax(axis=1)]
    how = ", each by the trees that were trained without it"
    return f"the model {_judge(predicted, labels(wanted)[known], wanted, f'{known.size:,} rows', how)}"


def judgement(model: Any, known: Any, held: Any, target: str) -> str:
    """Say how well a model that knows some rows does on others, beside the simplest guess; "" where it cannot be."""
    if target not in tables.names(held) or tables.size(held) < FEWEST_JUDGED:
        return ""
    wanted = tables.column_of(known, target)
    try:
        actual = labels(tables.column_of(held, target))
        predicted = np.asarray(model.predict(tables.without(held, target))).ravel()
    except (XcidError, ValueError):  # a level that only the held-out rows have
        return ""
    return _judge(predicted, actual, wanted, f"{tables.size(held):,} held-out rows")


def _judge(predicted: Any, actual: Any, wanted: nw.Series[Any], rows: str, how: str = "") -> str:
    """Say how many rows are predicted correctly, and how many the commonest class would be, or what is explained."""
    if is_classes(wanted):
        seen, counts = np.unique(labels(wanted), return_counts=True)
        commonest = seen[counts.argmax()]
        right, by_habit = np.mean(predicted == actual), np.mean(actual == commonest)
        return (
            f"predicts {right:.0%} of {rows} correctly{how}; always predicting {commonest} would reach {by_habit:.0%}"
        )
    spread = float(np.var(actual))
    explained = 1 - float(np.mean((predicted - actual) ** 2)) / spread if spread else 0.0
    return f"explains {explained:.0%} of the variance of the {rows}{how}"


def is_classes(wanted: nw.Series[Any]) -> bool:
    """Whether a target is made of classes."""
    if not wanted.dtype.is_numeric():
        return True
    numbers = wanted.to_numpy().astype(np.float64)
    return len(np.unique(numbers)) <= MOST_CLASSES and bool(np.all(numbers == np.round(numbers)))


def labels(wanted: nw.Series[Any]) -> Any:
    """(n,) targets; all rows must have one. Classes in whole numbers are whole numbers, whatever they were read as."""
    holes = tables.missing(wanted)
    if holes.any():
        raise InvalidData(f"{int(holes.sum())} rows have no target {wanted.name!r}: take them out of the table")
    if wanted.dtype.is_numeric():
        numbers = wanted.to_numpy()
        is_whole = is_classes(wanted) and bool(np.all(np.abs(numbers) < MOST_EXACT))
        return numbers.astype(np.int64) if wanted.dtype.is_float() and is_whole else numbers
    texts = np.empty(len(wanted), dtype=object)  # of a fixed width, all would take the room of the longest
    texts[:] = [
        value.decode(errors="replace") if isinstance(value, bytes) else str(value) for value in wanted.to_list()
    ]
    return texts


def _pipeline(features: nw.DataFrame[Any], estimator: Any) -> Any:
    compose = require("sklearn.compose", extra="cli")
    preprocessing = require("sklearn.preprocessing", extra="cli")
    impute = require("sklearn.impute", extra="cli")
    make_pipeline = require("sklearn.pipeline", extra="cli").make_pipeline
    kinds: dict[str, list[str]] = {"numbers": [], "dates": [], "levels": []}
    for name in features.columns:
        dtype = features[name].dtype
        is_date = isinstance(dtype, nw.Date | nw.Datetime)
        kinds["dates" if is_date else "numbers" if dtype.is_numeric() else "levels"].append(name)
    numbers = (impute.SimpleImputer(strategy="median", keep_empty_features=True), preprocessing.StandardScaler())
    steps = {
        "numbers": make_pipeline(*numbers),
        "dates": make_pipeline(preprocessing.FunctionTransformer(days), *numbers),
        "levels": make_pipeline(
            preprocessing.FunctionTransformer(objects),
            preprocessing.OneHotEncoder(handle_unknown="ignore", sparse_output=False),
        ),
    }
    table = compose.ColumnTransformer([(name, steps[name], columns) for name, columns in kinds.items() if columns])
    return make_pipeline(table, estimator)


@by_cell
def days(table: Any) -> Any:
    """Dates of a frame as days since 1970; NaN where missing."""
    frame = nw.from_native(table, eager_only=True)
    columns = [frame[name].to_numpy().astype("datetime64[us]") for name in frame.columns]
    numbers = [np.where(np.isnat(column), np.nan, column.astype(np.int64) / 86_400e6) for column in columns]
    return np.column_stack(numbers)


@by_cell
def objects(table: Any) -> Any:
    """Levels of a frame as text, with None where missing, whatever the library of the frame."""
    frame = nw.from_native(table, eager_only=True)
    columns = []
    for name in frame.columns:
        missing, values = frame[name].is_null().to_list(), frame[name].to_list()
        column = np.empty(len(values), dtype=object)
        column[:] = [None if hole else str(value) for hole, value in zip(missing, values, strict=True)]
        columns.append(column)
    return np.column_stack(columns)


class Demo(NamedTuple):
    """A model that was trained on four fifths of a table, and the other rows."""

    model: Any
    background: Any
    data: Any
    positions: list[int]  # where the rows of the data are in the table
    title: str
    note: str  # what the model is and how well it does
    right: float  # the share of the other rows that it gets right
    descriptions: Mapping[str, str]  # what features mean


def demo(name: str, kind: str, seed: int) -> Demo:
    """Train a model of a kind on most of a table."""
    table = LOADERS[name](tables.library())
    order = np.random.default_rng(seed).permutation(len(table.target))
    held, rest = (np.sort(rows).tolist() for rows in np.split(order, [len(order) // 5]))
    answers = np.array(table.target_names)[table.target]
    background, data = tables.part(table.data, rest), tables.part(table.data, held)
    narwhal = nw.maybe_reset_index(nw.from_native(background, eager_only=True))
    column = nw.new_series(TARGET, answers[rest].tolist(), nw.String, backend=narwhal.implementation)
    trained = train(narwhal.with_columns(column).to_native(), TARGET, kind, seed)
    right = np.mean(np.asarray(trained.model.predict(data)).ravel() == answers[held])
    kept = f"it is right for {right:.0%} of the other {len(held)} rows, from which you can pick"
    note = f"{trained.fitted_on}; {kept}. Table: {table.source}"
    return Demo(trained.model, background, data, held, TITLES[name], note, float(right), table.descriptions)
