"""What is explained: tables, split into rows to train on and rows to explain, and models fitted to them."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from xcid import datasets
from xcid._require import require
from xcid.records import Array

TABLES = {"diabetes": datasets.load_diabetes, "heart": datasets.load_heart}
TITLES = {"diabetes": "Diabetes", "heart": "Heart"}
SPLIT_SEED, TEST_SHARE = 42, 0.2
MADE_UP_ROWS, MADE_UP_SEED = 1_000, 0
BENCH_SEED = 0  # of the models that are timed


class Subject(NamedTuple):
    """A fitted model with its rows, data frames or arrays: every method gets what the model was fitted on."""

    table: str
    name: str  # of the model
    model: Any
    train: Any
    test: Any
    target: Any  # (N,) of the training rows
    test_target: Any

    @property
    def title(self) -> str:
        """The table, for readers."""
        return TITLES.get(self.table, "made up")

    @property
    def description(self) -> str:
        """The table and the model, for readers."""
        return f"{self.title}, d = {self.n_features}, {self.name}"

    @property
    def n_features(self) -> int:
        """Columns of the table."""
        return int(self.test.shape[1])

    def rows(self, count: int) -> Array:
        """(count, d) test rows, over and over; each time a little off, so that no two are the same."""
        given = np.asarray(self.test, dtype=np.float64)
        picked = given[np.arange(count) % len(given)]
        again = (np.arange(count) // len(given))[:, None]
        return picked + 1e-6 * again * np.asarray(self.train, dtype=np.float64).std(axis=0)


def fitted(table: str, name: str, seed: int, kind: Callable[[Any], Any] = lambda part: part) -> Subject:
    """Fit a model to a table that ships with the package, or to one with as many columns as its name says.

    The frames are of floats, so that a column of whole numbers can hold its mean; ``kind`` may make arrays of them. Six
    cells of Heart are missing, which neither a forest nor all methods take: the training rows' median stands in.
    """
    data, target = _table(table)
    split = _sklearn("model_selection").train_test_split
    train, test, *targets = split(data.astype(float), target, test_size=TEST_SHARE, random_state=SPLIT_SEED)
    train, test, target, test_target = map(kind, (train.fillna(train.median()), test.fillna(train.median()), *targets))
    return Subject(table, name, _model(name, seed).fit(train, target), train, test, target, test_target)


@functools.cache
def in_frames(table: str, name: str) -> Subject:
    """A model fitted on a data frame, as the paper's stack wants it."""
    return fitted(table, name, BENCH_SEED)


@functools.cache
def in_arrays(table: str, name: str) -> Subject:
    """A model fitted on an array, which no contestant has to make a table for."""
    return fitted(table, name, BENCH_SEED, np.asarray)


def linear(n_columns: int) -> Callable[[Array], Array]:
    """A model that costs next to nothing: what is left is the cost of explaining."""
    weights = np.random.default_rng(BENCH_SEED).normal(size=n_columns) / np.sqrt(n_columns)
    return lambda X: 1 / (1 + np.exp(-(X @ weights)))


class Timed:
    """A model's function that counts the processor's seconds inside it."""

    def __init__(self, predict: Callable[[Any], Any]) -> None:
        self.model_call, self.seconds = predict, 0.0  # under no name that an explainer would call instead

    def __call__(self, X: Any) -> Any:
        """Call the model."""
        start = time.process_time()
        outputs = self.model_call(X)
        self.seconds += time.process_time() - start
        return outputs


def cloud_of(n_rows: int, n_columns: int, seed: int = 0) -> Array:
    """(n, d) rows of normal numbers."""
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))


def _table(table: str) -> tuple[Any, Any]:
    if table in TABLES:
        known = TABLES[table]()
        return known.data, known.target
    made, n_columns = _sklearn("datasets").make_classification, int(table)
    X, y = made(MADE_UP_ROWS, n_columns, n_informative=max(4, n_columns // 3), random_state=MADE_UP_SEED)
    return require("pandas", extra="bench").DataFrame(X, columns=[f"x{i}" for i in range(n_columns)]), y


def _model(name: str, seed: int) -> Any:
    makers: dict[str, Callable[[], Any]] = {
        "logistic": lambda: _sklearn("linear_model").LogisticRegression(max_iter=1_000),
        "forest": lambda: _sklearn("ensemble").RandomForestClassifier(100, random_state=seed),
        "boosting": lambda: _sklearn("ensemble").GradientBoostingClassifier(random_state=seed),
        "histogram boosting": lambda: _sklearn("ensemble").HistGradientBoostingClassifier(random_state=seed),
        "extra trees": lambda: _sklearn("ensemble").ExtraTreesClassifier(100, random_state=seed),
        "XGBoost": lambda: require("xgboost", extra="xgboost").XGBClassifier(n_estimators=200, max_depth=6, n_jobs=1),
        "LightGBM": lambda: require("lightgbm", extra="lightgbm").LGBMClassifier(n_jobs=1, verbose=-1),
        "network": lambda: _sklearn("pipeline").make_pipeline(
            _sklearn("preprocessing").StandardScaler(),
            _sklearn("neural_network").MLPClassifier(random_state=seed, max_iter=2_000),
        ),
    }
    return makers[name]()


def _sklearn(part: str) -> Any:
    return require(f"sklearn.{part}", extra="bench")
