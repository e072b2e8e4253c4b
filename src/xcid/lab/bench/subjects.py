"""The tables and models that are explained."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xcid import datasets
from xcid._require import require
from xcid.records import Array

SPLIT_SEED, MODEL_SEED = 42, 0
MADE_UP_ROWS = 1_000
TABLES = {"diabetes": datasets.load_diabetes, "heart": datasets.load_heart}
TITLES = {"diabetes": "Diabetes", "heart": "Heart"}


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A fitted model with its rows.

    Attributes
    ----------
    table, name : str
        Of the table and of the model.
    model : object
    train, test : tables
        Data frames where the model was fitted on one, else arrays: every contestant gets what the model was fitted on.
    target : (N,)
        Of the training rows.
    """

    table: str
    name: str
    model: Any
    train: Any
    test: Any
    target: Any

    @property
    def title(self) -> str:
        """For readers."""
        return f"{TITLES.get(self.table, 'made up')}, d = {self.test.shape[1]}, {self.name}"

    def rows(self, count: int) -> Array:
        """(count, d) test rows, over and over; each time a little off, so that no two are the same."""
        given = np.asarray(self.test, dtype=np.float64)
        picked = given[np.arange(count) % len(given)]
        again = (np.arange(count) // len(given))[:, None]
        return picked + 1e-6 * again * np.asarray(self.train, dtype=np.float64).std(axis=0)


@functools.cache
def in_frames(table: str, name: str) -> Subject:
    """A model fitted on a data frame, as the paper's stack wants it."""
    train, test, target = _split(table)
    return Subject(table, name, _model(name).fit(train, target), train, test, target)


@functools.cache
def in_arrays(table: str, name: str) -> Subject:
    """A model fitted on an array, which no contestant has to make a table for."""
    train, test, target = (np.asarray(part) for part in _split(table))
    return Subject(table, name, _model(name).fit(train, target), train, test, target)


def _split(table: str) -> tuple[Any, Any, Any]:
    """Training rows, test rows and the target; missing cells are filled by the median."""
    split = require("sklearn.model_selection", extra="bench").train_test_split
    if table not in TABLES:
        made = require("sklearn.datasets", extra="bench").make_classification
        X, y = made(MADE_UP_ROWS, int(table), n_informative=max(4, int(table) // 3), random_state=MODEL_SEED)
        frame = require("pandas", extra="bench").DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
        train, test, target, _ = split(frame, y, test_size=0.2, random_state=SPLIT_SEED)
        return train, test, target
    known = TABLES[table]()
    train, test, target, _ = split(known.data.astype(float), known.target, test_size=0.2, random_state=SPLIT_SEED)
    return train.fillna(train.median()), test.fillna(train.median()), target


def _model(name: str) -> Any:
    ensemble = require("sklearn.ensemble", extra="bench")
    makers: dict[str, Callable[[], Any]] = {
        "logistic": lambda: require("sklearn.linear_model", extra="bench").LogisticRegression(max_iter=1_000),
        "forest": lambda: ensemble.RandomForestClassifier(100, random_state=MODEL_SEED),
        "boosting": lambda: ensemble.GradientBoostingClassifier(random_state=MODEL_SEED),
        "histogram boosting": lambda: ensemble.HistGradientBoostingClassifier(random_state=MODEL_SEED),
        "network": _network,
    }
    return makers[name]()


def _network() -> Any:
    network = require("sklearn.neural_network", extra="bench").MLPClassifier(random_state=MODEL_SEED, max_iter=2_000)
    scaler = require("sklearn.preprocessing", extra="bench").StandardScaler()
    return require("sklearn.pipeline", extra="bench").make_pipeline(scaler, network)


class Linear:
    """A model that costs next to nothing: what is left is the cost of explaining.

    Parameters
    ----------
    n_columns : int
    """

    def __init__(self, n_columns: int) -> None:
        self.weights = np.random.default_rng(MODEL_SEED).normal(size=n_columns) / np.sqrt(n_columns)

    def __call__(self, X: Array) -> Array:
        """Probability of the second class."""
        answers: Array = 1 / (1 + np.exp(-(X @ self.weights)))
        return answers


class Timed:
    """A model that counts the processor's seconds inside it.

    Parameters
    ----------
    model : object
        With ``predict_proba``, or a function.
    """

    def __init__(self, model: Any) -> None:
        self.ask = getattr(model, "predict_proba", model)
        self.seconds, self.rows = 0.0, 0

    def __call__(self, X: Any) -> Any:
        """Ask the model."""
        start = time.process_time()
        answers = self.ask(X)
        self.seconds += time.process_time() - start
        self.rows += len(X)
        return answers


def cloud_of(n_rows: int, n_columns: int, seed: int = 0) -> Array:
    """(n, d) rows of normal numbers."""
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))
