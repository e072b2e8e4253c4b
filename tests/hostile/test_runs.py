"""Runs whose files are replaced, whose folders are tampered with, and whose models hang, print, move and fail."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from xcid.cli import main
from xcid.errors import InvalidFile, TooSlow
from xcid.io.writers import replacing
from xcid.runs import run
from xcid.runs.folder import fingerprint, open_folder
from xcid.runs.worker import Fragment, Task, find_finished, make_explainer, write_fragment

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals, links and devices as Linux has them")
FAILS, HANGS = 77, 78
MODEL = """
import os, sys, time
import numpy as np

class Model:
    def __init__(self, folder):
        self.folder = folder

    def predict(self, X):
        X = np.asarray(X)
        print("a model speaks")
        os.write(1, b"its library too")
        os.write(2, b"and complains")
        os.chdir(self.folder)
        if (X[:, 0] == 77).any():
            raise ValueError("not this one")
        if (X[:, 0] == 78).any():
            time.sleep(1000)
        return (X[:, 0] + X[:, 1] > 0).astype(int)
"""


class TestSeals:
    @pytest.mark.parametrize("how", ["moved", "overwritten", "linked", "gone"])
    def test_a_worker_refuses_a_file_that_was_replaced(self, tmp_path, how):
        path, other = tmp_path / "model", tmp_path / "other"
        path.write_text("one")
        other.write_text("two")
        task = Task(path.read_text, 0, ".csv", tmp_path, 1, "run", (fingerprint(path),))
        assert make_explainer(task) == "one"
        times = path.stat()
        if how == "moved":
            other.replace(path)
        elif how == "overwritten":
            path.write_text("two")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        else:
            path.unlink()
            if how == "linked":
                path.symlink_to(other)
        with pytest.raises(InvalidFile, match=r"changed while the run was at work|cannot be read"):
            make_explainer(task)

    def test_no_chunk_of_another_run(self, tmp_path):
        write_fragment(tmp_path, "one", Fragment(0, 2, {"ok": 2}), b"whole")
        assert [one.number for one in find_finished(tmp_path, "one", 1)] == [0]
        assert list(find_finished(tmp_path, "two", 1)) == []
        assert list(find_finished(tmp_path, "one", 1)) == []  # it was taken away

    def test_no_chunk_that_is_damaged(self, tmp_path):
        write_fragment(tmp_path, "run", Fragment(0, 2, {"ok": 2}), b"whole")
        path = tmp_path / "00000000.chunk"
        path.write_bytes(path.read_bytes().replace(b'"rows": 2', b'"rows": 3'))
        assert list(find_finished(tmp_path, "run", 1)) == []

    @pytest.mark.parametrize("name", ["manifest.json", "lock", "log.txt", "chunks"])
    def test_no_file_of_a_run_by_a_link(self, tmp_path, name):
        with open_folder(tmp_path / "run") as folder:
            folder.log("begins")
            folder.adopt({"format": "xcid run"})
        (tmp_path / "run" / name).rename(tmp_path / "elsewhere")
        (tmp_path / "run" / name).symlink_to(tmp_path / "elsewhere")
        with pytest.raises(InvalidFile, match=f"{name} is not what a run left there"), open_folder(tmp_path / "run"):
            pass

    def test_no_chunk_by_a_link(self, tmp_path):
        write_fragment(tmp_path, "run", Fragment(0, 2, {"ok": 2}), b"whole")
        path = tmp_path / "00000000.chunk"
        path.rename(tmp_path / "kept")
        path.symlink_to(tmp_path / "kept")
        assert list(find_finished(tmp_path, "run", 1)) == []
        assert (tmp_path / "kept").exists()

    def test_no_link_is_followed_to_write(self, tmp_path):
        (tmp_path / "victim").write_text("precious")
        (tmp_path / ".out.csv.token").symlink_to(tmp_path / "victim")
        with replacing(tmp_path / "out.csv", "token") as temporary:
            temporary.write_text("result")
        assert (tmp_path / "victim").read_text() == "precious"
        assert (tmp_path / "out.csv").read_text() == "result"


@pytest.fixture
def typed(tmp_path, monkeypatch):
    """A command about a model that prints and moves, and rows of which some fail or hang."""
    (tmp_path / "wayward.py").write_text(MODEL)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delitem(sys.modules, "wayward", raising=False)
    import wayward

    joblib.dump(wayward.Model(str(tmp_path / "elsewhere")), "model.joblib")
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(65, 2)).round(3), columns=["a", "b"])
    table.to_csv("train.csv", index=False)
    table.loc[64, "a"], table.loc[3, "a"] = FAILS, HANGS
    table.to_csv("rows.csv", index=False)
    model = ("--model", "model.joblib", "--unsafe-pickle")
    return ["explain", "--background", "train.csv", "--data", "rows.csv", *model, "--quiet"]


def ended(arguments, **settings):
    """The command in a process of its own."""
    settings = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "timeout": 60} | settings
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(Path.cwd())])}
    return subprocess.run([sys.executable, "-m", "xcid", *map(str, arguments)], env=environment, **settings)


class TestModels:
    def test_one_that_prints_does_not_break_json_nor_quiet(self, typed):
        done = ended([*typed, "--rows", "0:2", "--json"])
        assert (done.returncode, done.stderr) == (0, "")
        assert len(json.loads(done.stdout)) == 4

    def test_one_that_prints_is_heard_on_stderr(self, typed):
        done = ended([one for one in typed if one != "--quiet"] + ["--rows", "0:2", "--json"])
        assert len(json.loads(done.stdout)) == 4
        for said in ("a model speaks", "its library too", "and complains", "2 of 2 rows"):
            assert said in done.stderr

    @pytest.mark.parametrize(
        ("rows", "road"),
        [("4:", ()), ("64", ()), ("4:", ("--workers", 2)), ("4:", ("--run", "run", "--chunk", 4))],
        ids=["pieces", "alone", "threads", "processes"],
    )
    def test_a_failing_row_is_a_status_on_every_road(self, typed, road, rows, tmp_path):
        """Also where it is alone in its piece; and it is said, with the reason."""
        done = ended([*typed, "--rows", rows, "--out", "scores.csv", *road])
        assert done.returncode == 0
        n_rows = 61 if rows == "4:" else 1
        assert done.stderr.startswith(f"xcid: note: 1 of {n_rows} rows do not have the status ok (model_failed: 1)")
        assert "the first that failed is row 64: " in done.stderr
        assert done.stderr.endswith("ValueError: not this one\n")
        scores = pd.read_csv(tmp_path / "scores.csv")  # and not elsewhere, where the model went
        assert scores.groupby("row")["status"].first().value_counts().get("model_failed") == 1
        assert len(scores) == 2 * n_rows

    def test_one_that_hangs_is_ended(self, typed, tmp_path):
        done = ended([*typed, "--rows", "1:6", "--run", "run", "--time-limit", 2, "--out", "scores.csv"], timeout=120)
        assert done.returncode == 0
        assert "(too_slow: 1); the first that failed is row 3: " in done.stderr
        assert done.stdout.startswith("4 of 5 rows are explained")
        status = pd.read_csv(tmp_path / "scores.csv").groupby("row")["status"].first()
        assert status.to_dict() == {1: "ok", 2: "ok", 3: "too_slow", 4: "ok", 5: "ok"}

    def test_one_that_hangs_from_the_start(self, tmp_path, monkeypatch):
        monkeypatch.setattr(run, "GRACE", 1.0)
        task = Task(partial(time.sleep, 1000), 0, ".csv", tmp_path, 1, "run", (), 0.5)
        with pytest.raises(TooSlow, match="takes too long to be loaded"):
            list(run.explain_chunks(iter(()), task, 1, lambda event: None))

    def test_a_time_limit_needs_a_run(self, typed, capsys):
        with pytest.raises(SystemExit) as end:
            main([*typed, "--time-limit", "2"])
        assert end.value.code == 2
        assert "--time-limit needs --run" in capsys.readouterr().err


class TestStreams:
    """Nothing that a shell does to the streams or the limits of a process is answered by a traceback."""

    @pytest.mark.parametrize("redirection", [">/dev/full", ">&-", ">&- 2>&-", "2>&- >/dev/full"])
    def test_no_way_out(self, typed, redirection):
        command = " ".join([sys.executable, "-m", "xcid", *typed, "--rows", "0:2", "--json", redirection])
        environment = os.environ | {"PYTHONPATH": os.pathsep.join([os.environ.get("PYTHONPATH", ""), str(Path.cwd())])}
        done = subprocess.run(["sh", "-c", command], capture_output=True, text=True, timeout=60, env=environment)
        assert done.returncode == 2
        assert done.stdout == ""
        assert done.stderr.count("\n") == (0 if "2>" in redirection else 1)
        assert "Traceback" not in done.stderr

    @pytest.mark.parametrize("handles", [10, 14])
    def test_few_file_descriptors(self, typed, handles):
        import resource

        limits = (handles, handles)
        done = ended(
            [*typed, "--rows", "0:2", "--run", "run", "--out", "scores.csv"],
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, limits),
        )
        assert done.returncode in (0, 2)
        assert "Traceback" not in done.stderr
        assert done.stderr.count("\n") <= 1


def test_a_folder_where_a_chunk_should_be_is_left_alone(soak, tmp_path):
    place = soak("runs").Place(tmp_path)
    shutil.copytree(tmp_path / "calm", place.run)
    chunk = place.run / "chunks" / "00000001.chunk"
    chunk.unlink()
    chunk.mkdir()
    (chunk / "thesis.tex").write_text("precious")
    status, said = place.ended(place.run)
    assert status == 2
    assert f"{chunk} is not a chunk of a run: remove it" in said
    assert (chunk / "thesis.tex").read_text() == "precious"
