"""Tables, models and splits that no setting of xcid was chosen on: fixed here, before any run.

Two tables are real: the digits as 61 numbers with ten classes, and the progression of diabetes, a regression. The
others are drawn: two moons among noise, shells of three classes, Friedman's first and second functions, redundant
columns (30), skewed counts with many zeros (57) and a mixture of amounts, whole numbers and codes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from cells import MODELS, Array
from sklearn import datasets
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

TEST_SHARE, SPLIT = 0.25, 7
REGRESSIONS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: make_pipeline(StandardScaler(), Ridge()),
    "forest": lambda: RandomForestRegressor(100, random_state=0),
    "boosting": lambda: HistGradientBoostingRegressor(random_state=0),
    "mlp": lambda: make_pipeline(StandardScaler(), MLPRegressor(max_iter=2_000, random_state=0)),
}


class Cell(NamedTuple):
    """A fitted model with the rows that it was fitted on and those to explain."""

    name: str
    model: Any
    train: Array
    rows: Array


def moons() -> tuple[Array, Any]:
    X, y = datasets.make_moons(800, noise=0.25, random_state=21)
    return np.column_stack([X, np.random.default_rng(21).normal(size=(800, 6))]), y


def shells() -> tuple[Array, Any]:
    return datasets.make_gaussian_quantiles(n_samples=900, n_features=8, n_classes=3, random_state=22)


def friedman_classes() -> tuple[Array, Any]:
    X, y = datasets.make_friedman1(800, 12, noise=1.0, random_state=23)
    return X, (y > np.median(y)).astype(int)


def redundant() -> tuple[Array, Any]:
    return datasets.make_classification(
        900, 30, n_informative=10, n_redundant=10, n_repeated=2, flip_y=0.05, class_sep=0.8, random_state=24
    )


def skewed() -> tuple[Array, Any]:
    """Shares of words, most of them 0, as in a table of messages."""
    rng = np.random.default_rng(25)
    common = rng.normal(size=(1_000, 3)) @ rng.normal(scale=0.6, size=(3, 57))
    seen = rng.random((1_000, 57)) < rng.uniform(0.1, 0.7, size=57)
    X = np.where(seen, np.exp(common + rng.normal(scale=0.8, size=(1_000, 57))), 0.0)
    logit = np.log1p(X[:, :15]) @ rng.normal(scale=1.2, size=15) + 1.5 * (X[:, 0] > 0) * (X[:, 15] > 1)
    return X, (logit - np.median(logit) + rng.logistic(size=1_000) > 0).astype(int)


def mixed() -> tuple[Array, Any]:
    """Amounts, whole numbers and codes of levels, as in a table of loans."""
    rng = np.random.default_rng(26)
    income, debt = np.exp(rng.normal(size=(2, 900)))
    age, children, jobs = rng.integers(18, 80, 900), rng.poisson(1.2, 900), rng.poisson(3.0, 900)
    region, house, owner = rng.integers(0, 6, 900), rng.integers(0, 3, 900), rng.integers(0, 2, 900)
    delay = np.where(rng.random(900) < 0.7, 0.0, rng.exponential(30.0, 900))
    logit = 1.2 * np.log(income) - np.log(debt) * (1 + owner) + 0.04 * (age - 45) - 0.05 * delay
    logit += np.array([0.0, 1.0, -1.0, 0.5, 0.0, -0.5])[region] + (house == 2) * (children > 1)
    columns = [income, debt, age, children, jobs, region, house, owner, delay, *rng.normal(size=(2, 900))]
    return np.column_stack(columns).astype(float), (logit + rng.logistic(size=900) > 0).astype(int)


def digits() -> tuple[Array, Any]:
    X, y = datasets.load_digits(return_X_y=True)
    return X[:, X.std(axis=0) > 0], y


def progression() -> tuple[Array, Any]:
    return datasets.load_diabetes(return_X_y=True)


def friedman_numbers() -> tuple[Array, Any]:
    X, y = datasets.make_friedman2(800, noise=100.0, random_state=27)
    return np.column_stack([X, np.random.default_rng(27).normal(size=(800, 4))]), y


TABLES: dict[str, Callable[[], tuple[Array, Any]]] = {
    "moons": moons,
    "shells": shells,
    "Friedman 1, classes": friedman_classes,
    "redundant": redundant,
    "skewed": skewed,
    "mixed": mixed,
    "digits": digits,
    "progression (regression)": progression,
    "Friedman 2 (regression)": friedman_numbers,
}


def plan() -> list[tuple[str, str]]:
    """All tables by all models, in an order in which the first nine have every table and every model."""
    models = list(MODELS)
    return [(table, models[(at + turn) % 4]) for turn in range(4) for at, table in enumerate(TABLES)]


def cells(count: int, n_rows: int) -> Iterator[Cell]:
    """The first ``count`` cells of the plan, each with the first rows of its test part."""
    for table, model in plan()[:count]:
        X, y = TABLES[table]()
        train, test, y_train, _ = train_test_split(X, y, test_size=TEST_SHARE, random_state=SPLIT)
        make = (REGRESSIONS if table.endswith("(regression)") else MODELS)[model]
        yield Cell(f"{table}, {model}", make().fit(train, y_train), train, test[:n_rows])
