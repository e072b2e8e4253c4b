"""The compiled form is built once, where there is a compiler, and never trusted blindly."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import xcid
from xcid.errors import MissingDependency
from xcid.native import library

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, library.COMPILERS)), reason="there is no C compiler")


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A user who has built nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path))
    monkeypatch.delenv(library.SWITCH, raising=False)
    library.loaded.cache_clear()
    yield tmp_path / "xcid"
    library.loaded.cache_clear()


@needs_compiler
def test_it_is_built_once(folder, monkeypatch):
    assert library.loaded() is not None
    assert [path.suffix for path in folder.iterdir()] == [".so"]
    library.loaded.cache_clear()
    monkeypatch.setattr(library, "build", None)  # would fail
    assert library.loaded() is not None


def test_without_a_compiler_numpy_does_it(monkeypatch):
    monkeypatch.setattr(shutil, "which", lambda name: None)
    with pytest.raises(MissingDependency, match="needs a C compiler"):
        library.build()
    assert library.loaded() is None


def test_it_can_be_switched_off(folder, monkeypatch):
    monkeypatch.setenv(library.SWITCH, "numpy")
    assert library.loaded() is None
    assert not folder.exists()


@needs_compiler
@pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")
def test_a_file_of_somebody_else_is_not_loaded(monkeypatch):
    library.build()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    owner = library.place().stat().st_uid
    assert (library.loaded() is None) == (owner not in (0, 12345))


@needs_compiler
def test_a_file_that_is_no_library_is_not_loaded():
    library.build()
    library.place().write_bytes(b"no library")
    assert library.loaded() is None


def test_a_folder_that_cannot_be_written(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path / "file"))
    assert library.loaded() is None


X = np.random.default_rng(0).normal(size=(200, 3))
y = (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("cell", [np.nan, 1e39])
def test_models_are_called_for_rows_that_they_may_refuse(cell):
    background = np.where(X > 2.5, np.nan, X)
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(background, y)
    predict = xcid.Explainer(model, background).subject.predict
    rows, asked = np.array([[cell, 0.0, 0.0]]), []
    predict = replace(predict, ask=lambda table: asked.append(len(table)) or model.predict_proba(table))
    assert np.array_equal(predict.own(rows), model.predict_proba(rows))
    assert asked == [1]
    predict.own(X[:2])
    assert asked == [1]
