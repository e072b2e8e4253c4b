"""The tables of all measurements, split into rows to train on and rows to explain."""

from __future__ import annotations

from typing import Any, NamedTuple

from xcid import datasets
from xcid._require import require

TABLES = {"diabetes": datasets.load_diabetes, "heart": datasets.load_heart}
TITLES = {"diabetes": "Diabetes", "heart": "Heart"}
SEED, TEST_SHARE = 42, 0.2
MADE_UP_ROWS, MADE_UP_SEED = 1_000, 0


class Split(NamedTuple):
    """Data frames of floats, so that a column of whole numbers can hold its mean, and what is to be predicted."""

    train: Any
    test: Any
    target: Any
    test_target: Any


def split(table: str) -> Split:
    """Split a table that ships with the package, or one that is made up with as many columns as its name says.

    Six cells of Heart are missing, which neither a forest nor all methods take: the training rows' median stands in.
    """
    data, target = _made_up(int(table)) if table not in TABLES else _known(table)
    halves = require("sklearn.model_selection", extra="bench").train_test_split
    train, test, *targets = halves(data.astype(float), target, test_size=TEST_SHARE, random_state=SEED)
    return Split(train.fillna(train.median()), test.fillna(train.median()), *targets)


def _known(table: str) -> tuple[Any, Any]:
    known = TABLES[table]()
    return known.data, known.target


def _made_up(n_columns: int) -> tuple[Any, Any]:
    made = require("sklearn.datasets", extra="bench").make_classification
    X, y = made(MADE_UP_ROWS, n_columns, n_informative=max(4, n_columns // 3), random_state=MADE_UP_SEED)
    return require("pandas", extra="bench").DataFrame(X, columns=[f"x{i}" for i in range(n_columns)]), y
