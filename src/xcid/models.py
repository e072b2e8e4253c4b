"""Any model becomes one checked function from a matrix to an (n, k) matrix of outputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from xcid._data import Array
from xcid.errors import ModelError
from xcid.space import FeatureSpace, frame_maker, in_order, to_array

Answers = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True, slots=True, eq=False)
class Predictor:
    """The model behind a checked call.

    Attributes
    ----------
    ask : callable
        The model's own function.
    decode : callable
        From a matrix to the kind of table that the model was trained on.
    read : Reader
        From the model's raw answers to (n, k) numbers: one column a class, or the one of a regression.
    max_rows : int
        Most rows in one call.
    """

    ask: Callable[[Any], Any]
    decode: Callable[[Array], Any]
    read: Reader
    max_rows: int

    def __call__(self, matrix: Array) -> Array:
        """Predict an (n, d) matrix; every answer is checked."""
        starts = range(0, len(matrix), self.max_rows)
        parts = [self._predict(matrix[start : start + self.max_rows]) for start in starts]
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _predict(self, matrix: Array) -> Array:
        outputs = self.read(_raw(self.ask, self.decode(matrix), len(matrix)))
        if not np.isfinite(outputs).all():
            row = int(np.argwhere(~np.isfinite(outputs))[0, 0])
            raise ModelError(
                f"the model answered {outputs[row].tolist()} for the row {matrix[row].tolist()} "
                f"(row {row} of {len(matrix)}): every output must be a finite number"
            )
        return outputs


def wrap(model: Any, space: FeatureSpace, memory: int) -> Predictor:
    """Find out how to ask a model and how to read its answers.

    Parameters
    ----------
    model : object
        With ``predict_proba`` or ``predict``, or a callable. It may answer with class probabilities (n, k), labels
        (n,), the probability of the second class (n,) (a callable whose answers lie in [0, 1]), or one number a row
        (n,), as a regression.
    space : FeatureSpace
    memory : int
        Bytes that one call may take.
    """
    ask = _ask(model)
    decode = _decode(model, space)
    max_rows = max(1, memory // (64 * len(space.names)))
    sample = space.background[:max_rows]
    try:
        answers = _raw(ask, decode(sample), len(sample))
    except ModelError as error:
        raise ModelError(f"{error}{_hint(space)}") from error.__cause__
    read = _reader(model, answers)
    return Predictor(ask, decode, read, max_rows)


def _hint(space: FeatureSpace) -> str:
    """What a model often cannot take."""
    missing = [name for name, share in zip(space.names, space.missing, strict=True) if share > 0]
    levels = [column.name for column in space.columns if column.levels]
    notes = [f"missing cells in {missing}"] * bool(missing) + [f"levels in {levels}"] * bool(levels)
    return f" (the background has {' and '.join(notes)})" if notes else ""


def _ask(model: Any) -> Callable[[Any], Any]:
    for method in ("predict_proba", "predict"):
        ask = getattr(model, method, None)
        if callable(ask):
            return ask
    if callable(model):
        return model
    raise ModelError(f"a model needs predict_proba, predict or a call; {type(model).__name__} has none of them")


def _decode(model: Any, space: FeatureSpace) -> Callable[[Array], Any]:
    """Give the model the kind of table it was trained on: scikit-learn's estimators remember it."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return to_array if hasattr(model, "n_features_in_") else space.decode
    if space.decode is to_array:
        return frame_maker(names, "pandas")
    same = set(names) == set(space.names) and tuple(names) != space.names
    return in_order(space.decode, names) if same else space.decode


def _raw(ask: Callable[[Any], Any], table: Any, n_rows: int) -> Answers:
    try:
        answers = np.asarray(ask(table))
    except Exception as error:
        raise ModelError(f"the model failed on {n_rows} rows: {type(error).__name__}: {error}") from error
    if answers.ndim not in (1, 2) or answers.shape[0] != n_rows:
        raise ModelError(
            f"the model answered with shape {answers.shape} for {n_rows} rows: "
            f"it must be ({n_rows}, number of classes) or ({n_rows},)"
        )
    return answers


def _reader(model: Any, answers: Answers) -> Reader:
    """Decide from the answers for the background what the answers mean."""
    classes = getattr(model, "classes_", None)
    if callable(getattr(model, "predict_proba", None)) or (answers.ndim == 2 and answers.shape[1] > 1):
        return _Columns(answers.shape, classes)
    if answers.dtype.kind != "f" or classes is not None:
        return _Labels(answers)
    numbers = _floats(_one_column(answers))
    is_predictor = callable(getattr(model, "predict", None))
    if is_predictor or np.any((numbers < 0) | (numbers > 1)):
        return _Number()
    return _SecondClass()


class Reader(Protocol):
    """From the model's answers to (n, k) numbers; ``names`` are those of the k outputs."""

    names: tuple[str, ...]

    def __call__(self, answers: Answers) -> Array: ...


class _Columns:
    """One column for each class."""

    def __init__(self, shape: tuple[int, ...], classes: Any) -> None:
        if len(shape) != 2 or shape[1] < 2:
            raise ModelError(
                f"the model's probabilities have shape {shape}: one column for each of at least two classes is "
                "needed; a model that knows one class only has no decision to explain"
            )
        known = classes if classes is not None and len(classes) == shape[1] else range(shape[1])
        self.names = tuple(str(name) for name in known)

    def __call__(self, answers: Answers) -> Array:
        if answers.ndim != 2 or answers.shape[1] != len(self.names):
            raise ModelError(f"the model answered with shape {answers.shape}; {len(self.names)} columns came before")
        return _floats(answers)


class _SecondClass:
    """Probabilities of the second of two classes."""

    names: tuple[str, ...] = ("0", "1")

    def __call__(self, answers: Answers) -> Array:
        second = _floats(_one_column(answers))
        if np.any((second < 0) | (second > 1)):
            raise ModelError(
                f"the model's answers were probabilities before, and now go from {second.min():g} to "
                f"{second.max():g}: give numbers in [0, 1] for every row"
            )
        return np.column_stack([1 - second, second])


class _Number:
    """The one number of a regression."""

    names: tuple[str, ...] = ("output",)

    def __call__(self, answers: Answers) -> Array:
        return _floats(_one_column(answers))[:, None]


class _Labels:
    """Labels become indicators; a label that the background never got has a column of its own at the end."""

    def __init__(self, answers: Answers) -> None:
        try:
            self.classes = np.unique(_one_column(answers))
        except TypeError as error:
            raise ModelError(
                f"the model's answers are labels of different kinds: {error}; give all one type"
            ) from error
        self.names = (*(str(label) for label in self.classes), "another label")

    def __call__(self, answers: Answers) -> Array:
        known = _one_column(answers)[:, None] == self.classes
        return np.column_stack([known, ~known.any(axis=1)]).astype(np.float64)


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
