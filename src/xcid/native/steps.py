"""Steps of scikit-learn whose outputs are each made of one column: which one, by what the step learnt."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from xcid.native.seen import name_of
from xcid.records import Integers

MARK = "by_cell"
Function = TypeVar("Function", bound=Callable[..., Any])


def columns_of(step: Any) -> Integers | None:
    """The input column of each output column of a fitted step; None for a step that is not known."""
    package, name = name_of(step)
    find = STEPS.get(name) if package == "sklearn" and not {"transform"} & vars(step).keys() else None
    return None if find is None else find(step)


def by_cell(function: Function) -> Function:
    """Mark a function of tables that takes cells one by one: a model behind it can be read from inside."""
    vars(function)[MARK] = function
    return function


def _same(step: Any) -> Integers:
    return np.arange(step.n_features_in_)


def _function(step: Any) -> Integers | None:
    """No function at all, or one that takes cells one by one."""
    function = step.func
    is_plain = isinstance(function, np.ufunc) and function.nin == 1
    is_marked = getattr(function, MARK, None) is function  # and not what wraps one that is
    return _same(step) if function is None or ((is_plain or is_marked) and not step.kw_args) else None


def _imputed(step: Any) -> Integers:
    """Columns that were all missing are dropped, flags of missing cells come after the others."""
    kept = np.flatnonzero(step.keep_empty_features | ~_missing(step.statistics_))
    return kept if step.indicator_ is None else np.concatenate([kept, step.indicator_.features_])


def _missing(values: Any) -> Any:
    return np.array([one is None or one != one for one in values.tolist()])


def _one_hot(step: Any) -> Integers:
    return np.repeat(np.arange(step.n_features_in_), step._n_features_outs)  # noqa: SLF001


def _bins(step: Any) -> Integers:
    return _same(step) if step.encode == "ordinal" else np.repeat(np.arange(step.n_features_in_), step.n_bins_)


def _targets(step: Any) -> Integers:
    return np.repeat(np.arange(step.n_features_in_), len(step.encodings_) // step.n_features_in_)


def _splines(step: Any) -> Integers:
    return np.repeat(np.arange(step.n_features_in_), step.n_features_out_ // step.n_features_in_)


def _selected(step: Any) -> Integers:
    return np.flatnonzero(step.get_support())


def _flagged(step: Any) -> Integers:
    return np.asarray(step.features_)


def _one_after_the_other(step: Any) -> Integers | None:
    columns: Integers | None = None
    for _, part in step.steps:
        if part is None or part == "passthrough":
            continue
        found = columns_of(part)
        if found is None:
            return None
        columns = found if columns is None else columns[found]
    return _same(step) if columns is None else columns


def _side_by_side(step: Any) -> Integers | None:
    found = list[Integers]()
    for name, part, _ in step.transformers_:
        own = np.asarray(step._transformer_to_input_indices[name], dtype=np.int64)  # noqa: SLF001
        if len(own) == 0 or (isinstance(part, str) and part == "drop"):
            continue
        columns = np.arange(len(own)) if isinstance(part, str) else columns_of(part)
        if columns is None:
            return None
        found.append(own[columns])
    return np.concatenate(found)


STEPS: dict[str, Callable[[Any], Integers | None]] = {
    **dict.fromkeys(("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"), _same),
    **dict.fromkeys(("PowerTransformer", "QuantileTransformer", "Binarizer", "OrdinalEncoder"), _same),
    "FunctionTransformer": _function,
    "SimpleImputer": _imputed,
    "MissingIndicator": _flagged,
    "OneHotEncoder": _one_hot,
    "TargetEncoder": _targets,
    "KBinsDiscretizer": _bins,
    "SplineTransformer": _splines,
    **dict.fromkeys(("VarianceThreshold", "SelectKBest", "SelectPercentile", "SelectFromModel", "RFE"), _selected),
    "Pipeline": _one_after_the_other,
    "ColumnTransformer": _side_by_side,
}
