"""Explanations as data frames of any library, and as SHAP's own record."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from xcid._require import require
from xcid.records import Array, Explanation, Flags, fields
from xcid.table import Backend, frame_of

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    AnyFrame: TypeAlias = pd.DataFrame | pl.DataFrame | pa.Table


def to_frame(explanation: Explanation, backend: Backend) -> AnyFrame:
    """Give one line for each row and feature: row, feature, data, value, importance, status, ...

    A column of pandas may hold numbers and texts, so ``data`` has levels and dates as people know them. Those of other
    libraries, and of files, have one type: there ``data`` is a number, and ``shown`` the value in words.
    """
    columns = to_columns(explanation)
    if backend != "pandas":
        return frame_of(columns, backend)
    frame = frame_of(columns | {"data": _as_in_tables(explanation).ravel()}, backend)
    frame.attrs.update(describe_source(explanation))
    return frame


def describe_source(explanation: Explanation) -> dict[str, Any]:
    """What numbers are about, and where they come from: digests of model and reference data, versions, settings."""
    names = ("question", "unit", "limits", "estimand")
    known = {name: getattr(explanation, name) for name in names}
    return known | {"settings": dict(explanation.details.settings or {})}


def to_columns(explanation: Explanation) -> dict[str, Any]:
    """The columns of :func:`to_frame` as arrays by name: the scores, then what is known beside them."""
    n, d = explanation.values.shape
    columns = {
        "row": np.repeat(explanation.index, d),
        "feature": np.tile(np.array(explanation.feature_names), n),
        "data": one_number(explanation).ravel(),
        "shown": np.array([explanation.shown(row, feature) for row in range(n) for feature in range(d)]),
    }
    known = [each for each in fields.list_fields(explanation) if each.line]
    for each in sorted(known, key=lambda each: each.axes != (fields.ROW, fields.FEATURE) or each.dtype is np.str_):
        part = getattr(explanation, each.name)
        if part is not None:
            columns[each.line] = part.ravel() if each.axes[1:] else np.repeat(part, d)
    columns["unit"] = np.full(n * d, explanation.unit)
    if explanation.limits != fields.COMPUTATION:
        columns["limits"] = np.full(n * d, explanation.limits)
        if explanation.importance_lower is not None:
            columns["importance_limits"] = np.full(n * d, fields.COMPUTATION)
    return columns | {name: np.repeat(part, d) for name, part in _predictions(explanation).items()}


def _predictions(explanation: Explanation) -> dict[str, Any]:
    """``output``, and before it ``predicted``, the class that it is the output of, whatever signs are about.

    Averages of rows have neither.
    """
    if explanation.n_rows is not None:
        return {}
    outputs, names = explanation.outputs, np.array(explanation.output_names)
    if outputs.shape[1] == 1:
        return {"output": outputs[:, 0]}
    top = outputs.argmax(axis=1)  # of a row that the model failed for it finds a NaN
    output = outputs[np.arange(len(top)), top]
    return {"predicted": np.where(np.isnan(output), "", names[top]), "output": output}


def to_shap(explanation: Explanation) -> Any:
    """Give a ``shap.Explanation`` of the same values, which begin at the same base values.

    Values that do not add up, such as the paper's, begin at 0.
    """
    shap, base = require("shap", extra="shap"), explanation.base_values
    return shap.Explanation(
        values=explanation.values,
        base_values=np.zeros(len(explanation)) if base is None else base,
        data=one_number(explanation),
        display_data=_readable(explanation),
        feature_names=list(explanation.feature_names),
    )


def _readable(explanation: Explanation) -> Any:
    """(n, f) objects: what people read of levels, dates, groups and missing cells, and numbers as they are."""
    numbers = one_number(explanation)
    return _put_words(explanation, numbers, np.isnan(numbers) | _have_words(explanation))


def _as_in_tables(explanation: Explanation) -> Any:
    """(n, f) the same, where missing cells stay NaN, and numbers alone stay an array of numbers."""
    numbers, have_words = one_number(explanation), _have_words(explanation)
    if not have_words.any():
        return numbers
    is_group = np.array([len(columns) > 1 for columns in explanation.details.features])
    return _put_words(explanation, numbers, (~np.isnan(numbers) & have_words) | is_group)


def _have_words(explanation: Explanation) -> Flags:
    """(f,) which features are levels, dates or groups, and no numbers."""
    details = explanation.details
    return np.array(
        [len(each) > 1 or any(details.levels[at] or details.units[at] for at in each) for each in details.features],
        dtype=np.bool_,
    )


def _put_words(explanation: Explanation, numbers: Array, where: Flags) -> Any:
    found = numbers.astype(object)
    for row, feature in np.argwhere(where).tolist():
        found[row, feature] = explanation.shown(row, feature)
    return found


def one_number(explanation: Explanation) -> Array:
    """(n, f) the number of each feature; NaN for groups, which have more than one."""
    numbers = [
        explanation.data[:, columns[0]] if len(columns) == 1 else np.full(len(explanation), np.nan)
        for columns in explanation.details.features
    ]
    return np.column_stack(numbers)
