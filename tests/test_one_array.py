"""What is printed, exported, saved and handed to others is one array with one sign, whatever the model."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import RidgeClassifier

import xcid
from xcid.app import Session
from xcid.cli import main
from xcid.io.training import train
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
NAMED = {"module": ["price"], "logit": ["no", "yes"]}  # what is said of the module's one number


def module():
    """A torch module that returns one number."""
    torch = pytest.importorskip("torch")
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 6), torch.nn.Tanh(), torch.nn.Linear(6, 1)).double().eval()


def model_of(name):
    return module() if name in NAMED else MODELS[name]


def taken_for_a_logit(name):
    return pytest.warns(xcid.XcidWarning, match="for the logit") if name == "logit" else nullcontext()


@pytest.fixture(params=[*MODELS, *NAMED])
def name(request):
    return request.param


@pytest.fixture
def found(name):
    with taken_for_a_logit(name):
        explainer = xcid.Explainer(model_of(name), TABLE, feature_names=NAMES, class_names=NAMED.get(name))
    return explainer(TABLE[:5])


@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_in_frames(found, backend):
    frame = found.to_frame(backend)
    column = lambda name: np.asarray(frame[name]).reshape(found.values.shape)  # noqa: E731
    for name, part in (("value", "values"), ("lower", "lower"), ("upper", "upper"), ("p_value", "p_values")):
        assert np.array_equal(column(name), getattr(found, part))
    assert np.array_equal(column("base_value")[:, 0], found.base_values)


@pytest.mark.parametrize("file", ["e.npz", "e.json", "e.parquet"])
def test_in_files(found, file, tmp_path):
    found.save(tmp_path / file)
    loaded = xcid.load(tmp_path / file)
    for part in ("values", "lower", "upper", "base_values", "about", "exact"):
        assert np.array_equal(getattr(loaded, part), getattr(found, part)), part
    assert (loaded.unit, loaded.scale) == (found.unit, found.scale)


def test_for_shap(found):
    pytest.importorskip("shap")
    theirs = found.to_shap()
    assert np.array_equal(theirs.values, found.values)
    assert np.array_equal(theirs.base_values, found.base_values)


def test_on_the_screen(found):
    """All with as many decimals, four digits of the largest."""
    text, largest = bars(found, 0), np.abs(found.values[0]).max()
    for name, value in zip(NAMES, found.values[0], strict=True):
        (line,) = [line for line in text.splitlines() if line.strip().startswith(f"{name} ")]
        said = float(line.split()[2].replace(",", ""))
        assert said == pytest.approx(value, abs=6e-4 * max(1, largest))


def test_in_a_report(found, tmp_path):
    found.report(tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])
    scores = np.array([row["score"] for row in data["rows"]]) * data["unit"]
    assert np.allclose(scores, found.values, atol=data["unit"])


def test_in_the_app(name):
    session = Session(model_of(name), TABLE, TABLE[:5], class_names=NAMED.get(name))
    with taken_for_a_logit(name):
        described = session.describe()
        cells, question = described["rows"][1]["cells"], described["questions"][0]
        asked = {part: question[part] for part in ("kind", "half_width") if part in question}
        known = {"question": asked, "target": 0, "feature": 0}
        body = {"cells": cells, "own": cells, "frozen": [], "forbidden": [], **known}
        answer = session.explain(json.dumps(body).encode())
        explainer = xcid.Explainer(model_of(name), TABLE, class_names=NAMED.get(name))
    due = explainer(np.array([cells], dtype=float)).values[0]
    assert np.allclose(np.array(answer["row"]["score"]) * answer["unit"], due, atol=answer["unit"])


def test_as_bars(found):
    """From the bottom up, the largest last."""
    pytest.importorskip("matplotlib")
    order = np.argsort(np.abs(found.values[2]))
    assert [bar.get_width() for bar in xcid.plots.bar(found, 2).patches] == found.values[2, order].tolist()


def test_as_a_waterfall(found):
    pytest.importorskip("matplotlib")
    bars = xcid.plots.waterfall(found, 2).patches
    order = np.argsort(np.abs(found.values[2]))
    assert [bar.get_width() for bar in bars] == pytest.approx(found.values[2, order].tolist(), rel=1e-9)
    assert bars[0].get_x() == pytest.approx(found.base_values[2])
    assert bars[-1].get_x() + bars[-1].get_width() == pytest.approx(found.base_values[2] + found.values[2].sum())


@pytest.mark.parametrize("kind", ["two", "three", "number"])
def test_as_the_command_writes_it(kind, tmp_path, capsys):
    numbers = TABLE[:, 0] - TABLE[:, 1] * TABLE[:, 2]
    target = {"two": numbers > 0, "three": np.digitize(numbers, [-0.5, 0.5]), "number": numbers}[kind]
    table = pd.DataFrame(TABLE, columns=NAMES).assign(y=target if kind == "number" else target.astype(str))
    table.to_csv(tmp_path / "table.csv", index=False)
    typed = ["explain", "--reference", tmp_path / "table.csv", "--target", "y", "--train", "forest", "--rows", "0:5"]
    assert main([str(part) for part in [*typed, "--out", tmp_path / "out.csv"]]) == 0
    written, usual = pd.read_csv(tmp_path / "out.csv"), table.drop(columns="y")
    check_written(written, xcid.Explainer(train(table, "y", "forest", 0).model, usual)(usual.iloc[:5]))


@pytest.mark.parametrize("kind", ["labels", *NAMED])
def test_as_the_command_writes_it_of_a_model_in_a_file(kind, tmp_path):
    joblib, table = pytest.importorskip("joblib"), pd.DataFrame(TABLE, columns=NAMES)
    model = RidgeClassifier().fit(table, chance(TABLE) > 0.5) if kind == "labels" else module()
    joblib.dump(model, tmp_path / "model.joblib")
    table.to_csv(tmp_path / "table.csv", index=False)
    named = ["--class-names", ",".join(NAMED[kind])] if kind in NAMED else []
    typed = ["explain", tmp_path / "table.csv", "--model", tmp_path / "model.joblib", "--unsafe-pickle", *named]
    assert main([str(part) for part in [*typed, "--rows", "0:5", "--out", tmp_path / "out.csv"]]) == 0
    with taken_for_a_logit(kind):
        explainer = xcid.Explainer(model, table, class_names=NAMED.get(kind))
    check_written(pd.read_csv(tmp_path / "out.csv"), explainer(table[:5]))


def check_written(written, due):
    for column, part in (("value", due.values), ("importance", due.importance)):
        assert np.allclose(written[column].to_numpy().reshape(part.shape), part, rtol=0, atol=1e-9)
    assert np.allclose(written["base_value"].to_numpy()[::4], due.base_values, rtol=0, atol=1e-9)
    assert (written["unit"] == due.unit).all()
