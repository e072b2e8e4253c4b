"""The tables that models are given, and what their raw outputs mean: probabilities, labels or numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy.special import expit, softmax

from xcid._check import meant, position_of, shown, warn
from xcid.errors import InvalidParameter, ModelError
from xcid.outcomes.classes import BELOW, OTHER_LABEL, are_shares, renamed
from xcid.records import Array
from xcid.table import FeatureSpace, ToRows, cells_maker, frame_maker, in_order

Cells: TypeAlias = np.ndarray[Any, np.dtype[Any]]
MOST_OUTPUTS = 2**12  # of a model
LOGITS = (
    "the module's outputs are no probabilities: they are taken for logits, and their softmax for the probabilities; "
    "end the module with a softmax of its own to say so"
)
LOGIT = (
    "the model's one output is no probability: it is taken for the logit of the second of the two classes in "
    "class_names, and its sigmoid for the probability; end the model with a sigmoid of its own to say so"
)
NUMBER = (
    "the module's one output is taken for a number; if it is a logit, give class_names of both classes; if it is a "
    "number, give its name, as class_names=['price']"
)
SCORES = (
    "the model gives {k} numbers for a row that are no probabilities of classes (they add up to {low:.4g} to "
    "{high:.4g}): they are taken for scores of {k} classes, of which the largest wins; if they are logits, give their "
    "softmax; if they are {k} targets, choose one by target=0, 1, ..."
)


class Naming(NamedTuple):
    """What a user says of the outputs: what they are called, and which of several numbers is explained."""

    names: Sequence[str] | Mapping[Any, str] | None = None
    target: int | str | None = None

    @property
    def is_of_two(self) -> bool:
        """Whether there are names of two classes."""
        return self.names is not None and not isinstance(self.names, str) and len(self.names) == 2


USUAL_NAMING = Naming()


def names_for(model: Any, reference: Any, given: Sequence[str] | None = None) -> Sequence[str] | None:
    """What features are called: for a table without names, those that a scikit-learn model was fitted with."""
    has_names = hasattr(type(reference), "columns")
    has_names |= isinstance(reference, list | tuple) and len(reference) > 0 and isinstance(reference[0], Mapping)
    return given if given is not None or has_names else getattr(model, "feature_names_in_", None)


def as_trained(model: Any, space: FeatureSpace) -> Callable[[Array], Any]:
    """Give the model the kind of table it was trained on: scikit-learn's estimators remember it."""
    names = getattr(model, "feature_names_in_", None)
    has_names = not isinstance(space.decode, ToRows)
    if names is None:
        if not (has_names and hasattr(model, "n_features_in_")):
            return space.decode
        with_levels = any(column.levels for column in space.columns)  # data frames, and a model fitted on arrays
        return ToRows(object, tuple(map(cells_maker, space.columns))) if with_levels else ToRows()
    if has_names or set(names) != set(space.names):
        return order_columns(space, names)
    return frame_maker(space.columns, [str(name) for name in names], "pandas")


def order_columns(space: FeatureSpace, names: Sequence[str] | None) -> Callable[[Array], Any]:
    """Make tables of the reference data's kind with the columns in the model's order, where it has the same ones."""
    if names is None or tuple(names) == space.names or set(names) != set(space.names):
        return space.decode
    return in_order(space.decode, space.names, names)


def columns_of(space: FeatureSpace) -> Callable[[Array], list[Cells]]:
    """Decode to one array of cells for each feature: numbers, or levels with None where missing."""
    makers = [cells_maker(column) for column in space.columns]
    return lambda matrix: [make(matrix[:, i]) for i, make in enumerate(makers)]


def stack_columns(columns: Sequence[Cells], dtype: Any) -> Cells:
    """Columns of cells as one matrix."""
    return np.column_stack([column.astype(dtype) for column in columns])


@dataclass(frozen=True, slots=True, eq=False)
class Reader:
    """Reads the model's outputs as (n, k) numbers; ``names`` are those of the k outputs."""

    names: tuple[str, ...]
    read: Callable[[Cells], Array]

    def __call__(self, predictions: Cells) -> Array:
        return self.read(predictions)


def choose_reader(model: Any, predictions: Cells, is_module: bool, naming: Naming) -> Reader:
    """How to read what a model predicts, from its predictions for the reference data, and what the user says of them.

    Logits of a module become probabilities, and so does one number a row, of a module or a function, where two classes
    are named.
    """
    if naming.target is not None:
        return of_target(model, predictions, naming.target, naming.names)
    logits = of_logits(predictions) if is_module else None
    if logits is not None:
        warn(LOGITS)
    read = logits or reader(model, predictions)
    if logits is None and len(read.names) > 1 and not callable(getattr(model, "predict_proba", None)):
        _warn_of_scores(predictions)
    if len(read.names) == 1 and naming.is_of_two and not _has_numbers(model):
        warn(LOGIT)
        read = Reader(("0", "1"), both_of_logit)
    elif len(read.names) == 1 and is_module and naming.names is None:
        warn(NUMBER)
    return read if naming.names is None else replace(read, names=renamed(read.names, naming.names))


def _warn_of_scores(predictions: Cells) -> None:
    """Say what several columns are taken for that are no probabilities."""
    if predictions.dtype.kind not in "fiub" or not np.isfinite(predictions).all():
        return  # labels, or what is refused as soon as it is read
    if predictions.ndim == 2 and predictions.shape[1] > 1 and not are_shares(predictions):
        sums = predictions.sum(axis=1)
        warn(SCORES.format(k=predictions.shape[1], low=sums.min(), high=sums.max()))


def of_target(
    model: Any, predictions: Cells, target: int | str, given: Sequence[str] | Mapping[Any, str] | None
) -> Reader:
    """Reads one of the numbers that a regressor predicts for a row, by its place or by the name that was given."""
    if callable(getattr(model, "predict_proba", None)) or len(getattr(model, "classes_", ())):
        raise InvalidParameter("target chooses among the numbers of a regressor, and this model has classes")
    n_targets = predictions.shape[1] if predictions.ndim == 2 else 1
    if n_targets < 2:
        raise InvalidParameter("target chooses among the numbers of a regressor, and this model predicts one: omit it")
    check_number(n_targets)
    names = tuple(map(str, range(n_targets)))
    names = names if given is None else renamed(names, given)
    if isinstance(target, str):
        if target not in names:
            known = f"the targets are {shown(names)}" if given else "give the names of all as class_names, or a number"
            raise InvalidParameter(f"there is no target {target!r}{meant(target, names)}: {known}")
        target = names.index(target)
    at = position_of(target, n_targets, "target")
    return Reader((names[at] if given else f"target {at}",), partial(_one_of, n_targets, at))


def _one_of(n_targets: int, at: int, predictions: Cells) -> Array:
    """One of several numbers."""
    return _columns(n_targets, predictions)[:, [at]]


def reader(model: Any, predictions: Cells) -> Reader:
    """Decide what a model's outputs mean, from those for the reference data."""
    if predictions.dtype.kind == "c":
        raise ModelError(f"the model's outputs are not real numbers but {predictions.dtype}")
    classes = getattr(model, "classes_", None)
    if classes is not None and len(classes) == 0:  # of CatBoost's regressor, also at the end of a Pipeline
        classes = None
    several = predictions.ndim == 2 and predictions.shape[1] > 1
    if callable(getattr(model, "predict_proba", None)) or several:
        if several and (_is_of_a_regressor(model) or is_regressor(model)):
            raise ModelError(
                f"this regressor predicts {predictions.shape[1]} targets for a row, which are no classes, and an "
                "explanation is about one of them: choose it by target=0, 1, ..., or by name with class_names=[...], "
                "the names of all; on the command line by --target NAME --class-names A,B --drop OTHERS"
            )
        found = _of_columns(predictions.shape, classes)
        is_rounded = (
            several and predictions.dtype.kind == "f" and bool(predictions.min() < 0) and are_shares(predictions)
        )
        return replace(found, read=partial(_rounded_shares, predictions.shape[1])) if is_rounded else found
    if predictions.dtype.kind != "f" or classes is not None:
        return _of_labels(predictions)
    numbers = _floats(_one_column(predictions))
    if _has_numbers(model) or np.any((numbers < 0) | (numbers > 1)):
        return Reader(("output",), _number)
    return Reader(("0", "1"), _both_classes)


def of_logits(predictions: Cells) -> Reader | None:
    """Reads a module's several columns as logits, where they are no probabilities; None where they are."""
    if predictions.ndim != 2 or predictions.shape[1] < 2 or predictions.dtype.kind != "f":
        return None
    if are_shares(predictions):
        return None
    return Reader(tuple(map(str, range(predictions.shape[1]))), partial(as_shares, predictions.shape[1]))


def as_shares(n_columns: int, predictions: Cells) -> Array:
    """Probabilities of several classes, from their logits."""
    shares: Array = softmax(_columns(n_columns, predictions), axis=1)
    return shares


def both_of_logit(predictions: Cells) -> Array:
    """Probabilities of two classes, from the logit of the second."""
    logit = _floats(_one_column(predictions))
    return np.column_stack([expit(-logit), expit(logit)])


def _has_numbers(model: Any) -> bool:
    """Whether one fraction a row is a number, by the way in which it is given."""
    return callable(getattr(model, "predict", None)) or _is_of_a_regressor(model)


def _is_of_a_regressor(method: Any) -> bool:
    """Whether this is a method of a regressor."""
    return is_regressor(getattr(method, "__self__", None))


def is_regressor(model: Any) -> bool:
    """Whether a model is a regressor, by the ways in which scikit-learn and its like mark one."""
    tags = getattr(model, "__sklearn_tags__", None)  # from scikit-learn 1.6 on
    return (tags().estimator_type if callable(tags) else getattr(model, "_estimator_type", None)) == "regressor"


def check_number(n_outputs: int) -> None:
    """Refuse a model with more outputs than can be explained, before room is made for them."""
    if n_outputs > MOST_OUTPUTS:
        raise ModelError(f"the model has {n_outputs:,} outputs for a row: at most {MOST_OUTPUTS:,} can be explained")


def _of_columns(shape: tuple[int, ...], classes: Any) -> Reader:
    """One column for each class."""
    if len(shape) != 2 or shape[1] < 2:
        raise ModelError(
            f"the model's probabilities have shape {shape}: one column for each of at least two classes is "
            "needed; a model that knows one class only has no decision to explain"
        )
    check_number(shape[1])
    known = classes if classes is not None and len(classes) == shape[1] else range(shape[1])
    return Reader(tuple(str(name) for name in known), partial(_columns, shape[1]))


def _columns(n_columns: int, predictions: Cells) -> Array:
    if predictions.ndim != 2 or predictions.shape[1] != n_columns:
        raise ModelError(f"the model gave outputs of shape {predictions.shape}; {n_columns} columns came before")
    return _floats(predictions)


def _rounded_shares(n_columns: int, predictions: Cells) -> Array:
    """Probabilities, some of which are less than 0 by rounding: ONNX has such ones of forests."""
    shares = _columns(n_columns, predictions)
    return np.where((shares < 0) & (shares >= -BELOW), 0.0, shares)


def _of_labels(predictions: Cells) -> Reader:
    """Labels become indicators; a label that the reference data never got has a column of its own at the end."""
    try:
        classes = np.unique(_one_column(predictions))
    except TypeError as error:
        raise ModelError(f"the model's outputs are labels of different kinds: {error}; give all one type") from error
    return Reader((*(str(label) for label in classes), OTHER_LABEL), partial(_indicators, classes))


def _indicators(classes: Cells, predictions: Cells) -> Array:
    known = _one_column(predictions)[:, None] == classes
    return np.column_stack([known, ~known.any(axis=1)]).astype(np.float64)


def _number(predictions: Cells) -> Array:
    """The one number of a regression."""
    return _floats(_one_column(predictions))[:, None]


def _both_classes(predictions: Cells) -> Array:
    """Probabilities of two classes, from those of the second."""
    second = _floats(_one_column(predictions))
    if np.any((second < 0) | (second > 1)):
        raise ModelError(
            f"the model's outputs were probabilities before, and now go from {second.min():g} to "
            f"{second.max():g}: give numbers in [0, 1] for every row"
        )
    return np.column_stack([1 - second, second])


def _one_column(predictions: Cells) -> Cells:
    if predictions.size != len(predictions):
        shape = f"the model gave outputs of shape {predictions.shape}"
        raise ModelError(f"{shape}; one number or label for each row was due")
    return predictions.reshape(len(predictions))


def _floats(predictions: Cells) -> Array:
    if predictions.dtype.kind == "c":
        raise ModelError(f"the model's outputs are not real numbers but {predictions.dtype}")
    try:
        return predictions.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ModelError(f"the model's outputs are not numbers but {predictions.dtype}: {error}") from error
