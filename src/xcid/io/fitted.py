"""What compiled code takes for granted of fitted estimators, beside their trees; and which of them would open files."""

# ruff: noqa: SLF001 - what compiled code reads is private

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xcid.errors import InvalidFile


def check(part: Any) -> None:
    """Refuse an estimator of scikit-learn whose parts do not fit together; others are passed over."""
    if type(part).__module__.startswith("sklearn."):
        for attribute, checked in (CHECKS[kind.__name__] for kind in type(part).__mro__ if kind.__name__ in CHECKS):
            if hasattr(part, attribute):
                checked(part)


def width(part: Any) -> int:
    """How many features an estimator takes: where it does not say, scikit-learn does not look either."""
    found = getattr(part, "n_features_in_", None)
    if isinstance(found, bool | np.bool_) or not isinstance(found, int | np.integer) or found < 1:
        raise damaged(part, "does not say how many features it takes")
    return int(found)


def damaged(part: Any, what: str) -> InvalidFile:
    """The error for a part that cannot be asked safely."""
    return InvalidFile(
        f"the {type(part).__name__} of this model {what}: the file is damaged, or was made to do harm; save it anew"
    )


def _labels(part: Any) -> None:
    """Of neighbours: each row has a class that there is."""
    many = part.outputs_2d_
    classes = part.classes_ if many else [part.classes_]
    labels = np.asarray(part._y)
    rows = part._fit_X.shape[0]
    labels = labels if many else labels.reshape(labels.shape[0], -1)
    if labels.dtype.kind not in "iu" or labels.shape != (rows, len(classes)):
        raise damaged(part, f"has labels of shape {labels.shape} for {rows:,} rows")
    if any(np.any((own < 0) | (own >= len(known))) for own, known in zip(labels.T, classes, strict=True)):
        raise damaged(part, "has rows of classes that it does not know")


def _vectors(part: Any) -> None:
    """Of support vector machines: as many coefficients, limits and counts as libsvm will read."""
    counts, classes = np.asarray(part._n_support), len(getattr(part, "classes_", ())) or 2
    n, pairs = len(part.support_), classes * (classes - 1) // 2
    is_classifier = hasattr(part, "classes_")
    due = {
        "support_vectors_": (n, width(part)),
        "_dual_coef_": (classes - 1, n),
        "_intercept_": (pairs,),
        "_n_support": (classes,) if is_classifier else counts.shape,
    }
    if part._sparse:
        raise damaged(part, "was fitted on sparse rows, which no table has")
    for name, shape in due.items():
        if np.shape(getattr(part, name)) != shape:
            raise damaged(part, f"has {name} of shape {np.shape(getattr(part, name))}, not {shape}")
    for name in ("_probA", "_probB"):
        if np.size(getattr(part, name)) not in (0, pairs):
            raise damaged(part, f"has {name} of {np.size(getattr(part, name))} numbers, not {pairs}")
    if is_classifier and (np.any(counts < 0) or counts.sum() != n):
        raise damaged(part, f"counts {counts.sum()} vectors and has {n}")


def _isolated(part: Any) -> None:
    """Of isolation forests: its trees get as many columns as they were fitted on."""
    for tree, columns in zip(part.estimators_, part.estimators_features_, strict=True):
        if len(columns) != width(tree) or part._max_features != width(tree):
            raise damaged(part, f"hands {len(columns)} columns to a tree that takes {width(tree)}")


def _boosted(part: Any) -> None:
    """Of histogram boosting: what it does before must leave every column there."""
    width(part)
    before = part._preprocessor
    if before is None:
        return
    kinds = [getattr(getattr(one, "func", one), "func", one) for _, one, _ in before.transformers_]
    taken = [*before._transformer_to_input_indices.values(), *(np.flatnonzero(one) for *_, one in before.transformers_)]
    if (
        type(before).__name__ != "ColumnTransformer"
        or [getattr(one, "__name__", type(one).__name__) for one in kinds] != ["OrdinalEncoder", "check_array", "str"]
        or not np.array_equal(np.sort(np.concatenate(taken)), np.repeat(np.arange(width(part)), 2))
    ):
        raise damaged(part, "drops columns that its trees ask for")


def _texts(part: Any) -> None:
    if part.input != "content":
        raise damaged(part, f"would open files that cells name (input={part.input!r}), and cells are no such names")


def _sized(part: Any) -> None:
    width(part)


CHECKS: dict[str, tuple[str, Callable[[Any], None]]] = {  # with the attribute that only a fitted one has
    "KNeighborsClassifier": ("_fit_X", _labels),
    "RadiusNeighborsClassifier": ("_fit_X", _labels),
    "BaseLibSVM": ("support_", _vectors),
    "IsolationForest": ("estimators_", _isolated),
    "BaseHistGradientBoosting": ("_predictors", _boosted),
    "BaseDecisionTree": ("tree_", _sized),
    "BaseForest": ("estimators_", _sized),
    "BaseGradientBoosting": ("estimators_", _sized),
    "_VectorizerMixin": ("input", _texts),
}
