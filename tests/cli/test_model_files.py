"""Models from files: the same answers as the model itself, and never a pickle."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import xcid
from xcid.errors import InvalidFile
from xcid.io import models

NAMES = ["a", "b", "c"]
X = pd.DataFrame(np.random.default_rng(2).normal(size=(80, 3)), columns=NAMES).round(4)
Y = (X["a"] - 0.5 * X["b"] > 0).astype(int)


def odd_function(table):
    return table


def skops(path):
    library = pytest.importorskip("skops.io", reason="needs the extra skops")
    library.dump(model := LogisticRegression().fit(X, Y), path)
    return model


def onnx(path):
    convert = pytest.importorskip("skl2onnx")
    model = LogisticRegression().fit(X.to_numpy(), Y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of its own
        path.write_bytes(convert.to_onnx(model, X.to_numpy(np.float32)[:1]).SerializeToString())
    return model


def xgboost(path):
    library = pytest.importorskip("xgboost")
    model = library.XGBClassifier(n_estimators=5, max_depth=2, n_jobs=1).fit(X, Y)
    model.save_model(path)
    return model


def lightgbm(path):
    library = pytest.importorskip("lightgbm")
    model = library.LGBMClassifier(n_estimators=5, num_leaves=4, verbosity=-1, n_jobs=1).fit(X, Y)
    model.booster_.save_model(path)
    return model


def catboost(path):
    library = pytest.importorskip("catboost")
    model = library.CatBoostClassifier(
        iterations=5, depth=2, verbose=False, allow_writing_files=False, thread_count=1
    ).fit(X, Y)
    model.save_model(str(path))
    return model


FILES = {".skops": skops, ".onnx": onnx, ".json": xgboost, ".ubj": xgboost, ".txt": lightgbm, ".cbm": catboost}


@pytest.fixture
def background(tmp_path):
    path = tmp_path / "train.csv"
    X.assign(y=Y).to_csv(path, index=False)
    return path


def test_every_extension_is_tested():
    assert set(FILES) == set(models.LOADERS)


@pytest.mark.parametrize("suffix", FILES)
def test_the_same_scores_as_the_model_itself(command, tmp_path, background, suffix):
    path = tmp_path / f"model{suffix}"
    model = FILES[suffix](path)
    arguments = ("--background", background, "--target", "y", "--model", path, "--rows", "0:3", "--json", "--quiet")
    status, out, err = command("explain", *arguments)
    assert (status, err) == (0, "")
    lines = json.loads(out)
    table = X.to_numpy() if suffix == ".onnx" else X
    due = xcid.Explainer(model, table)(table[:3])
    assert [line["feature"] for line in lines] == NAMES * 3
    assert np.allclose([line["value"] for line in lines], due.values.ravel(), atol=1e-3)


@pytest.mark.parametrize("suffix", models.PICKLES)
def test_pickles_are_refused(command, tmp_path, background, suffix):
    path = tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(LogisticRegression().fit(X, Y)))
    status, _, err = command("explain", "--background", background, "--target", "y", "--model", path)
    assert status == 2
    assert "is a pickle, and loading one runs whatever code is in it" in err
    assert "skops.io.dump" in err


class Touch:
    """Runs code when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


@pytest.mark.parametrize("suffix", FILES)
def test_pickles_in_disguise_do_not_run(tmp_path, suffix):
    mark, path = tmp_path / "mark", tmp_path / f"model{suffix}"
    path.write_bytes(pickle.dumps(Touch(mark)))
    with pytest.raises(InvalidFile):
        models.load(path, [])
    assert not mark.exists()


class TestUnsafePickle:
    @pytest.mark.parametrize("suffix", models.UNPICKLED)
    @pytest.mark.parametrize("library", ["pickle", "joblib"])
    def test_loads_where_asked(self, command, tmp_path, background, suffix, library):
        path = tmp_path / f"model{suffix}"
        with path.open("wb") as file:
            __import__(library).dump(LogisticRegression().fit(X, Y), file)
        arguments = ("explain", "--background", background, "--target", "y", "--model", path, "--rows", "0", "--quiet")
        status, _, err = command(*arguments)
        assert status == 2
        assert "--unsafe-pickle" in err
        assert command(*arguments, "--unsafe-pickle")[0] == 0

    def test_help_says_why(self, command):
        _, out, _ = command("explain", "--help")
        assert "runs whatever code is in the file" in " ".join(out.split())

    @pytest.mark.parametrize("suffix", [*FILES, ".dill", ".pt"])
    def test_other_names_do_not_run_even_so(self, tmp_path, suffix):
        mark, path = tmp_path / "mark", tmp_path / f"model{suffix}"
        path.write_bytes(pickle.dumps(Touch(mark)))
        with pytest.raises(InvalidFile):
            models.load(path, [], unsafe_pickle=True)
        assert not mark.exists()

    def test_damaged(self, tmp_path):
        (tmp_path / "m.pkl").write_bytes(b"nothing of the kind")
        with pytest.raises(InvalidFile, match="cannot be loaded as a model"):
            models.load(tmp_path / "m.pkl", [], unsafe_pickle=True)
        with pytest.raises(InvalidFile, match="cannot be found"):
            models.load(tmp_path / "n.pkl", [], unsafe_pickle=True)


@pytest.mark.parametrize(("name", "message"), [("m.skops", "cannot be found"), ("m.h5", "the extensions are .skops")])
def test_no_model(tmp_path, name, message):
    with pytest.raises(InvalidFile, match=message):
        models.load(tmp_path / name, [])


@pytest.mark.parametrize("suffix", FILES)
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (Path.mkdir, "it is not a plain file"),
        (Path.touch, "it is empty"),
        (getattr(os, "mkfifo", Path.mkdir), "it is not a plain file"),
    ],
)
def test_only_plain_files_are_read(command, tmp_path, background, suffix, make, message):
    make(path := tmp_path / f"model{suffix}")
    status, _, err = command("explain", "--background", background, "--target", "y", "--model", path, "--quiet")
    assert (status, err) == (2, f"xcid: {path} is not a model: {message}\n")


def test_a_skops_file_does_not_bring_pytorch_and_dask():
    """They take longer to import than all the rest; whoever needs scikit-learn's parts for them has them afterwards."""
    pytest.importorskip("skops.io", reason="needs the extra skops")
    pytest.importorskip("sklearn.externals.array_api_compat.torch", reason="needs the extra torch")
    code = """
import sys
from xcid.io import models
models.import_library(models.LOADERS[".skops"])
assert "skops.io" in sys.modules
print([name for name in ("torch", "dask") if name in sys.modules])
import sklearn.externals.array_api_compat.torch
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


class TestTrust:
    @pytest.fixture
    def path(self, tmp_path):
        io = pytest.importorskip("skops.io", reason="needs the extra skops")
        io.dump(make_pipeline(FunctionTransformer(np.sinh), LogisticRegression()).fit(X, Y), tmp_path / "m.skops")
        return tmp_path / "m.skops"

    def unknown(self, path):
        from skops.io import get_untrusted_types

        return get_untrusted_types(file=path)

    def test_unknown_types_are_listed(self, command, path, background, monkeypatch):
        monkeypatch.setattr("skops.io.get_untrusted_types", lambda file: ["somewhere.Odd", "elsewhere.odder"])
        status, _, err = command("explain", "--background", background, "--target", "y", "--model", path)
        assert status == 2
        assert "types that skops does not know: elsewhere.odder, somewhere.Odd" in err
        assert "--trust elsewhere.odder somewhere.Odd" in err

    def test_trusted_types_load(self, command, path, background):
        arguments = ("--background", background, "--target", "y", "--model", path, "--rows", "0")
        trust = ["--trust", *self.unknown(path)] if self.unknown(path) else []
        assert command("explain", *arguments, *trust)[0] == 0

    def test_archives_that_unpack_to_too_much(self, tmp_path, monkeypatch):
        monkeypatch.setattr("xcid.io.tables.SMALL", 2**16)
        with zipfile.ZipFile(tmp_path / "m.skops", "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
            archive.writestr("schema.json", bytes(2**24))
        with pytest.raises(InvalidFile, match=r"unpacks from .* to 16,777,216 bytes: refused"):
            models.load(tmp_path / "m.skops", [])


def test_a_forgotten_target_is_named(tmp_path, command):
    skops(tmp_path / "m.skops")
    X.assign(outcome=Y).to_csv(tmp_path / "t.csv", index=False)
    status, _, said = command("explain", "--background", tmp_path / "t.csv", "--model", tmp_path / "m.skops")
    assert status == 2
    assert "such as --target outcome, and leave others out by --drop" in said
