"""Model files made to do harm: one line and status 2, whatever the library does with them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import harmful
import numpy as np
import pandas as pd
import pytest
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from xcid.errors import InvalidFile
from xcid.io import models, trial, vetted

io = pytest.importorskip("skops.io", reason="needs the extra skops")

X = pd.DataFrame(np.random.default_rng(3).normal(size=(80, 3)), columns=["a", "b", "c"]).round(3)
Y = (X["a"] > 0).astype(int)
SOAK = Path(__file__).resolve().parents[2] / "soak" / "models.py"


@pytest.fixture
def explain(command, tmp_path):
    """Explain a row with a model."""
    X.assign(y=Y).to_csv(tmp_path / "t.csv", index=False)

    def run(model, *more):
        io.dump(model, tmp_path / "m.skops")
        files = ("--background", tmp_path / "t.csv", "--target", "y", "--model", tmp_path / "m.skops")
        return command("explain", *files, "--rows", "0", "--quiet", *more)

    return run


def with_function(function):
    return make_pipeline(FunctionTransformer(function), LogisticRegression()).fit(X, Y)


class TestTrial:
    @pytest.mark.parametrize(
        ("function", "message"),
        [(harmful.crash, "killed by SIGSEGV"), (harmful.eat, "wanted more memory"), (harmful.hang, "after 15 s")],
    )
    def test_harm_is_one_line(self, explain, monkeypatch, function, message):
        """Its process ends, is limited or is ended: this one never asks the model."""
        if function is harmful.hang:
            monkeypatch.setattr(trial, "SECONDS", 15.0)
        status, _, said = explain(with_function(function), "--trust", f"harmful.{function.__name__}")
        assert status == 2
        assert said.startswith("xcid: ")
        assert said.count("\n") == 1
        assert message in said
        assert "m.skops" in said

    def test_a_file_that_changes_meanwhile_is_refused(self, tmp_path):
        (tmp_path / "m.skops").write_bytes(b"one")
        with pytest.raises(InvalidFile, match="changed while it was read"), trial.try_file(tmp_path / "m.skops", ()):
            (tmp_path / "m.skops").write_bytes(b"another")


def rewritten(path, change):
    """Change the schema of a file."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(parts["schema.json"])
    change(schema)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {**parts, "schema.json": json.dumps(schema)}.items():
            archive.writestr(name, content)


def node(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def made_by(loader, name, *arguments):
    """A node that makes a type by its constructor, or hands it on as it is."""
    home, _, last = name.rpartition(".")
    values = {"__class__": "tuple", "__module__": "builtins", "__loader__": "TupleNode"}
    values["content"] = [node(one) for one in arguments]
    return {"__class__": last, "__module__": home, "__loader__": loader, "content": values}


class TestFilesOfOthers:
    @pytest.mark.parametrize("loader", ["ConstructorFromReduceNode", "TypeNode", "FunctionNode", "MethodNode"])
    @pytest.mark.parametrize("name", [n for n in vetted.VETTED if vetted.makers(n) == ("ObjectNode", "CachedNode")])
    def test_no_vetted_type_is_constructed_or_handed_on(self, tmp_path, name, loader):
        with pytest.raises(InvalidFile, match="made to do harm"):
            models._check_makers(tmp_path, {"content": [made_by(loader, name, None, None, "/etc/hosts")]}, ())

    def test_a_booster_that_would_open_a_file(self, tmp_path):
        pytest.importorskip("lightgbm")
        io.dump(LogisticRegression().fit(X, Y), path := tmp_path / "m.skops")
        harm = made_by("ConstructorFromReduceNode", "lightgbm.basic.Booster", None, None, "/etc/hosts")
        rewritten(path, lambda schema: schema["content"]["content"].update(C=harm))
        with pytest.raises(InvalidFile, match=r"makes lightgbm\.basic\.Booster by a ConstructorFromReduceNode"):
            models.load(path, [])

    @pytest.mark.parametrize("how", ["filename", "file"])
    def test_texts_by_the_names_of_files(self, tmp_path, how):
        model = make_pipeline(CountVectorizer(), LogisticRegression()).fit(["a word", "another word"], [0, 1])
        model[0].input = how
        io.dump(model, tmp_path / "m.skops")
        with pytest.raises(InvalidFile, match="would open files"):
            models.load(tmp_path / "m.skops", [])

    @pytest.mark.parametrize("function", [os.system, eval, np.load, pd.read_pickle])
    def test_no_function_that_runs_code_is_offered(self, tmp_path, function):
        io.dump(make_pipeline(FunctionTransformer(function), LogisticRegression()), tmp_path / "m.skops")
        with pytest.raises(InvalidFile, match="do not load this file") as caught:
            models.load(tmp_path / "m.skops", [])
        assert "--trust" not in str(caught.value)


class TestSoak:
    """A share of ``soak/models.py``, which tries thousands of files."""

    @pytest.fixture
    def soak(self):
        if not SOAK.exists():
            pytest.skip("the folder soak is not there")
        pytest.importorskip("lightgbm")
        pytest.importorskip("xgboost")

        def run(*options):
            command = [sys.executable, SOAK, "--share", "0.02", "--workers", "1", *options]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            return done.returncode, done.stdout.splitlines()

        return run

    def test_no_file_does_harm(self, soak):
        assert soak("--count", "20") == (0, ["files: 54 tried, 54 held"])

    def test_harm_is_seen_where_nothing_guards_against_it(self, soak):
        status, lines = soak("--count", "1", "--unguarded")
        assert status == 1
        assert {
            "OPENS A FILE: harmful-booster: harmful (always tried)",
            "HANGS: harmful-circle: harmful (always tried)",
            "CRASHES: harmful-crash: harmful (always tried)",
            "CRASHES: harmful-predictor's child: harmful (always tried)",
            "HANGS: harmful-num_class: harmful (always tried)",
        } <= set(lines)
