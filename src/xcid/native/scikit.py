"""Trees and linear models of scikit-learn, read from what they learnt; nothing of it is imported."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from xcid.native.ensemble import Ensemble, Tree, averaged, averaged_pair, double, single, swapped
from xcid.native.models import Linear, Link, doubled, exponential, first, logistic, several, shared
from xcid.native.seen import Chain, Kind, Look, Seen, as_numbers, attributes
from xcid.records import Array, Integers

PLAIN_STARTS = ("DummyClassifier", "DummyRegressor")  # of gradient boosting: the same for all rows
LINKS: dict[str, Link] = {"IdentityLink": first, "LogLink": exponential}
LOSSES: dict[str, Link] = {"HalfBinomialLoss": logistic, "ExponentialLoss": doubled, "HalfMultinomialLoss": several}


def decision_tree(model: Any) -> Ensemble | None:
    """One tree of shares of classes, or of means."""
    return _averaged(model, [model]) if model.n_outputs_ == 1 else None


def forest(model: Any) -> Ensemble | None:
    """Shares or means, averaged over trees."""
    return _averaged(model, model.estimators_) if model.n_outputs_ == 1 else None


def bagged_trees(model: Any) -> Ensemble | None:
    """The same for trees that have drawn their columns; None where one of them does not know all classes."""
    classes = getattr(model, "classes_", ())
    trees = model.estimators_
    if any(one.n_outputs_ != 1 or len(getattr(one, "classes_", ())) != len(classes) for one in trees):
        return None
    return _averaged(model, trees, model.estimators_features_)


def _averaged(model: Any, estimators: Any, columns: Sequence[Integers] | None = None) -> Ensemble:
    n_sums, n_trees = estimators[0].tree_.value.shape[2], len(estimators)
    is_pair = hasattr(model, "classes_") and n_sums == 2
    skipped = 1 if is_pair else 0
    own = [None] * n_trees if columns is None else columns
    trees = tuple(
        _tree(one.tree_, one.tree_.value[:, 0, skipped:], columns=some)
        for one, some in zip(estimators, own, strict=True)
    )
    link = partial(averaged_pair if is_pair else averaged, n_trees)
    return Ensemble(trees, np.zeros(n_sums - skipped), single, link)


def adaptive_boosting(model: Any) -> Ensemble | None:
    """Weighted votes of trees."""
    n_classes, weights = len(model.classes_), model.estimator_weights_ / model.estimator_weights_.sum()
    if n_classes < 2 or any(type(one).__name__ != "DecisionTreeClassifier" for one in model.estimators_):
        return None
    if any(not np.array_equal(one.classes_, model.classes_) for one in model.estimators_):
        return None
    votes = np.where(np.eye(n_classes, dtype=bool), 1.0, -1 / (n_classes - 1)) / (n_classes - 1)
    if n_classes == 2:  # half the log odds, twice
        votes = 2 * votes[:, 1:]
    trees = tuple(
        _tree(one.tree_, weight * votes[one.tree_.value[:, 0].argmax(axis=1)])
        for one, weight in zip(model.estimators_, weights, strict=False)  # training may have stopped early
    )
    return Ensemble(trees, np.zeros(votes.shape[1]), single, logistic if n_classes == 2 else several)


def gradient_boosting(model: Any) -> Ensemble | None:
    """Sums of trees, one for each class and round."""
    if not isinstance(model.init_, str) and type(model.init_).__name__ not in PLAIN_STARTS:
        return None
    trees = tuple(
        _tree(one.tree_, model.learning_rate * one.tree_.value[:, 0, :], slot)
        for stage in model.estimators_
        for slot, one in enumerate(stage)
    )
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]  # noqa: SLF001
    return Ensemble(trees, base, single, _link(model))


def histogram_boosting(model: Any) -> Ensemble:
    """The same, with splits on cells in double precision."""
    trees = tuple(
        _of_histograms(one, slot)
        for stage in model._predictors  # noqa: SLF001
        for slot, one in enumerate(stage)
    )
    return Ensemble(trees, np.ravel(model._baseline_prediction), double, _link(model))  # noqa: SLF001


def _of_histograms(predictor: Any, slot: int) -> Tree:
    nodes = predictor.nodes
    is_leaf = nodes["is_leaf"].astype(bool)
    sets = {
        int(node): frozenset(np.flatnonzero(np.unpackbits(bits.view(np.uint8), bitorder="little")).tolist())
        for node in np.flatnonzero(nodes["is_categorical"])
        for bits in [predictor.raw_left_cat_bitsets[nodes["bitset_idx"][node]]]
    }
    tree = Tree(
        np.where(is_leaf, -1, nodes["feature_idx"].astype(np.int64)),
        nodes["num_threshold"],
        np.where(is_leaf, -1, nodes["left"].astype(np.int64)),
        np.where(is_leaf, -1, nodes["right"].astype(np.int64)),
        nodes["missing_go_to_left"].astype(bool),
        nodes["value"][:, None].astype(np.float64),
        slot,
        sets,
    )
    return swapped(tree)


def histogram_cells(model: Any, seen: Seen) -> Seen:
    """Columns of levels come first, by codes."""
    prepare = model._preprocessor  # noqa: SLF001
    if prepare is None:
        return seen
    order = np.argsort(~model.is_categorical_, kind="stable")
    if not set(seen.source[model.is_categorical_].tolist()) <= seen.levels.keys():  # numbers that count as levels
        return seen.after(prepare.transform, order)
    return replace(seen, source=seen.source[order]).by(Chain((prepare.transform, as_numbers)))


def _link(model: Any) -> Link:
    loss = model._loss  # noqa: SLF001
    return LOSSES[type(loss).__name__] if hasattr(model, "classes_") else LINKS[type(loss.link).__name__]


def _tree(tree: Any, value: Array, slot: int = 0, columns: Integers | None = None) -> Tree:
    is_leaf = tree.children_left < 0
    feature = np.where(is_leaf, 0, tree.feature)
    feature = np.where(is_leaf, -1, feature if columns is None else np.asarray(columns)[feature])
    children = tree.children_left, tree.children_right
    return Tree(feature, tree.threshold, *children, tree.missing_go_to_left.astype(bool), value, slot)


def tree_buffers(model: Any) -> Iterable[Any]:
    """The memory of a tree itself."""
    if not hasattr(model, "tree_"):  # what others are made after
        return ()
    state = model.tree_.__getstate__()
    return state["nodes"], state["values"], model.n_outputs_


def linear(model: Any) -> Linear | None:
    """Sums of columns, with weights; classes by log odds."""
    if not hasattr(model, "classes_"):
        return weighted(model, first)
    return weighted(model, logistic if len(model.classes_) == 2 else several)


def weighted(model: Any, link: Link) -> Linear | None:
    """Sums of columns, with weights; None where a regression has several outputs."""
    weights = np.atleast_2d(as_numbers(model.coef_)).T
    if weights.shape[1] > 1 and not hasattr(model, "classes_"):
        return None
    return Linear(weights, np.atleast_1d(np.asarray(model.intercept_, dtype=np.float64)), link)


def generalised(model: Any) -> Linear | None:
    """The mean is a function of the sum."""
    return weighted(model, LINKS[type(model._base_loss.link).__name__])  # noqa: SLF001


def descended(model: Any) -> Linear | None:
    """Log odds of each class against all others, fitted by stochastic gradient descent."""
    if model.loss != "log_loss":
        return None
    return weighted(model, logistic if len(model.classes_) == 2 else shared)


def supported(model: Any) -> Linear | None:
    """A support vector machine that is linear."""
    return weighted(model, first) if model.kernel == "linear" else None


CLASSES = ("Classifier", "Regressor")
LINEAR = (
    *("LinearRegression", "Ridge", "RidgeCV", "Lasso", "LassoCV", "ElasticNet", "ElasticNetCV", "Lars", "LarsCV"),
    *("LassoLars", "LassoLarsCV", "LassoLarsIC", "OrthogonalMatchingPursuit", "OrthogonalMatchingPursuitCV"),
    *("BayesianRidge", "ARDRegression", "HuberRegressor", "TheilSenRegressor", "QuantileRegressor", "SGDRegressor"),
    *("LinearSVR", "LogisticRegression", "LogisticRegressionCV", "LinearDiscriminantAnalysis"),
)
READINGS: dict[Kind, Callable[[Any], Ensemble | Linear | None]] = {
    ("sklearn", name): reading
    for names, reading in (
        ([f"DecisionTree{name}" for name in CLASSES], decision_tree),
        ([f"{kind}{name}" for kind in ("RandomForest", "ExtraTrees") for name in CLASSES], forest),
        (["AdaBoostClassifier"], adaptive_boosting),
        ([f"GradientBoosting{name}" for name in CLASSES], gradient_boosting),
        ([f"HistGradientBoosting{name}" for name in CLASSES], histogram_boosting),
        (LINEAR, linear),
        (["PoissonRegressor", "GammaRegressor", "TweedieRegressor"], generalised),
        (["SGDClassifier"], descended),
        (["SVR", "NuSVR"], supported),
    )
    for name in names
}
CELLS: dict[Kind, Callable[[Any, Seen], Seen]] = {
    ("sklearn", f"HistGradientBoosting{name}"): histogram_cells for name in CLASSES
}
LOOKS: dict[Kind, Look] = {
    **{("sklearn", f"{kind}Tree{name}"): tree_buffers for kind in ("Decision", "Extra") for name in CLASSES},
    **{
        ("sklearn", f"{kind}SearchCV"): attributes("best_estimator_")
        for kind in ("Grid", "Randomized", "HalvingGrid", "HalvingRandom")
    },
}
