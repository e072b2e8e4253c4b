"""Trees and linear models of scikit-learn, read from what they learnt; nothing of it is imported."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from xcid.native.ensemble import (
    Ensemble,
    Link,
    Tree,
    averaged,
    averaged_pair,
    double,
    doubled,
    exponential,
    first,
    logistic,
    several,
    single,
)
from xcid.native.linear import Linear
from xcid.records import Array, Integers

PLAIN_STARTS = ("DummyClassifier", "DummyRegressor")  # of gradient boosting: the same for all rows
LINKS: dict[str, Link] = {"IdentityLink": first, "LogLink": exponential}
LOSSES: dict[str, Link] = {"HalfBinomialLoss": logistic, "ExponentialLoss": doubled, "HalfMultinomialLoss": several}


def decision_tree(model: Any, order: Integers) -> Ensemble | None:
    """One tree of shares of classes, or of means."""
    return _averaged(model, [model], order)


def forest(model: Any, order: Integers) -> Ensemble | None:
    """Shares or means, averaged over trees."""
    return _averaged(model, model.estimators_, order)


def _averaged(model: Any, estimators: Any, order: Integers) -> Ensemble | None:
    if model.n_outputs_ != 1:
        return None
    n_sums, n_trees = estimators[0].tree_.value.shape[2], len(estimators)
    is_pair = hasattr(model, "classes_") and n_sums == 2
    skipped = 1 if is_pair else 0
    trees = tuple(_tree(one.tree_, order, one.tree_.value[:, 0, skipped:]) for one in estimators)
    link = partial(averaged_pair if is_pair else averaged, n_trees)
    return Ensemble(trees, np.zeros(n_sums - skipped), single, link)


def gradient_boosting(model: Any, order: Integers) -> Ensemble | None:
    """Sums of trees, one for each class and round."""
    if not isinstance(model.init_, str) and type(model.init_).__name__ not in PLAIN_STARTS:
        return None
    trees = tuple(
        _tree(one.tree_, order, model.learning_rate * one.tree_.value[:, 0, :], slot)
        for stage in model.estimators_
        for slot, one in enumerate(stage)
    )
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]  # noqa: SLF001
    return Ensemble(trees, base, single, _link(model))


def histogram_boosting(model: Any, order: Integers) -> Ensemble | None:
    """The same, with splits on cells in double precision; splits on levels are not read."""
    nodes = [(slot, one.nodes) for stage in model._predictors for slot, one in enumerate(stage)]  # noqa: SLF001
    if any(one["is_categorical"].any() for _, one in nodes):
        return None
    trees = tuple(
        _ordered(
            order,
            one["is_leaf"].astype(bool),
            one["feature_idx"].astype(np.int64),
            one["num_threshold"],
            one["left"].astype(np.int64),
            one["right"].astype(np.int64),
            one["missing_go_to_left"].astype(bool),
            one["value"][:, None].astype(np.float64),
            slot,
        )
        for slot, one in nodes
    )
    return Ensemble(trees, np.ravel(model._baseline_prediction), double, _link(model))  # noqa: SLF001


def _link(model: Any) -> Link:
    loss = model._loss  # noqa: SLF001
    return LOSSES[type(loss).__name__] if hasattr(model, "classes_") else LINKS[type(loss.link).__name__]


def _tree(tree: Any, order: Integers, value: Array, slot: int = 0) -> Tree:
    children = tree.children_left, tree.children_right
    missing = tree.missing_go_to_left.astype(bool)
    return _ordered(order, children[0] < 0, tree.feature, tree.threshold, *children, missing, value, slot)


def _ordered(order: Integers, is_leaf: Any, feature: Any, *more: Any) -> Tree:
    """A tree whose columns are those of the table."""
    return Tree(np.where(is_leaf, -1, order[np.where(is_leaf, 0, feature)]), *more)


def linear(model: Any, order: Integers) -> Linear | None:
    """Sums of columns, with weights."""
    weights, start = np.atleast_2d(model.coef_).T, np.atleast_1d(model.intercept_).astype(np.float64)
    if hasattr(model, "classes_"):
        link = logistic if len(model.classes_) == 2 else several
    elif weights.shape[1] == 1:
        link = first
    else:
        return None
    n_columns = len(weights)
    return Linear(order, np.zeros(n_columns), np.ones(n_columns), weights.astype(np.float64), start, link)


def scaled(model: Any, order: Integers) -> Linear | None:
    """A linear model of columns that are shifted and scaled first."""
    if len(model.steps) != 2:
        return None
    (_, scaler), (_, last) = model.steps
    if name_of(scaler) != ("sklearn", "StandardScaler") or name_of(last) not in LINEAR:
        return None
    found = linear(last, order)
    if found is None:
        return None
    shift = found.shift if scaler.mean_ is None or not scaler.with_mean else scaler.mean_
    scale = found.scale if scaler.scale_ is None else scaler.scale_
    return Linear(order, shift, scale, found.weights, found.start, found.link)


def name_of(model: Any) -> tuple[str, str]:
    """The package and the name of a model's class, of which a subclass has another."""
    return type(model).__module__.partition(".")[0], type(model).__name__


Reading = Callable[[Any, Integers], Ensemble | Linear | None]
LINEAR: dict[tuple[str, str], Reading] = {
    ("sklearn", name): linear for name in ("LogisticRegression", "LinearRegression", "Ridge")
}
READINGS: dict[tuple[str, str], Reading] = {
    ("sklearn", "DecisionTreeClassifier"): decision_tree,
    ("sklearn", "DecisionTreeRegressor"): decision_tree,
    ("sklearn", "RandomForestClassifier"): forest,
    ("sklearn", "RandomForestRegressor"): forest,
    ("sklearn", "ExtraTreesClassifier"): forest,
    ("sklearn", "ExtraTreesRegressor"): forest,
    ("sklearn", "GradientBoostingClassifier"): gradient_boosting,
    ("sklearn", "GradientBoostingRegressor"): gradient_boosting,
    ("sklearn", "HistGradientBoostingClassifier"): histogram_boosting,
    ("sklearn", "HistGradientBoostingRegressor"): histogram_boosting,
    ("sklearn", "Pipeline"): scaled,
    **LINEAR,
}
