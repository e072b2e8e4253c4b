"""Every public method of every model that is read changes nothing, or is among the changes that are tried.

The methods are those of the classes as they are installed: a library that brings a new one makes a test fail, until it
has a case here or in ``test_model_changes.py``, or a reason in ``QUIET``.
"""

from __future__ import annotations

import importlib
import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.utils import all_estimators

import test_model_changes as changes
from test_model_changes import AFTER, BEFORE, CHANGES, LIBRARIES, X
from xcid.errors import XcidError
from xcid.native import LOOKS, READINGS, nested

# What methods of these names do is to tell, to write a file, or to say how metadata are handed on.
TELLING = re.compile(
    r"(get|num|save|dump|eval|plot|calc|to|explain|staged|predict|feature|iterate|estimate|is|virtual)_\w+|predict|score|eval"
    r"|apply|decision_\w+|transform|inverse_transform|path|score_samples|cost_complexity_pruning_path|set_\w*request|copy"
    r"|attr|attributes|inplace_predict|compare|trees_to_dataframe|upper_bound|lower_bound|term_importances|evals_result"
)

QUIET = {
    "set_output": "says in which kind of table steps give their results",
    "set_callbacks": "is heard while a model is fitted",
    "densify": "only undoes sparsify",
    "current_iteration": "tells",
    "create_metric_calcer": "makes another object",
    "free_network": "is about machines that train together",
    "set_network": "is about machines that train together",
    "add_valid": "is looked at while a model is trained",
    "set_train_data_name": "is a word in what training prints",
    "grid_search": "of CatBoost refuses a model that is fitted",
    "randomized_search": "of CatBoost refuses a model that is fitted",
    "select_features": "of CatBoost trains no model that is fitted",
    "refit": "of LightGBM makes another booster",
}  # fmt: skip
COVERED = {
    "fit": "forest: fit",
    "fit_transform": "forest: fit",
    "fit_predict": "forest: fit",
    "partial_fit": "descent: partial fit",
    "load_model": "booster of xgboost: load_model",
    "update": "booster of xgboost: update",
    "set_attr": "xgboost: best round",
    "model_from_string": "booster of lightgbm: text",
    "rollback_one_iter": "booster of lightgbm: roll back",
    "set_leaf_output": "booster of lightgbm: a leaf",
    "set_scale_and_bias": "catboost: scale and bias",
    "shrink": "catboost: shrink",
    "scale": "interpret: scale",
    "remove_terms": "interpret: remove terms",
    "set_params": "boosting: learning rate",
}


def boosted(model: Any) -> None:
    import xgboost

    model.boost(xgboost.DMatrix(X, BEFORE), 8, grad=np.full((160, 1), 0.3), hess=np.full((160, 1), 0.2))


def configured(model: Any) -> None:
    model.load_config(changes.xgboost_booster(AFTER).save_config())


EBM = changes.boosting_machine
MORE: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "sparsify": (lambda: LogisticRegression(C=0.05).fit(X, BEFORE), lambda model: model.sparsify()),
    "boost": (changes.xgboost_booster, boosted),
    "reset": (changes.xgboost_booster, lambda model: model.reset()),
    "set_param": (changes.xgboost_booster, lambda model: model.set_param({"base_score": 0.9, "max_depth": 1})),
    "load_config": (changes.xgboost_booster, configured),
    "reset_parameter": (changes.lightgbm_booster, lambda model: model.reset_parameter({"learning_rate": 0.9})),
    "shuffle_models": (changes.lightgbm_booster, lambda model: model.shuffle_models()),
    "free_dataset": (changes.lightgbm_booster, lambda model: model.free_dataset()),
    "set_leaf_values": (
        changes.catboost_model,
        lambda model: model.set_leaf_values(-np.asarray(model.get_leaf_values())),
    ),
    "set_feature_names": (changes.catboost_model, lambda model: model.set_feature_names(list("abcd"))),
    "set_probability_threshold": (changes.catboost_model, lambda model: model.set_probability_threshold(0.9)),
    "drop_unused_features": (changes.catboost_model, lambda model: model.drop_unused_features()),
    "monotonize": (EBM, lambda model: model.monotonize(0, increasing=False)),
    "remove_features": (EBM, lambda model: model.remove_features([0])),
    "reorder_classes": (EBM, lambda model: model.reorder_classes([1, 0])),
    "sweep": (EBM, lambda model: [model.scale(1, 0.0), model.sweep()]),
}


def kinds() -> Iterator[type]:
    """The classes of all models that are read, or looked into, as far as they are installed."""
    estimators = dict(all_estimators())
    homes = {"interpret": "interpret.glassbox", "sklearn": ""}
    for package, name in sorted({*READINGS, *LOOKS, *(("sklearn", name) for name in nested.READINGS)}):
        if package == "sklearn":
            if name in estimators:
                yield estimators[name]
            continue
        try:
            yield getattr(importlib.import_module(homes.get(package, package)), name)
        except ImportError:
            continue


def methods(kind: type) -> set[str]:
    return {name for name, value in inspect.getmembers(kind, callable) if name[0] != "_" and not inspect.isclass(value)}


def unknown(kind: type) -> set[str]:
    """The methods of which nothing is said."""
    return {name for name in methods(kind) - {*COVERED, *MORE, *QUIET} if not TELLING.fullmatch(name)}


def test_every_public_method_is_known():
    found = {kind.__name__: unknown(kind) for kind in kinds()}
    assert len(found) > 50
    assert not {name: more for name, more in found.items() if more}, "add a case or a reason"


def test_a_new_method_would_be_seen():
    class Newer(LogisticRegression):
        def rewire(self) -> None: ...

    assert unknown(Newer) == {"rewire"}


def test_every_case_is_there():
    assert set(COVERED.values()) <= CHANGES.keys() | LIBRARIES.keys()


def test_no_word_is_left_over():
    """Of methods that no class has any more."""
    pytest.importorskip("interpret")
    pytest.importorskip("catboost")
    lately = {"set_callbacks", "reorder_classes"}  # which old versions lack
    assert {*COVERED, *MORE, *QUIET} - lately <= set().union(*map(methods, kinds()))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning", "ignore::DeprecationWarning")
@pytest.mark.parametrize("name", MORE)
def test_what_a_method_leaves_is_explained_as_it_is(name):
    """Whether it changes outputs or not, the explanation is that of an explainer made now, or an error says why not."""
    make, change = MORE[name]
    model = make()
    explainer = changes.made(model)
    changes.explained(explainer)
    change(model)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = changes.explained(explainer)
        except XcidError:
            with pytest.raises(XcidError):
                changes.made(model)
            return
        fresh = changes.explained(changes.made(model))
    for part in ("values", "outputs", "base_values", "importance"):
        assert np.allclose(getattr(found, part), getattr(fresh, part), rtol=0, atol=1e-9, equal_nan=True), part
