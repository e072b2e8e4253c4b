"""Changes that no digest tells of: a few reference rows are predicted again before each explanation, and compared.

So it is for functions, classes of the user's own, subclasses, torch, ONNX, models that are too large, and steps that
hold functions. What is random or fails is not taken for a change.
"""

from __future__ import annotations

import copy
import pickle
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import xcid
from xcid.errors import ModelError, XcidWarning
from xcid.models.predictor import FEW
from xcid.native import Fingerprint
from xcid.subject import Subject

X = np.random.default_rng(5).normal(size=(160, 4))
BEFORE, AFTER = (X[:, 0] + X[:, 1] / 2 > 0).astype(int), (X[:, 2] - X[:, 3] / 2 > 0).astype(int)
ROWS = X[:4]
SAID = "the model has changed"
SETTINGS = {"sign": 1.0, "column": 0}


def by_settings(table: Any) -> Any:
    """A function that reads what stands elsewhere."""
    return 1 / (1 + np.exp(-SETTINGS["sign"] * np.asarray(table)[:, int(SETTINGS["column"])]))


def turned(table: Any) -> Any:
    return SETTINGS["sign"] * np.asarray(table)


@pytest.fixture(autouse=True)
def settings():
    SETTINGS.update(sign=1.0, column=0)
    yield
    SETTINGS.update(sign=1.0, column=0)


class Own:
    """A class of the user's own with a method, and no function of a known library."""

    classes_ = np.array([0, 1])

    def __init__(self) -> None:
        self.weights = np.array([1.0, 0.5, 0.0, 0.0])

    def predict_proba(self, table: Any) -> Any:
        second = 1 / (1 + np.exp(-np.asarray(table) @ self.weights))
        return np.column_stack([1 - second, second])


class Called(Own):
    """An object that is called."""

    predict_proba = None

    def __call__(self, table: Any) -> Any:
        return Own.predict_proba(self, table)[:, 1]


class Forest(RandomForestClassifier):
    """A subclass of a class that is known."""


class Turned(FunctionTransformer):
    """A step of a pipeline that is none of the library's own."""

    by = 1.0

    def transform(self, table: Any) -> Any:
        return self.by * np.asarray(table)


def forest(kind: Any = RandomForestClassifier) -> Any:
    return kind(8, max_depth=4, random_state=0).fit(X, BEFORE)


def behind(step: Any) -> Any:
    return make_pipeline(step, LogisticRegression()).fit(X, BEFORE)


def refit(model: Any) -> None:
    model.fit(X, AFTER)


def other_weights(model: Any) -> None:
    model.weights = np.array([0.0, 0.0, 2.0, -1.0])


def other_settings(model: Any) -> None:
    SETTINGS.update(sign=-1.0, column=2)


def module() -> Any:
    torch = pytest.importorskip("torch", reason="needs the extra torch")
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(4, 2), torch.nn.Softmax(dim=1))


def other_parameters(model: Any) -> None:
    import torch

    with torch.no_grad():
        model[0].weight.mul_(-1)


class Session:
    """Stands before a session of ONNX, which cannot be changed: it is replaced by one of another file."""

    def __init__(self) -> None:
        self.model = session(BEFORE)

    def predict_proba(self, table: Any) -> Any:
        return self.model.run(None, {self.model.get_inputs()[0].name: np.asarray(table, dtype=np.float32)})[1]


def session(target: Any) -> Any:
    runtime = pytest.importorskip("onnxruntime", reason="needs the extra onnx")
    convert = pytest.importorskip("skl2onnx", reason="needs the extra test-all")
    fitted = LogisticRegression().fit(X, target)
    written = convert.to_onnx(fitted, X[:1].astype(np.float32), options={"zipmap": False})
    return runtime.InferenceSession(written.SerializeToString(), providers=["CPUExecutionProvider"])


def other_session(model: Any) -> None:
    model.model = session(AFTER)


def patched(model: Any) -> None:
    model.predict_proba = lambda table: Own.predict_proba(model, -np.asarray(table))


CHANGES: dict[str, tuple[Callable[[], Any], Callable[[Any], None]]] = {
    "function": (lambda: by_settings, other_settings),
    "own class": (Own, other_weights),
    "own class: patched": (Own, patched),
    "called object": (Called, other_weights),
    "subclass": (lambda: forest(Forest), refit),
    "function in a step": (lambda: behind(FunctionTransformer(turned)), other_settings),
    "own step": (lambda: behind(Turned()), lambda model: setattr(model[0], "by", -2.0)),
    "own metric": (
        lambda: KNeighborsClassifier(metric=lambda a, b: abs(SETTINGS["sign"] * a - b).sum()).fit(X, BEFORE),
        other_settings,
    ),
    "torch": (module, other_parameters),
    "ONNX": (Session, other_session),
}


def explained(explainer: Any) -> Any:
    return explainer(ROWS)


def made(model: Any) -> Any:
    return xcid.Explainer(model, X, generator=xcid.generators.Balanced(64))


def check_is_never_stale(make: Callable[[], Any], change: Callable[[Any], None]) -> None:
    model = make()
    explainer = made(model)
    before = explained(explainer)
    assert np.array_equal(explained(explainer).values, before.values)
    change(model)
    with pytest.warns(XcidWarning, match=SAID):
        found = explained(explainer)
    again = explained(explainer)  # it is said once: a warning is an error here
    fresh = explained(made(model))
    assert np.abs(fresh.base_values - before.base_values).max() + np.abs(fresh.values - before.values).max() > 1e-3
    for name in ("values", "base_values", "outputs", "importance", "n_evaluations"):
        for one in (found, again):
            assert np.allclose(getattr(one, name), getattr(fresh, name), rtol=0, atol=1e-9, equal_nan=True), name


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_no_digest_tells_of(name):
    check_is_never_stale(*CHANGES[name])


@pytest.mark.parametrize("limit", ["MOST_BYTES", "MOST_PARTS"])
def test_a_model_that_is_too_large(monkeypatch, limit):
    monkeypatch.setattr(f"xcid.native.{limit}", 20)
    assert Fingerprint.of(forest()) is None
    check_is_never_stale(forest, refit)


@pytest.mark.slow
def test_a_model_that_is_really_too_large():
    large = np.random.default_rng(0).normal(size=(180_000, 100))
    model = KNeighborsClassifier(1, algorithm="brute").fit(large, large[:, 0] > 0)
    assert Fingerprint.of(model) is None
    explainer = xcid.Explainer(model, large[:40], generator=xcid.generators.Balanced(64))
    before = explainer(large[:1])
    model.fit(large, large[:, 1] > 0)
    with pytest.warns(XcidWarning, match=SAID):
        found = explainer(large[:1])
    assert not np.allclose(found.base_values, before.base_values)


@pytest.mark.parametrize("name", ["function", "subclass", "function in a step"])
def test_without_the_comparison_it_would_be_stale(monkeypatch, name):
    monkeypatch.setattr(Subject, "predicts_the_same", lambda self: True)
    with pytest.raises((AssertionError, pytest.fail.Exception)):
        check_is_never_stale(*CHANGES[name])


@pytest.mark.parametrize(
    "way", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy], ids=["pickle", "deepcopy"]
)
def test_a_copy_is_of_the_model_that_came_with_it(way):
    model = Own()
    explainer = made(model)
    other_weights(model)
    with pytest.warns(XcidWarning, match=SAID):
        found = explained(way(explainer))
    assert np.allclose(found.values, explained(made(model)).values, rtol=0, atol=1e-9)


def test_each_change_is_said_once():
    explainer = made(by_settings)
    for column in (1, 2, 0):
        SETTINGS["column"] = column
        with pytest.warns(XcidWarning, match=SAID):
            assert np.abs(explained(explainer).values).mean(axis=0).argmax() == column
        explained(explainer)


def test_other_questions_are_about_the_model_as_it_is():
    explainer = made(by_settings)
    SETTINGS["column"] = 2
    with pytest.warns(XcidWarning, match=SAID):
        found = explainer.counterfactuals(ROWS)
    assert found.to_frame().equals(made(by_settings).counterfactuals(ROWS).to_frame())


def test_another_number_of_classes_is_an_error():
    model = forest(Forest)
    explainer = made(model)
    model.fit(X, BEFORE + AFTER)
    with pytest.raises(ModelError):
        explained(explainer)


class Counting:
    """Counts the rows of each call, and predicts with some noise."""

    def __init__(self, noise: float = 0.0) -> None:
        self.calls, self.chance, self.noise = list[int](), np.random.default_rng(0), noise

    def __call__(self, table: Any) -> Any:
        self.calls.append(len(table))
        wobble = self.noise * self.chance.normal(size=len(table))
        return 1 / (1 + np.exp(-(np.asarray(table)[:, 0] + wobble)))


def test_what_it_costs_is_not_counted_and_below_2_percent_of_a_row():
    model = Counting()
    explainer = xcid.Explainer(model, X)
    model.calls.clear()
    found = explainer(ROWS[:1])
    assert model.calls[0] == FEW
    assert sum(model.calls) == found.n_evaluations[0] + FEW
    assert 0.02 * found.n_evaluations[0] >= FEW


@pytest.mark.parametrize("noise", [1e-4, 1.0])
def test_a_random_model_is_never_tried_anew(noise):
    with pytest.warns(XcidWarning, match="not deterministic"):
        explainer = xcid.Explainer(Counting(noise), X, generator=xcid.generators.Balanced(64))
    for _ in range(3):
        explained(explainer)
    assert explainer.subject is explainer.made.subject


def test_a_model_that_depends_on_the_other_rows_of_a_call_is_not_tried_anew():
    def centred(table: Any) -> Any:
        return 1 / (1 + np.exp(-(table[:, 0] - table[:, 0].mean())))

    with pytest.warns(XcidWarning, match="depends on the other rows"):
        explainer = made(centred)
    explained(explainer)
    assert explainer.subject is explainer.made.subject


def test_a_model_that_fails_is_told_by_the_call_in_earnest():
    model = Own()
    explainer = made(model)
    model.weights = np.ones(3)
    with pytest.raises(ModelError, match="failed"):
        explained(explainer)
    model.weights = np.array([1.0, 0.5, 0.0, 0.0])
    assert explainer.subject is explainer.made.subject


def test_threads_try_a_changed_model_once():
    model = Own()
    explainer = made(model)
    other_weights(model)
    fresh, found = explained(made(model)).values, list[Any]()
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=lambda: found.append(explained(explainer).values)) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert len(found) == 6
    assert all(np.array_equal(one, fresh) for one in found)
    assert sum(SAID in str(one.message) for one in heard) == 1


def test_functions_of_known_libraries_need_no_calls():
    for function in (np.arctan, np.nan_to_num, None):
        assert Fingerprint(behind(FunctionTransformer(function))).is_whole
    assert made(behind(FunctionTransformer(np.arctan))).made.subject.seen is None
