"""What is printed, exported, saved and handed to others is one array with one sign, whatever the model."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

import xcid
from xcid.show.text import bars

RNG = np.random.default_rng(4)
TABLE = RNG.normal(size=(120, 4))
NAMES = ["a", "b", "c", "d"]


def chance(X):
    return 1 / (1 + np.exp(-(1.5 * X[:, 0] - X[:, 1] + X[:, 2] * X[:, 3])))


def several(X):
    odds = np.exp(np.column_stack([X[:, 0], X[:, 1] + 0.5 * X[:, 3], -X[:, 2]]))
    return odds / odds.sum(axis=1, keepdims=True)


MODELS = {
    "two classes": chance,
    "several classes": several,
    "a number": lambda X: 100 * X[:, 0] - 30 * X[:, 1] * X[:, 2] + 400,
    "labels": lambda X: np.where(chance(X) > 0.5, "yes", "no"),
}


@pytest.fixture(params=MODELS)
def found(request):
    return xcid.Explainer(MODELS[request.param], TABLE, feature_names=NAMES)(TABLE[:5])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_in_frames(found, backend):
    frame = found.to_frame(backend)
    column = lambda name: np.asarray(frame[name]).reshape(found.values.shape)  # noqa: E731
    for name, part in (("value", "values"), ("lower", "lower"), ("upper", "upper"), ("p_value", "p_values")):
        assert np.array_equal(column(name), getattr(found, part))
    assert np.array_equal(column("base_value")[:, 0], found.base_values)


@pytest.mark.parametrize("name", ["e.npz", "e.json", "e.parquet"])
def test_in_files(found, name, tmp_path):
    found.save(tmp_path / name)
    loaded = xcid.load(tmp_path / name)
    for part in ("values", "lower", "upper", "base_values", "about", "exact"):
        assert np.array_equal(getattr(loaded, part), getattr(found, part)), part
    assert (loaded.unit, loaded.scale) == (found.unit, found.scale)


def test_for_shap(found):
    pytest.importorskip("shap")
    theirs = found.to_shap()
    assert np.array_equal(theirs.values, found.values)
    assert np.array_equal(theirs.base_values, found.base_values)


def test_on_the_screen(found):
    text = bars(found, 0)
    for name, value in zip(NAMES, found.values[0], strict=True):
        (line,) = [line for line in text.splitlines() if line.strip().startswith(f"{name} ")]
        said = float(line.split()[2].replace(",", ""))
        assert said == pytest.approx(value, abs=max(6e-4, 6e-4 * abs(value)))


def test_in_a_report(found, tmp_path):
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    scores = np.array([row["score"] for row in data["rows"]]) * data["unit"]
    assert np.allclose(scores, found.values, atol=data["unit"])
