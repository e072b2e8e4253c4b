"""An answer about rows that were explained before their model changed is that of the model as it is now."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.linear_model import LinearRegression

import test_model_changes as told
import test_untold_changes as untold
import xcid
from test_untold_changes import settings
from xcid import answers
from xcid.errors import InvalidParameter, XcidWarning
from xcid.generators import Balanced
from xcid.outcomes import Flip, Interval, ToClass

__all__ = ["settings"]  # a fixture
X, ROWS = told.X, told.ROWS
THREE = (X[:, 0] > 0.4).astype(int) + (X[:, 1] > 0)


def boosted() -> Any:
    return GradientBoostingClassifier(n_estimators=5, random_state=0).fit(X, THREE)


def turn(model: Any) -> None:
    model.fit(X, (2 - THREE)[::-1])


CHANGES = told.CHANGES | {f"untold: {name}": case for name, case in untold.CHANGES.items()}
CHANGES["three classes: fit"] = (boosted, turn)
QUICK = ("tree: a leaf", "forest: fit", "untold: function", "untold: subclass", "three classes: fit")


def other_question(names: tuple[str, ...]) -> Any:
    if len(names) == 1:
        return Interval(share=0.5)
    return ToClass(names[0], soft=True) if len(names) < 10 else Flip()  # of many labels others are there afterwards


def check_is_of_the_model_as_it_is(make: Callable[[], Any], change: Callable[[Any], Any]) -> None:
    model = make()
    explainer = xcid.Explainer(model, X, generator=Balanced(64))
    outcome = other_question(explainer.subject.output_names)
    found = explainer(ROWS)
    before = explainer.answer(found, outcome)
    change(model)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        after = explainer.answer(found, outcome)
        fresh = xcid.Explainer(model, X, generator=Balanced(64)).with_outcome(outcome)(ROWS)
    gaps = [np.abs(getattr(after, part) - getattr(before, part)).max() for part in ("outputs", "values", "base_values")]
    assert max(gaps) > 1e-6, "the change is none"
    assert any(answers.OTHER_MODEL in str(one.message) for one in heard)
    for name in ("values", "base_values", "outputs", "lower", "upper", "importance", "n_evaluations"):
        assert np.allclose(getattr(after, name), getattr(fresh, name), rtol=0, atol=1e-9, equal_nan=True), name


@pytest.mark.parametrize("name", QUICK)
def test_an_answer_after_a_change(name):
    check_is_of_the_model_as_it_is(*CHANGES[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("name", [name for name in CHANGES if name not in QUICK])
def test_every_answer_after_a_change(name):
    check_is_of_the_model_as_it_is(*CHANGES[name])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning:interpret", "ignore::UserWarning:sklearn")
@pytest.mark.parametrize("name", told.LIBRARIES)
def test_answers_after_changes_of_other_libraries(name):
    check_is_of_the_model_as_it_is(*told.LIBRARIES[name])


@pytest.mark.parametrize("name", QUICK)
def test_without_the_comparison_it_would_be_stale(monkeypatch, name):
    """The positive control."""
    monkeypatch.setattr(answers, "_is_of", lambda *known: True)
    monkeypatch.setattr(answers, "OTHER_MODEL", "")
    with pytest.raises(AssertionError, match=r"allclose|the change is none"):
        check_is_of_the_model_as_it_is(*CHANGES[name])


@pytest.mark.parametrize("make", [told.forest, told.pipeline, boosted, lambda: untold.by_settings, untold.Own])
@pytest.mark.parametrize("stored", [False, True])
def test_the_same_model_is_answered_by_what_was_kept(make, stored, monkeypatch, tmp_path):
    explainer = xcid.Explainer(make(), X, generator=Balanced(64))
    found = explainer(ROWS)
    if stored:
        found.save(tmp_path / "saved.xcid")
        found = xcid.load(tmp_path / "saved.xcid")
        if found.cloud is None or found.cloud.outputs is None:
            return
    monkeypatch.setattr("xcid.pipeline.explain", lambda *known: pytest.fail("explained anew"))
    assert np.array_equal(explainer.answer(found, Flip()).values, found.values)


def test_the_explanation_of_another_model():
    model = told.forest()
    found = xcid.Explainer(model, X)(ROWS)
    model.fit(X, told.AFTER)
    explainer = xcid.Explainer(model, X)
    with pytest.warns(XcidWarning, match="of another model"):
        assert np.array_equal(explainer.answer(found, Flip()).values, explainer(ROWS).values)


def test_a_model_that_has_more_classes():
    found = xcid.Explainer(told.forest(), X)(ROWS)
    explainer = xcid.Explainer(boosted(), X)
    with pytest.warns(XcidWarning, match="of another model"):
        assert np.array_equal(explainer.answer(found, ToClass("2")).outputs, explainer(ROWS).outputs)


@pytest.mark.parametrize("columns", [4, 3])
def test_other_reference_data_are_refused(columns):
    model = untold.by_settings
    found = xcid.Explainer(model, X[:, :columns])(ROWS[:, :columns])
    with pytest.raises(InvalidParameter, match="other reference data"):
        xcid.Explainer(model, X[:100])(ROWS[:1]) and xcid.Explainer(model, X[:100]).answer(found, Flip())


def test_a_random_model_is_not_compared():
    with pytest.warns(XcidWarning, match="not deterministic"):
        explainer = xcid.Explainer(untold.Counting(1.0), X, generator=Balanced(64))
    found = explainer(ROWS)
    assert np.array_equal(explainer.answer(found, Flip()).outputs, found.outputs)


@pytest.mark.parametrize("target", [None, "raise"])
def test_a_report_takes_no_counterfactuals_of_the_model_after_a_change(target, tmp_path):
    model: Any = told.forest() if target is None else LinearRegression().fit(X, told.NUMBERS)
    explainer = xcid.Explainer(model, X, generator=Balanced(64))
    found, own = explainer(ROWS), explainer.counterfactuals(ROWS, target)
    found.report(tmp_path / "page.html", counterfactuals=own)
    model.fit(X, told.AFTER)
    with pytest.warns(XcidWarning, match="the model has changed"):
        other = explainer.counterfactuals(ROWS, target)
    with pytest.raises(InvalidParameter, match="by the same model"):
        found.report(tmp_path / "page.html", counterfactuals=other)


@pytest.mark.parametrize("make", [told.forest, untold.Own])
def test_refits_are_those_of_the_training_before(make):
    """It is said once, with the change, and only where there are refits."""
    model = make()
    refits = [told.RandomForestClassifier(4, random_state=seed).fit(X, told.BEFORE) for seed in (1, 2)]
    explainer = xcid.Explainer(model, X, generator=Balanced(64), refits=refits)
    explainer(ROWS)
    model.fit(X, told.AFTER) if make is told.forest else untold.other_weights(model)
    with pytest.warns(XcidWarning, match="its refits are still those that were given: .*make a new explainer"):
        found = explainer(ROWS)
    assert found.retrained.shape[-1] == 2
    explainer(ROWS)  # a warning is an error here
    bare = xcid.Explainer(model, X, generator=Balanced(64))
    model.fit(X, told.BEFORE) if make is told.forest else setattr(model, "weights", np.ones(4))
    with pytest.warns(XcidWarning, match="the model has changed") as heard:
        bare(ROWS)
    assert "refits" not in "".join(str(one.message) for one in heard)
