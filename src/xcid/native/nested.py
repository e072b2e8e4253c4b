"""Models of scikit-learn that are made of others: pipelines, searches, means, and outputs that are changed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from xcid.native import scikit
from xcid.native.models import Alone, Combined, Linear, Native, averaged, changed, first
from xcid.native.seen import Columns, Seen, columns_of, name_of
from xcid.native.trees import Trees
from xcid.records import Array

Read: TypeAlias = Callable[[Any, Seen], Native | None]
TREES = ("DecisionTreeClassifier", "DecisionTreeRegressor")
MARGINS = ("LinearSVC", "SVC", "NuSVC", "RidgeClassifier", "RidgeClassifierCV", "Perceptron", "SGDClassifier")


def pipeline(read: Read, model: Any, seen: Seen) -> Native | None:
    """The last step, which sees what those before it make of columns, one by one."""
    *before, (_, last) = model.steps
    for _, step in before:
        if step is None or step == "passthrough":
            continue
        columns = columns_of(step)
        if columns is None:
            return None
        seen = seen.after(step.transform, columns)
    return read(last, seen)


def searched(read: Read, model: Any, seen: Seen) -> Native | None:
    """The best one that a search found."""
    return read(model.best_estimator_, seen)


def wrapped(read: Read, model: Any, seen: Seen) -> Native | None:
    """One whose probabilities are another's."""
    return read(model.estimator_, seen)


def frozen(read: Read, model: Any, seen: Seen) -> Native | None:
    """One that is fitted no more."""
    return read(model.estimator, seen)


def voting(read: Read, model: Any, seen: Seen) -> Native | None:
    """Means of probabilities or numbers."""
    if getattr(model, "voting", "soft") != "soft":
        return None
    weights = [1.0] * len(model.estimators_) if model.weights is None else model._weights_not_none  # noqa: SLF001
    return _mean([read(one, seen) for one in model.estimators_], weights)


def bagging(read: Read, model: Any, seen: Seen) -> Native | None:
    """Means over models that have drawn rows and columns."""
    if all(name_of(one) in (("sklearn", name) for name in TREES) for one in model.estimators_):
        found = scikit.bagged_trees(model)
        trees = None if found is None else Trees.of(found, len(seen.source))
        return None if trees is None else Alone(seen, trees)
    classes, models = getattr(model, "classes_", ()), list[Native | None]()
    for one, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        if len(getattr(one, "classes_", ())) != len(classes):
            return None
        models.append(read(one, seen.then(Columns(columns), columns)))
    return _mean(models, [1.0] * len(models))


def _mean(models: list[Native | None], weights: Any) -> Native | None:
    known = tuple(model for model in models if model is not None)
    if len(known) < len(models):
        return None
    return Combined(known, partial(averaged, tuple(float(weight) for weight in weights)))


def transformed(read: Read, model: Any, seen: Seen) -> Native | None:
    """A regression of a function of the target."""
    found = read(model.regressor_, seen)
    return None if found is None else Combined((found,), partial(changed, Untransformed(model.transformer_)))


@dataclass(frozen=True, slots=True, eq=False)
class Untransformed:
    """Numbers as they were before a transformer."""

    transformer: Any

    def __call__(self, outputs: Array) -> Array:
        found = self.transformer.inverse_transform(outputs.reshape(-1, 1))
        return np.asarray(found, dtype=np.float64).reshape(outputs.shape)


def calibrated(read: Read, model: Any, seen: Seen) -> Native | None:
    """Means of probabilities that calibrators make of margins, or of other probabilities."""
    found = [_calibrated(read, one, seen) for one in model.calibrated_classifiers_]
    return _mean(found, [1.0] * len(found))


def _calibrated(read: Read, one: Any, seen: Seen) -> Native | None:
    known = len(getattr(one.estimator, "classes_", ()))
    if one.method not in ("sigmoid", "isotonic") or known != len(one.classes):
        return None
    if hasattr(one.estimator, "decision_function"):
        found = margin(read, one.estimator, seen)
    else:
        found = read(one.estimator, seen)
        if found is not None and known == 2:
            found = Combined((found,), partial(changed, second))
    return None if found is None else Combined((found,), partial(changed, Calibrated(tuple(one.calibrators))))


def second(outputs: Array) -> Array:
    """The probability of the second class alone."""
    return outputs[..., 1:]


def margin(read: Read, model: Any, seen: Seen) -> Native | None:
    """A model that gives its sums as they are."""
    package, name = name_of(model)
    if package == "sklearn" and name == "Pipeline":
        return pipeline(partial(margin, read), model, seen)
    if package == "sklearn" and name == "FrozenEstimator":
        return margin(read, model.estimator, seen)
    if package == "sklearn" and name in MARGINS:
        if getattr(model, "kernel", "linear") != "linear" or (hasattr(model, "kernel") and len(model.classes_) > 2):
            return None
        found = scikit.weighted(model, first)
        return None if found is None else Alone(seen, found)
    known = read(model, seen)
    if not isinstance(known, Alone):
        return None
    if isinstance(known.core, Linear):
        return replace(known, core=replace(known.core, link=first))
    if isinstance(known.core, Trees):
        return replace(known, core=replace(known.core, ensemble=replace(known.core.ensemble, link=first)))
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Calibrated:
    """Probabilities of classes by one calibrator for each, or by one for the second of two."""

    calibrators: tuple[Any, ...]

    def __call__(self, outputs: Array) -> Array:
        if outputs.shape[-1] != len(self.calibrators):
            raise ValueError(f"there are {len(self.calibrators)} calibrators for {outputs.shape[-1]} outputs")
        shares = np.stack(
            [
                one.predict(outputs[..., at].ravel()).reshape(outputs.shape[:-1])
                for at, one in enumerate(self.calibrators)
            ],
            axis=-1,
        )
        if shares.shape[-1] == 1:
            return np.concatenate([1 - shares, shares], axis=-1)
        total = shares.sum(axis=-1, keepdims=True)
        return np.where(total > 0, shares / np.where(total > 0, total, 1.0), 1 / shares.shape[-1])


READINGS: dict[str, Callable[[Read, Any, Seen], Native | None]] = {
    "Pipeline": pipeline,
    **dict.fromkeys(("GridSearchCV", "RandomizedSearchCV", "HalvingGridSearchCV", "HalvingRandomSearchCV"), searched),
    **dict.fromkeys(("FixedThresholdClassifier", "TunedThresholdClassifierCV"), wrapped),
    "FrozenEstimator": frozen,
    **dict.fromkeys(("VotingClassifier", "VotingRegressor"), voting),
    **dict.fromkeys(("BaggingClassifier", "BaggingRegressor"), bagging),
    "TransformedTargetRegressor": transformed,
    "CalibratedClassifierCV": calibrated,
}
