"""What is explained: Diabetes by a logistic regression, Heart by a random forest."""

from __future__ import annotations

from typing import Any, NamedTuple

from xcid._require import require
from xcid.lab.splits import TITLES, split

MODEL_SEED = 42


class Subject(NamedTuple):
    """A fitted model with the data frame it was fitted on, the rows to explain and its accuracy on them."""

    key: str
    model: Any
    train: Any
    test: Any
    accuracy: float

    @property
    def title(self) -> str:
        """For readers."""
        return TITLES[self.key]

    @property
    def n_features(self) -> int:
        """Columns of the table."""
        return int(self.test.shape[1])


def subjects() -> tuple[Subject, ...]:
    """Both tables with their models."""
    linear = require("sklearn.linear_model", extra="bench").LogisticRegression(max_iter=1_000)
    forest = require("sklearn.ensemble", extra="bench").RandomForestClassifier(100, random_state=MODEL_SEED)
    return tuple(_fitted(key, model) for key, model in (("diabetes", linear), ("heart", forest)))


def _fitted(key: str, model: Any) -> Subject:
    train, test, target, test_target = split(key)
    model.fit(train, target)
    return Subject(key, model, train, test, float(model.score(test, test_target)))
