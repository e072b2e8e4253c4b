"""Models of other libraries that neither follow scikit-learn's conventions nor are plain functions.

A class is recognised by the names of its package and itself, so that nothing is imported for models that do not need
it. To add a library, write a function here that takes a model and its feature space, and gives what can be called (a
:class:`Classifier`, :class:`NumberModel` or a function) and how to make its tables, and add it to ``ADAPTERS``.
"""

from __future__ import annotations

import contextlib
import json
import platform
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xcid import __version__
from xcid._require import require
from xcid.errors import ModelError
from xcid.models.tables import Cells, check_number, columns_of, order_columns, stack_columns
from xcid.records import Array
from xcid.table import FeatureSpace
from xcid.table.features import digest_reference

UNKNOWN_DIGEST = "digest unknown"
Adapted = tuple[Any, Callable[[Array], Any]]
# Of the inputs of ONNX sessions.
TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


class Classifier(NamedTuple):
    """A function that gives one column for each class."""

    predict_proba: Callable[[Any], Any]
    classes_: Sequence[Any] | None = None


class NumberModel(NamedTuple):
    """A function that gives one number for each row, or one label where these are integers."""

    predict: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Matrix:
    """A booster of XGBoost, which takes a matrix of its own kind."""

    model: Any

    def __call__(self, table: Any) -> Any:
        xgboost = require("xgboost", extra="xgboost")
        names = {"feature_names": self.model.feature_names, "feature_types": self.model.feature_types}
        own = {} if hasattr(type(table), "columns") else names
        return self.model.predict(xgboost.DMatrix(table, enable_categorical=True, **own))


@dataclass(frozen=True, slots=True)
class Pair:
    """Both classes, by what a function gives for the second."""

    call: Callable[[Any], Any]
    other: Callable[[Any], Any]

    def __call__(self, table: Any) -> Any:
        second = self.call(table)
        return np.column_stack([self.other(second), second])


@dataclass(frozen=True, slots=True)
class Labels:
    """What a function gives as whole numbers."""

    call: Callable[[Any], Any]

    def __call__(self, table: Any) -> Any:
        return self.call(table).astype(np.int64)


def _rest(second: Any) -> Any:
    return 1 - second


def _xgboost(model: Any, space: FeatureSpace) -> Adapted:
    """``xgboost.Booster``: wants its own matrix."""
    learner = json.loads(model.save_config())["learner"]
    check_number(int(learner["learner_model_param"].get("num_class", 0)))
    objective = learner["learner_train_param"]["objective"]
    return _classify_booster(Matrix(model), objective), order_columns(space, model.feature_names)


def _lightgbm(model: Any, space: FeatureSpace) -> Adapted:
    """``lightgbm.Booster``: takes columns by position."""
    check_number(model.num_model_per_iteration())
    header = model.model_to_string(num_iteration=1).partition("\nTree=")[0]
    check_number(int(re.search(r"^num_class=(\d+)", header, re.MULTILINE)[1]))  # type: ignore[index]
    objective = re.search(r"^objective=(\S*)", header, re.MULTILINE)
    return _classify_booster(model.predict, objective[1] if objective else ""), order_columns(
        space, model.feature_name()
    )


def _classify_booster(call: Callable[[Any], Any], objective: str) -> Classifier | NumberModel:
    """What the numbers of a booster are, by its objective."""
    if objective in ("multi:softprob", "multiclass", "multiclassova"):
        return Classifier(call)
    if objective in ("binary:logistic", "binary", "cross_entropy"):
        return Classifier(Pair(call, _rest))
    if objective == "binary:logitraw":  # the sign decides
        return Classifier(Pair(call, np.negative))
    if objective in ("multi:softmax", "binary:hinge"):
        return NumberModel(Labels(call))
    return NumberModel(call)


def _catboost(model: Any, space: FeatureSpace) -> Adapted:
    """CatBoost's classes: take strings as they are and columns by position; a regressor has an empty ``classes_``."""
    decode = order_columns(space, model.feature_names_)
    if len(model.classes_) == 0:
        return NumberModel(model.predict), decode
    call = getattr(model, "predict_proba", None)
    if call is None:  # the base class with a classifier's loss
        call = partial(model.predict, prediction_type="Probability")
    return Classifier(call, model.classes_), decode


def _torch(model: Any, space: FeatureSpace) -> Adapted:
    """``torch.nn.Module``: called in evaluation mode, on its own device and in its own precision.

    Several columns that are no probabilities are logits; one column within [0, 1] for the reference data are
    probabilities of the second class, any other one column are numbers, or logits where two classes are named.
    """
    torch = require("torch", extra="torch")

    def call(columns: Sequence[Any]) -> Any:
        device, dtype = home_of(model)
        with evaluating(model), torch.no_grad():
            predictions = model(torch.as_tensor(stack_columns(columns, np.float64)).to(dtype).to(device))
        if not isinstance(predictions, torch.Tensor):
            raise TypeError(f"the module must return one tensor, not {type(predictions).__name__}")
        short = predictions.is_floating_point() and predictions.dtype != torch.float64
        return (predictions.float() if short else predictions).detach().cpu().numpy()

    return call, columns_of(space)


def _onnx(model: Any, space: FeatureSpace) -> Adapted:
    """``onnxruntime.InferenceSession``: one input matrix or one input a column, labels and probabilities.

    Probabilities are used where there are any: a sequence of maps (skl2onnx's zipmap) or a matrix of several columns;
    else the first output. One column is read like that of a function: probabilities if within [0, 1], else numbers.
    """
    inputs, decode = model.get_inputs(), columns_of(space)
    _check_inputs(inputs, space.names)
    shape = inputs[0].shape
    size: int | None = shape[0] if shape and isinstance(shape[0], int) else None  # of a call, where it is fixed

    def run(columns: Sequence[Cells]) -> list[Any]:
        return model.run(None, _feeds(inputs, space.names, columns))

    def call(columns: Sequence[Cells]) -> Cells:
        n_rows = len(columns[0])
        if size is None or n_rows == size:
            return _best(run(columns))
        at = np.minimum(np.arange(-(-n_rows // size) * size), n_rows - 1).reshape(-1, size)
        return np.concatenate([_best(run([column[rows] for column in columns])) for rows in at])[:n_rows]

    maps = [at for at, output in enumerate(model.get_outputs()) if output.type.startswith("seq(map")]
    if not maps:
        return call, decode
    first = run(decode(space.rows[: 1 if size is None else size]))
    return Classifier(call, list(first[maps[0]][0])), decode


def _check_inputs(inputs: Sequence[Any], names: tuple[str, ...]) -> None:
    strange = [f"{one.name} ({one.type})" for one in inputs if one.type not in TYPES]
    if strange:
        raise ModelError(f"the session has the inputs {strange}: only tensors of {list(TYPES)} can be given")
    unknown = [one.name for one in inputs if one.name not in names]
    if len(inputs) > 1 and unknown:
        raise ModelError(
            f"the session has the inputs {unknown}, which the reference data do not have; their columns are "
            f"{list(names)}: rename them, or give feature_names with an array"
        )


def _feeds(inputs: Sequence[Any], names: tuple[str, ...], columns: Sequence[Cells]) -> dict[str, Cells]:
    """Input tensors by name: all columns in one, or one for each."""
    if len(inputs) == 1:
        return {inputs[0].name: stack_columns(columns, TYPES[inputs[0].type])}
    feeds: dict[str, Cells] = {}
    for one in inputs:
        column, dtype = columns[names.index(one.name)], TYPES[one.type]
        if column.dtype.kind == "f" and np.dtype(dtype).kind in "ib" and np.isnan(column).any():
            raise ValueError(f"missing cells of {one.name!r} cannot become {one.type}")
        feeds[one.name] = column.astype(dtype).reshape(-1, *[1] * (len(one.shape) - 1))
    return feeds


def _best(predictions: Sequence[Any]) -> Cells:
    """Probabilities where there are any, else the first output."""
    for one in predictions:
        if isinstance(one, list) and one and isinstance(one[0], dict):
            return np.array([[row[name] for name in one[0]] for row in one])
        if isinstance(one, np.ndarray) and one.dtype.kind == "f" and one.ndim == 2 and one.shape[1] > 1:
            return one
    return np.asarray(predictions[0])


def home_of(module: Any) -> tuple[Any, Any]:
    """Device and precision of the first weights that are floating-point numbers."""
    torch = require("torch", extra="torch")
    weights = (weight for part in (module.parameters(), module.buffers()) for weight in part)
    like = next((weight for weight in weights if weight.is_floating_point()), torch.empty(0, dtype=torch.float32))
    return like.device, like.dtype


@contextlib.contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Put a module in evaluation mode for a while, and every part of it back into its own."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


ADAPTERS: dict[tuple[str, str], Callable[[Any, FeatureSpace], Adapted]] = {
    ("xgboost", "Booster"): _xgboost,
    ("lightgbm", "Booster"): _lightgbm,
    ("catboost", "CatBoost"): _catboost,
    ("torch", "Module"): _torch,
    ("onnxruntime", "InferenceSession"): _onnx,
}


def is_instance(model: Any, package: str, name: str) -> bool:
    """Whether an object is of a class of that name, without an import of the package that defines it."""
    return any(kind.__name__ == name and kind.__module__.split(".")[0] == package for kind in type(model).__mro__)


def trace(model: Any, space: FeatureSpace, is_readable: bool) -> dict[str, str]:
    """Name the model, the reference data and the versions, for records of settings: nothing of it changes by itself.

    Neither a date nor a command is here, so that the same rows give the same files; a report has the command.
    """
    from xcid.native import Content, look_for_record

    found = look_for_record(model) if is_readable else Content("", (type(model).__module__.partition(".")[0],))
    sha256 = f"sha256 {found.sha256}" if found.sha256 else UNKNOWN_DIGEST
    return {
        "model": f"{getattr(model, '__name__', type(model).__name__)}, {sha256}",
        "reference": f"{len(space.rows):,} rows, sha256 {digest_reference(space)}",
        "versions": _name_versions(found.packages),
    }


def _name_versions(packages: tuple[str, ...]) -> str:
    """The versions of xcid, of what it stands on, and of packages that are loaded."""
    known: dict[str, Any] = {"xcid": __version__, "Python": platform.python_version(), "numpy": np.__version__}
    known |= {name: getattr(sys.modules.get(name), "__version__", None) for name in packages}
    return ", ".join(f"{name} {version}" for name, version in known.items() if version is not None)
