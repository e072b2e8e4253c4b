"""The tables that models want, made from matrices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xcid._data import Array
from xcid.space import FeatureSpace, ToArray, cells_maker, frame_maker, in_order

Cells = np.ndarray[Any, np.dtype[Any]]


def as_trained(model: Any, space: FeatureSpace) -> Callable[[Array], Any]:
    """Give the model the kind of table it was trained on: scikit-learn's estimators remember it."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        fitted_on_array = hasattr(model, "n_features_in_") and not isinstance(space.decode, ToArray)
        return ToArray() if fitted_on_array else space.decode
    if isinstance(space.decode, ToArray):
        decode = ordered(space, names)
        make = frame_maker(names, "pandas")
        return lambda matrix: make(decode(matrix))
    return ordered(space, names)


def ordered(space: FeatureSpace, names: Sequence[str] | None) -> Callable[[Array], Any]:
    """Make tables of the background's kind with the columns in the model's order, where it has the same ones."""
    if names is None or tuple(names) == space.names or set(names) != set(space.names):
        return space.decode
    if isinstance(space.decode, ToArray):
        at = [space.names.index(name) for name in names]
        return lambda matrix: matrix[:, at]
    return in_order(space.decode, names)


def columns_of(space: FeatureSpace) -> Callable[[Array], list[Cells]]:
    """Decode to one array of cells for each feature: numbers, or levels with None where missing."""
    makers = [cells_maker(column) for column in space.columns]
    return lambda matrix: [make(matrix[:, i]) for i, make in enumerate(makers)]


def stacked(columns: Sequence[Cells], dtype: Any) -> Cells:
    """Columns of cells as one matrix."""
    return np.column_stack([column.astype(dtype) for column in columns])
