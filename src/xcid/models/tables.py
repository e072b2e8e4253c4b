"""The tables that models want, made from matrices, and the names of their columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from xcid.records import Array
from xcid.space import FeatureSpace, ToRows, cells_maker, frame_maker, in_order

Cells = np.ndarray[Any, np.dtype[Any]]


def names_for(model: Any, background: Any, given: Sequence[str] | None = None) -> Sequence[str] | None:
    """What features are called: for a table without names, those that a scikit-learn model was fitted with."""
    has_names = hasattr(type(background), "columns")
    has_names |= isinstance(background, list | tuple) and len(background) > 0 and isinstance(background[0], Mapping)
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
        return ordered(space, names)
    return frame_maker(space.columns, [str(name) for name in names], "pandas")


def ordered(space: FeatureSpace, names: Sequence[str] | None) -> Callable[[Array], Any]:
    """Make tables of the background's kind with the columns in the model's order, where it has the same ones."""
    if names is None or tuple(names) == space.names or set(names) != set(space.names):
        return space.decode
    return in_order(space.decode, space.names, names)


def columns_of(space: FeatureSpace) -> Callable[[Array], list[Cells]]:
    """Decode to one array of cells for each feature: numbers, or levels with None where missing."""
    makers = [cells_maker(column) for column in space.columns]
    return lambda matrix: [make(matrix[:, i]) for i, make in enumerate(makers)]


def stacked(columns: Sequence[Cells], dtype: Any) -> Cells:
    """Columns of cells as one matrix."""
    return np.column_stack([column.astype(dtype) for column in columns])
