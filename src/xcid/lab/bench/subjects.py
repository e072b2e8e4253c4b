"""The tables and models that are explained."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from xcid._require import require
from xcid.lab.splits import TITLES, split
from xcid.records import Array

MODEL_SEED = 0


class Subject(NamedTuple):
    """A fitted model with its rows, data frames or arrays: every contestant gets what the model was fitted on."""

    table: str
    name: str  # of the model
    model: Any
    train: Any
    test: Any
    target: Any  # (N,) of the training rows

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
    train, test, target, _ = split(table)
    return Subject(table, name, _model(name).fit(train, target), train, test, target)


@functools.cache
def in_arrays(table: str, name: str) -> Subject:
    """A model fitted on an array, which no contestant has to make a table for."""
    train, test, target, _ = map(np.asarray, split(table))
    return Subject(table, name, _model(name).fit(train, target), train, test, target)


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


def linear(n_columns: int) -> Callable[[Array], Array]:
    """A model that costs next to nothing: what is left is the cost of explaining."""
    weights = np.random.default_rng(MODEL_SEED).normal(size=n_columns) / np.sqrt(n_columns)
    return lambda X: 1 / (1 + np.exp(-(X @ weights)))


class Timed:
    """A model's function that counts the processor's seconds inside it."""

    def __init__(self, predict: Callable[[Any], Any]) -> None:
        self.predict, self.seconds = predict, 0.0

    def __call__(self, X: Any) -> Any:
        """Ask the model."""
        start = time.process_time()
        answers = self.predict(X)
        self.seconds += time.process_time() - start
        return answers


def cloud_of(n_rows: int, n_columns: int, seed: int = 0) -> Array:
    """(n, d) rows of normal numbers."""
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))
