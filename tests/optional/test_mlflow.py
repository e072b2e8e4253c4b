"""Explanations beside runs of MLflow, in a store of files: no server, no network."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

import xcid
from xcid.errors import MissingDependency

os.environ.setdefault("MLFLOW_DISABLE_TELEMETRY", "true")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of its own imports
    pytest.importorskip("mlflow", reason="needs the extra mlflow")
    import mlflow
    import mlflow.pyfunc

from xcid_lab.adapters.mlflow import FOLDER, log_explanation, pyfunc, to_scores

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow and what it needs
TABLE = pd.DataFrame(np.random.default_rng(3).normal(size=(80, 3)), columns=["a", "b", "c"]).round(3)


def model(X):
    return 1 / (1 + np.exp(-3 * X["a"].to_numpy() * (1 + X["b"].to_numpy() ** 2)))  # whose scores chance has a part in


@pytest.fixture(scope="module")
def explainer():
    return xcid.Explainer(model, TABLE)


@pytest.fixture(autouse=True)
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri(), np.random.get_state()  # noqa: NPY002
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    if mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(before[0])
    np.random.set_state(before[1])  # noqa: NPY002


def files(run, folder=FOLDER):
    listed = mlflow.MlflowClient().list_artifacts(run.info.run_id, folder)
    return {entry.path.removeprefix(f"{folder}/") for entry in listed if not entry.is_dir}


def test_files(explainer):
    explanation = explainer(TABLE[:4])
    with mlflow.start_run() as run:
        assert log_explanation(explanation) == FOLDER
    found = files(run)
    assert found == {"explanation.npz", "explanation.json", "report.html", "bar.png", "beeswarm.png"}
    local = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path=FOLDER)
    loaded = xcid.load(f"{local}/explanation.npz")
    assert np.array_equal(loaded.values, explanation.values)
    document = json.loads(Path(local, "explanation.json").read_text(encoding="utf-8"))
    assert document["feature_names"] == ["a", "b", "c"]
    assert plt.get_fignums() == []


def test_parameters_and_metrics(explainer):
    with mlflow.start_run() as run:
        log_explanation(explainer(TABLE[:4], seed=7))
    data = mlflow.get_run(run.info.run_id).data
    assert data.params["xcid.seed"] == "7"
    assert data.params["xcid.generator"].startswith("Balanced(")
    assert data.metrics["xcid.rows"] == data.metrics["xcid.rows_ok"] == 4
    assert data.metrics["xcid.evaluations"] == explainer(TABLE[:4]).n_evaluations.sum()


def test_two_explanations_in_one_run(explainer):
    with mlflow.start_run() as run:
        log_explanation(explainer(TABLE[:1]), name="first")
        log_explanation(explainer(TABLE[:1], seed=1), name="second")
    assert "beeswarm.png" not in files(run, f"{FOLDER}/first")
    assert "bar.png" in files(run, f"{FOLDER}/second")
    params = mlflow.get_run(run.info.run_id).data.params
    assert (params["xcid.first.seed"], params["xcid.second.seed"]) == ("0", "1")


def test_no_rows(explainer):
    with mlflow.start_run() as run:
        log_explanation(explainer(TABLE[:1])[[]])
    assert files(run) == {"explanation.npz", "explanation.json"}


def test_an_explainer_as_a_model(explainer, tmp_path):
    mlflow.pyfunc.save_model(tmp_path / "model", python_model=pyfunc(explainer), pip_requirements=["xcid"])
    loaded = mlflow.pyfunc.load_model(str(tmp_path / "model"))
    scores = loaded.predict(TABLE[5:8])
    due = explainer(TABLE[5:8])
    assert list(scores.columns) == ["a", "b", "c"]
    assert list(scores.index) == [5, 6, 7]
    assert np.allclose(scores, due.values, atol=1e-9)


def test_seed_of_a_prediction(explainer):
    wrapped = pyfunc(explainer)
    assert isinstance(wrapped, mlflow.pyfunc.PythonModel)
    other = wrapped.predict(None, TABLE[:2], {"seed": 3})
    assert np.allclose(other, explainer(TABLE[:2], seed=3).values)
    assert not np.allclose(other, wrapped.predict(None, TABLE[:2]))


def test_scores_keep_the_names_of_rows(explainer):
    named = TABLE[:2].set_axis(["first", "second"])
    assert list(to_scores(explainer(named)).index) == ["first", "second"]


def test_without_mlflow(explainer, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "mlflow", None)
    with pytest.raises(MissingDependency, match=r'pip install -e "\.\[mlflow\]"'):
        log_explanation(explainer(TABLE[:1]))
