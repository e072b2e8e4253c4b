"""Fitted models whose parts do not fit together: compiled code follows them out of its arrays, or round in circles."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Tamper = Callable[[Any], None]


def models(frame: Any, target: Any) -> Iterator[tuple[str, Any]]:
    """Names and models, each fitted and then changed in one place."""
    for name, (make, tamper) in _cases().items():
        model = make().fit(frame, target)
        tamper(model)
        yield name, model


def _item(part: Callable[[Any], Any], at: int, value: int) -> Tamper:
    def tamper(model: Any) -> None:
        part(model)[at] = value

    return tamper


def _attribute(name: str, change: Callable[[Any], Any]) -> Tamper:
    return lambda model: setattr(model, name, change(getattr(model, name)))


def _without(name: str, part: Callable[[Any], Any] = lambda model: model) -> Tamper:
    return lambda model: delattr(part(model), name)


def _state(at: int, change: Callable[[Any], Any]) -> Tamper:
    """Change a part of the state of a tree of neighbours."""

    def tamper(model: Any) -> None:
        state = list(model._tree.__getstate__())  # noqa: SLF001
        state[at] = change(state[at])
        model._tree.__setstate__(tuple(state))  # noqa: SLF001

    return tamper


def _dropping(model: Any) -> None:
    """What is done before the trees leaves a column out."""
    before = model._preprocessor  # noqa: SLF001
    before._transformer_to_input_indices["numerical"] = before._transformer_to_input_indices["numerical"][:-1]  # noqa: SLF001


def _cases() -> dict[str, tuple[Callable[[], Any], Tamper]]:
    import numpy as np
    from sklearn import ensemble, neighbors, svm, tree

    forest = lambda: ensemble.RandomForestClassifier(2, max_depth=3, random_state=0)  # noqa: E731
    boosted = lambda: ensemble.HistGradientBoostingClassifier(max_iter=2)  # noqa: E731
    leveled = lambda: ensemble.HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])  # noqa: E731
    isolated = lambda: ensemble.IsolationForest(n_estimators=2, random_state=0)  # noqa: E731
    extra = lambda: ensemble.ExtraTreesClassifier(3, max_features=1, random_state=0)  # noqa: E731
    near = lambda: neighbors.KNeighborsClassifier(3, algorithm="kd_tree", leaf_size=5)  # noqa: E731
    brute = lambda: neighbors.KNeighborsClassifier(3, algorithm="brute")  # noqa: E731
    nodes = lambda at, name: lambda model: model._predictors[at][0].nodes[name]  # noqa: E731, SLF001
    first = lambda model: model.estimators_[0]  # noqa: E731
    return {
        "child beyond": (forest, _item(lambda model: model.estimators_[1].tree_.children_left, 0, 10**6)),
        "circle in a forest": (forest, _item(lambda model: model.estimators_[1].tree_.children_right, 0, 0)),
        "feature beyond": (forest, _item(lambda model: model.estimators_[0].tree_.feature, 0, 3)),
        "predictor's child": (boosted, _item(nodes(1, "right"), 0, 10**6)),
        "predictor's feature": (boosted, _item(nodes(0, "feature_idx"), 0, 99)),
        "predictor's levels": (boosted, _item(nodes(0, "is_categorical"), 0, 1)),
        "neighbour's order": (near, _item(lambda model: np.asarray(model._tree.idx_array), 0, 10**6)),  # noqa: SLF001
        "neighbour's rows": (near, _item(lambda model: np.asarray(model._tree.node_data)["idx_end"], 3, 10**6)),  # noqa: SLF001
        "half the bounds": (near, _state(3, lambda bounds: bounds[:1])),
        "no metric": (near, _state(11, lambda metric: None)),
        "labels beyond the classes": (brute, _attribute("_y", lambda y: y + 7)),
        "labels before them": (brute, _attribute("_y", lambda y: y - 1)),
        "fewer labels": (brute, _attribute("_y", lambda y: y[:9])),
        "labels by radius": (lambda: neighbors.RadiusNeighborsClassifier(3.0), _attribute("_y", lambda y: y + 2**40)),
        "vectors counted wrongly": (svm.SVC, _attribute("_n_support", lambda n: n * 9)),
        "shortened coefficients": (svm.SVC, _attribute("_dual_coef_", lambda c: c[:, :3].copy())),
        "no intercept": (svm.SVC, _attribute("_intercept_", lambda c: c[:0])),
        "narrow vectors": (svm.SVR, _attribute("support_vectors_", lambda v: v[:, :1].copy())),
        "a forest without a width": (forest, _without("n_features_in_")),
        "a forest that is narrower": (extra, _attribute("n_features_in_", lambda n: 1)),
        "a width that is none": (forest, _attribute("n_features_in_", lambda n: float("nan"))),
        "a tree without a width": (tree.DecisionTreeClassifier, _without("n_features_in_")),
        "boosting without a width": (
            lambda: ensemble.GradientBoostingClassifier(n_estimators=2),
            _without("n_features_in_"),
        ),
        "histograms without a width": (boosted, _without("n_features_in_")),
        "bagging without a width": (
            lambda: ensemble.BaggingClassifier(n_estimators=2),
            _without("n_features_in_", first),
        ),
        "an isolation forest without": (isolated, _without("n_features_in_", first)),
        "columns of an isolation forest": (
            isolated,
            _attribute("estimators_features_", lambda columns: [one[:1] for one in columns]),
        ),
        "columns dropped before": (leveled, _dropping),
    }
