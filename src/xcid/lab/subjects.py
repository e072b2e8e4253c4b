"""What is explained: tables, split into rows to train on and rows to explain, and models fitted to them."""

from __future__ import annotations

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
    split = require("sklearn.model_selection", extra="bench").train_test_split
    train, test, *targets = split(data.astype(float), target, test_size=TEST_SHARE, random_state=SPLIT_SEED)
    train, test, target, test_target = map(kind, (train.fillna(train.median()), test.fillna(train.median()), *targets))
    return Subject(table, name, _model(name, seed).fit(train, target), train, test, target, test_target)


def _table(table: str) -> tuple[Any, Any]:
    if table in TABLES:
        known = TABLES[table]()
        return known.data, known.target
    made, n_columns = require("sklearn.datasets", extra="bench").make_classification, int(table)
    X, y = made(MADE_UP_ROWS, n_columns, n_informative=max(4, n_columns // 3), random_state=MADE_UP_SEED)
    return require("pandas", extra="bench").DataFrame(X, columns=[f"x{i}" for i in range(n_columns)]), y


def _model(name: str, seed: int) -> Any:
    ensemble = require("sklearn.ensemble", extra="bench")
    makers: dict[str, Callable[[], Any]] = {
        "logistic": lambda: require("sklearn.linear_model", extra="bench").LogisticRegression(max_iter=1_000),
        "forest": lambda: ensemble.RandomForestClassifier(100, random_state=seed),
        "boosting": lambda: ensemble.GradientBoostingClassifier(random_state=seed),
        "histogram boosting": lambda: ensemble.HistGradientBoostingClassifier(random_state=seed),
        "network": lambda: _network(seed),
    }
    return makers[name]()


def _network(seed: int) -> Any:
    network = require("sklearn.neural_network", extra="bench").MLPClassifier(random_state=seed, max_iter=2_000)
    scaler = require("sklearn.preprocessing", extra="bench").StandardScaler()
    return require("sklearn.pipeline", extra="bench").make_pipeline(scaler, network)
