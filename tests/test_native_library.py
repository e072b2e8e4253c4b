"""The compiled form is built once, where there is a compiler, and never trusted blindly."""

from __future__ import annotations

import hashlib
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

import xcid
from xcid.errors import MissingDependency
from xcid.native import library

needs_compiler = pytest.mark.skipif(not any(map(shutil.which, library.COMPILERS)), reason="there is no C compiler")


needs_owners = pytest.mark.skipif(not hasattr(os, "getuid"), reason="files have no owner here")


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    """A user who has built nothing yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", os.fspath(tmp_path))
    monkeypatch.delenv(library.SWITCH, raising=False)
    library.forget()
    yield tmp_path / "xcid"
    library.forget()


@needs_compiler
def test_it_is_built_once(folder, monkeypatch):
    assert library.loaded() is not None
    assert [path.suffix for path in folder.iterdir()] == [".so"]
    library.forget()
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
@needs_owners
def test_a_file_of_somebody_else_is_not_loaded(monkeypatch):
    path = library.build()
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    owner = path.stat().st_uid
    assert (library.loaded() is None) == (owner not in (0, 12345))


def cut(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def turn_a_bit(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def make_a_pipe(path):
    path.unlink()
    os.mkfifo(path)


def make_a_link(path):
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def refuse():
    raise MissingDependency("no compiler")


SPOILS = (
    cut, turn_a_bit, make_a_pipe, make_a_link, lambda path: path.write_bytes(b""), lambda path: path.chmod(0o666),
)  # fmt: skip


@needs_compiler
@needs_owners
@pytest.mark.parametrize("spoil", SPOILS)
def test_a_file_that_is_not_what_was_built_is_replaced(spoil):
    """A truncated library ends the process, and one that anybody can write to is anybody's."""
    path = library.build()
    spoil(path)
    assert library.loaded() is not None
    assert library._is_intact(path)


@needs_compiler
@needs_owners
def test_a_folder_that_others_can_write_to_is_not_used(folder):
    library.build()
    folder.chmod(0o777)
    assert library.loaded() is None


@needs_compiler
def test_a_library_without_the_function_is_not_used(folder, monkeypatch, tmp_path):
    monkeypatch.setattr(library, "SOURCES", (tmp_path / "other.c",))
    library.SOURCES[0].write_text("int other(void) { return 0; }")
    assert library.loaded() is None


@needs_compiler
def test_threads_build_it_once_and_do_not_lose_it(folder, monkeypatch):
    built, build = [], library.build
    monkeypatch.setattr(library, "build", lambda: built.append(1) or build())
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: library.loaded(), range(6)))
    assert None not in found
    assert len(built) == 1
    assert [path.suffix for path in folder.iterdir()] == [".so"]


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
    predict = replace(predict, call=lambda table: asked.append(len(table)) or model.predict_proba(table))
    assert np.array_equal(predict.own(rows), model.predict_proba(rows))
    assert asked == [1]
    predict.own(X[:2])
    assert asked == [1]


@pytest.fixture
def shipped(monkeypatch, tmp_path):
    """A wheel for a platform is installed."""
    monkeypatch.setattr(library, "SHIPPED", tmp_path / "site")
    library.SHIPPED.mkdir()
    made = library.build(tmp_path / "site" / "made.so")
    digest = hashlib.sha256(made.read_bytes()).hexdigest()[: library.DIGITS]
    monkeypatch.setattr(library, "build", lambda: pytest.fail("it was built again"))
    library.forget()
    return made.rename(made.with_name(f"compiled-{digest}.so"))


@needs_compiler
def test_a_wheel_brings_the_library_along(shipped, monkeypatch):
    """What is shipped is loaded, also without a compiler."""
    shipped.parent.chmod(0o777)  # whoever can write here can write the modules
    assert library.road() == "the library in C, shipped with xcid"
    monkeypatch.setenv(library.SWITCH, "numpy")
    library.forget()
    assert library.road() == "NumPy (XCID_NATIVE=numpy)"


@needs_compiler
@needs_owners
@pytest.mark.parametrize("spoil", SPOILS)
def test_a_shipped_library_that_is_not_what_its_name_says_is_not_loaded(shipped, spoil, monkeypatch):
    monkeypatch.setattr(library, "build", refuse)
    spoil(shipped)
    assert library.loaded() is None


@needs_compiler
@needs_owners
def test_a_shipped_library_is_as_private_as_the_modules(shipped, monkeypatch):
    """A site that a group keeps is theirs with all that is in it; a file of somebody else is nobody's."""
    module, stat = Path(library.__file__).stat(), Path.stat

    def kept_by_a_group(path, **options):
        found = stat(path, **options)
        return SimpleNamespace(st_uid=4321, st_mode=0o100664) if path == Path(library.__file__) else found

    shipped.chmod(0o664)
    assert bool(module.st_mode & 0o020) == library._is_intact(shipped)
    monkeypatch.setattr(Path, "stat", kept_by_a_group)
    assert library._is_intact(shipped)
    shipped.chmod(0o666)
    assert not library._is_intact(shipped)


@needs_compiler
def test_a_shipped_library_of_other_sources_is_passed_over(shipped, monkeypatch):
    monkeypatch.setattr(library, "declared", lambda library: library.no_such_function)
    monkeypatch.setattr(library, "build", refuse)
    assert library.loaded() is None
