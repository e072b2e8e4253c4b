"""Sessions of onnxruntime: one input matrix or one input a column, labels and probabilities."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xcid.errors import ModelError
from xcid.models.tables import Cells, columns_of, stacked
from xcid.records import Array
from xcid.space import FeatureSpace

TYPES = {
    "tensor(float)": np.float32,
    "tensor(double)": np.float64,
    "tensor(float16)": np.float16,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(string)": np.object_,
}


def from_onnx(
    session: Any, space: FeatureSpace
) -> tuple[Callable[[Sequence[Cells]], Cells], list[Any] | None, Callable[[Array], list[Cells]]]:
    """How to ask a session, the names of its classes where it knows them, and how to make its tables.

    Probabilities are used where there are any: a sequence of maps (skl2onnx's zipmap) or a matrix of several columns;
    else the first output. One column is read like that of a function: probabilities if within [0, 1], else numbers.
    """
    inputs = session.get_inputs()
    _check(inputs, space.names)
    size = inputs[0].shape[0] if inputs[0].shape else None
    decode = columns_of(space)

    def run(columns: Sequence[Cells]) -> list[Any]:
        return session.run(None, _feeds(inputs, space.names, columns))

    def ask(columns: Sequence[Cells]) -> Cells:
        n_rows = len(columns[0])
        if not isinstance(size, int) or n_rows == size:
            return _best(run(columns))
        at = np.minimum(np.arange(-(-n_rows // size) * size), n_rows - 1).reshape(-1, size)  # a fixed number of rows
        return np.concatenate([_best(run([column[rows] for column in columns])) for rows in at])[:n_rows]

    maps = [i for i, output in enumerate(session.get_outputs()) if output.type.startswith("seq(map")]
    classes = None
    if maps:
        first = run(decode(space.background[: size if isinstance(size, int) else 1]))
        classes = list(first[maps[0]][0])
    return ask, classes, decode


def _check(inputs: Sequence[Any], names: tuple[str, ...]) -> None:
    strange = [f"{one.name} ({one.type})" for one in inputs if one.type not in TYPES]
    if strange:
        raise ModelError(f"the session has the inputs {strange}: only tensors of {list(TYPES)} can be given")
    unknown = [one.name for one in inputs if one.name not in names]
    if len(inputs) > 1 and unknown:
        raise ModelError(
            f"the session has the inputs {unknown}, which the background does not have; its columns are {list(names)}: "
            "rename them, or give feature_names with an array"
        )


def _feeds(inputs: Sequence[Any], names: tuple[str, ...], columns: Sequence[Cells]) -> dict[str, Cells]:
    """Input tensors by name: all columns in one, or one for each."""
    if len(inputs) == 1:
        return {inputs[0].name: stacked(columns, TYPES[inputs[0].type])}
    feeds: dict[str, Cells] = {}
    for one in inputs:
        column, dtype = columns[names.index(one.name)], TYPES[one.type]
        if column.dtype.kind == "f" and np.dtype(dtype).kind in "ib" and np.isnan(column).any():
            raise ValueError(f"missing cells of {one.name!r} cannot become {one.type}")
        feeds[one.name] = column.astype(dtype).reshape(-1, *[1] * (len(one.shape) - 1))
    return feeds


def _best(answers: Sequence[Any]) -> Cells:
    """Probabilities where there are any, else the first answer."""
    for answer in answers:
        if isinstance(answer, list) and answer and isinstance(answer[0], dict):
            return np.array([[row[name] for name in answer[0]] for row in answer])
        if isinstance(answer, np.ndarray) and answer.dtype.kind == "f" and answer.ndim == 2 and answer.shape[1] > 1:
            return answer
    return np.asarray(answers[0])
