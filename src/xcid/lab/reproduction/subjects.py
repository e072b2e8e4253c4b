"""What is explained: Diabetes by a logistic regression, Heart by a random forest."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from xcid import datasets
from xcid._require import require

SPLIT_SEED, TEST_SHARE, MODEL_SEED = 42, 0.2, 42


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A fitted model with the table it was fitted on and the rows to explain.

    Attributes
    ----------
    key, title : str
    model : object
    model_words : str
        The model as it was built.
    train, test : pandas data frames
        Of floats, so that a column of whole numbers can hold its mean.
    accuracy : float
        On the whole test set.
    """

    key: str
    title: str
    model: Any
    model_words: str
    train: Any
    test: Any
    accuracy: float

    @property
    def n_features(self) -> int:
        """Columns of the table."""
        return int(self.test.shape[1])


def subjects() -> tuple[Subject, Subject]:
    """Split, fill and fit both tables.

    Six cells of Heart are missing, which neither the forest nor all methods take: the training rows' median stands in.
    """
    linear = require("sklearn.linear_model", extra="bench").LogisticRegression(max_iter=1_000)
    forest = require("sklearn.ensemble", extra="bench").RandomForestClassifier(100, random_state=MODEL_SEED)
    return (
        _fitted("diabetes", "Diabetes", datasets.load_diabetes, linear),
        _fitted("heart", "Heart", datasets.load_heart, forest),
    )


def _fitted(key: str, title: str, load: Callable[[], datasets.Dataset], model: Any) -> Subject:
    table = load()
    split = require("sklearn.model_selection", extra="bench").train_test_split
    train, test, y_train, y_test = split(
        table.data.astype(float), table.target, test_size=TEST_SHARE, random_state=SPLIT_SEED
    )
    train, test = train.fillna(train.median()), test.fillna(train.median())
    model.fit(train, y_train)
    return Subject(key, title, model, repr(model), train, test, float(model.score(test, y_test)))
