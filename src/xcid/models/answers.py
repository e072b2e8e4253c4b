"""What a model's raw answers mean: probabilities, labels or numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from xcid.errors import ModelError
from xcid.outcomes.classes import OTHER_LABEL
from xcid.records import Array

Answers: TypeAlias = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads the model's answers as (n, k) numbers; ``names`` are those of the k outputs."""

    names: tuple[str, ...]
    read: Callable[[Answers], Array]

    def __call__(self, answers: Answers) -> Array:
        return self.read(answers)


def reader(model: Any, answers: Answers) -> Reader:
    """Decide what a model's answers mean, from those for the background."""
    if answers.dtype.kind == "c":
        raise ModelError(f"the model's answers are not real numbers but {answers.dtype}")
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == 0:  # of CatBoost's regressor, also at the end of a Pipeline
        classes = None
    if callable(getattr(model, "predict_proba", None)) or (answers.ndim == 2 and answers.shape[1] > 1):
        return _of_columns(answers.shape, classes)
    if answers.dtype.kind != "f" or classes is not None:
        return _of_labels(answers)
    numbers = _floats(_one_column(answers))
    if callable(getattr(model, "predict", None)) or np.any((numbers < 0) | (numbers > 1)):
        return Reader(("output",), _number)
    return Reader(("0", "1"), _both_classes)


def _of_columns(shape: tuple[int, ...], classes: Any) -> Reader:
    """One column for each class."""
    if len(shape) != 2 or shape[1] < 2:
        raise ModelError(
            f"the model's probabilities have shape {shape}: one column for each of at least two classes is "
            "needed; a model that knows one class only has no decision to explain"
        )
    known = classes if classes is not None and len(classes) == shape[1] else range(shape[1])
    return Reader(tuple(str(name) for name in known), partial(_columns, shape[1]))


def _columns(n_columns: int, answers: Answers) -> Array:
    if answers.ndim != 2 or answers.shape[1] != n_columns:
        raise ModelError(f"the model answered with shape {answers.shape}; {n_columns} columns came before")
    return _floats(answers)


def _of_labels(answers: Answers) -> Reader:
    """Labels become indicators; a label that the background never got has a column of its own at the end."""
    try:
        classes = np.unique(_one_column(answers))
    except TypeError as error:
        raise ModelError(f"the model's answers are labels of different kinds: {error}; give all one type") from error
    return Reader((*(str(label) for label in classes), OTHER_LABEL), partial(_indicators, classes))


def _indicators(classes: Answers, answers: Answers) -> Array:
    known = _one_column(answers)[:, None] == classes
    return np.column_stack([known, ~known.any(axis=1)]).astype(np.float64)


def _number(answers: Answers) -> Array:
    """The one number of a regression."""
    return _floats(_one_column(answers))[:, None]


def _both_classes(answers: Answers) -> Array:
    """Probabilities of two classes, from those of the second."""
    second = _floats(_one_column(answers))
    if np.any((second < 0) | (second > 1)):
        raise ModelError(
            f"the model's answers were probabilities before, and now go from {second.min():g} to "
            f"{second.max():g}: give numbers in [0, 1] for every row"
        )
    return np.column_stack([1 - second, second])


def _one_column(answers: Answers) -> Answers:
    if answers.size != len(answers):
        raise ModelError(f"the model answered with shape {answers.shape}; one number or label for each row was due")
    return answers.reshape(len(answers))


def _floats(answers: Answers) -> Array:
    if answers.dtype.kind == "c":
        raise ModelError(f"the model's answers are not real numbers but {answers.dtype}")
    try:
        return answers.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the model's answers are not numbers but {answers.dtype}: {error}") from error
