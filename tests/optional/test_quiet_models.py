"""What libraries and models write by themselves: with ``--quiet`` nowhere, and never into the JSON on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

RANDOM = np.random.default_rng(0)
TABLE = pd.DataFrame(RANDOM.normal(size=(60, 2)).round(3), columns=["a", "b"])
TARGET = (TABLE["a"] > 0).astype(int)


def onnx_model(folder):
    """A graph with an initialiser that nothing uses, of which ONNX Runtime warns as it loads it."""
    pytest.importorskip("onnxruntime", reason="is not installed")
    onnx = pytest.importorskip("onnx", reason="is not installed")
    skl2onnx = pytest.importorskip("skl2onnx", reason="is not installed")
    types = [("X", skl2onnx.common.data_types.FloatTensorType([None, 2]))]
    model = skl2onnx.to_onnx(
        LogisticRegression().fit(TABLE.to_numpy(), TARGET), initial_types=types, options={"zipmap": False}
    )
    model.graph.initializer.append(onnx.numpy_helper.from_array(np.zeros(3, np.float32), "unused"))
    path = folder / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def lightgbm_model(folder):
    """A file with a parameter that LightGBM does not know, of which it warns."""
    lightgbm = pytest.importorskip("lightgbm", reason="is not installed")
    data = lightgbm.Dataset(TABLE, TARGET)
    booster = lightgbm.train({"objective": "binary", "verbosity": -1, "min_data_in_leaf": 5}, data, 5)
    path = folder / "model.txt"
    text = booster.model_to_string()
    path.write_text(text.replace("[verbosity: -1]", "[verbosity: 1]\n[no_such_parameter: 1]"))
    return path


def catboost_model(folder):
    catboost = pytest.importorskip("catboost", reason="is not installed")
    model = catboost.CatBoostClassifier(iterations=5, verbose=False, allow_writing_files=False).fit(TABLE, TARGET)
    model.save_model(folder / "model.cbm")
    return folder / "model.cbm"


CHATTY = """
import os, sys
class Chatty:
    classes_ = [0, 1]
    def predict_proba(self, X):
        import numpy
        print("from Python")
        print("to stderr", file=sys.stderr)
        os.write(1, b"to the handle\\n")
        os.write(2, b"both\\n")
        p = 1 / (1 + numpy.exp(-numpy.asarray(X)[:, 0]))
        return numpy.column_stack([1 - p, p])
    def predict(self, X):
        return self.predict_proba(X)[:, 1] > 0.5
"""


def chatty_model(folder):
    """A model that writes to everything at every call."""
    (folder / "chatty.py").write_text(CHATTY)
    path = folder / "model.pkl"
    code = f"import chatty, pickle; pickle.dump(chatty.Chatty(), open({str(path)!r}, 'wb'))"
    subprocess.run([sys.executable, "-c", code], cwd=folder, check=True)
    return path


MODELS = {"onnx": onnx_model, "lightgbm": lightgbm_model, "catboost": catboost_model, "chatty": chatty_model}


@pytest.mark.parametrize("name", MODELS)
def test_nothing_but_the_answer(tmp_path, name):
    model = MODELS[name](tmp_path)
    TABLE.to_csv(tmp_path / "t.csv", index=False)
    arguments = ["explain", "--background", "t.csv", "--model", model.name, "--rows", ":3", "--json"]
    arguments += ["--unsafe-pickle"] if model.suffix == ".pkl" else []
    paths = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])

    def run(*more):
        command = [sys.executable, "-m", "xcid", *arguments, *more]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, env={**os.environ, "PYTHONPATH": paths})
        assert done.returncode == 0, done.stderr
        assert len(json.loads(done.stdout)) == 6
        return done.stderr.decode()

    assert run("--quiet") == ""
    said = run()
    if name != "catboost":  # which says nothing by itself
        assert {"onnx": "unused", "lightgbm": "no_such_parameter", "chatty": "to the handle"}[name] in said
