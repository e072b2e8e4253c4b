"""Real processes that are killed, interrupted and starved: the same command goes on, and the file is the same."""

from __future__ import annotations

import os
import random
import resource
import signal
import sys
import time
from functools import partial
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from xcid.cli import main

from .conftest import N_ROWS, SECRET, finish, start

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="signals and /proc as Linux has them")
CHUNK = 3
N_CHUNKS = N_ROWS // CHUNK


def wait_for(condition, process, seconds=120):
    """Look until something is so, or the process is at its end."""
    end = time.monotonic() + seconds
    while process.poll() is None:
        if condition():
            return True
        assert time.monotonic() < end, "it never came"
        time.sleep(0.002)
    return False


def chunks_in(folder: Path) -> int:
    return len(list(folder.glob("chunks/*.chunk")))


def workers_of(folder: Path, process) -> list[int]:
    """Those that are alive, by the log of the run."""
    lines = (folder / "log.txt").read_text().splitlines() if (folder / "log.txt").exists() else []
    started = [
        int(line.split()[3]) for line in lines if line.endswith(" started") and int(line.split()[1]) == process.pid
    ]
    return [pid for pid in started if Path(f"/proc/{pid}").exists()]


def has_begun(folder: Path, process, kept: int) -> bool:
    return chunks_in(folder) >= kept and bool(workers_of(folder, process))


def ended(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


@pytest.fixture
def run(typed, tmp_path):
    """Arguments of a run in a folder, with small chunks and two workers."""
    more = ("--run", tmp_path / "run", "--out", tmp_path / "scores.csv", "--chunk", CHUNK, "--workers", 2, "--quiet")
    return typed(".csv", *more)


def test_killed_again_and_again(run, due, tmp_path):
    """Both processes, at random points: nothing is lost, nothing is done twice, and the bytes are the same."""
    folder, out, points = tmp_path / "run", tmp_path / "scores.csv", random.Random(5)
    for kept in (points.randint(0, 3), points.randint(5, 8)):
        process = start(run)
        assert wait_for(partial(has_begun, folder, process, kept), process)
        victims = workers_of(folder, process)
        process.kill()
        assert finish(process)[0] == -signal.SIGKILL
        for pid in victims:  # no worker outlives its parent
            end = time.monotonic() + 30
            while not ended(pid):
                assert time.monotonic() < end
                time.sleep(0.002)
        assert not out.exists()
    before = {path.name: path.stat().st_mtime_ns for path in folder.glob("chunks/*.chunk")}
    assert 5 <= len(before) < N_CHUNKS
    process = start(run)
    assert wait_for(lambda: chunks_in(folder) >= len(before) + 1, process)
    for pid in workers_of(folder, process):
        os.kill(pid, signal.SIGKILL)
    status, printed, err = finish(process)
    assert (status, err) == (0, "")
    assert printed == f"{N_ROWS} rows are explained in {out}\n"
    assert out.read_bytes() == due(".csv", CHUNK)
    assert all((folder / "chunks" / name).stat().st_mtime_ns == then for name, then in before.items())
    assert (folder / "log.txt").read_text().count("killed by SIGKILL") == 2
    assert list(folder.glob("chunks/.*")) == []
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []


def test_ctrl_c(run, due, tmp_path, in_this_process, command):
    loud = [option for option in run if option != "--quiet"]
    process = start(loud)
    assert wait_for(lambda: chunks_in(tmp_path / "run") >= 2, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does
    status, printed, err = finish(process)
    assert (status, printed) == (130, "")
    assert "the same command resumes it" in err
    assert not (tmp_path / "scores.csv").exists()
    kept = chunks_in(tmp_path / "run")
    assert 2 <= kept < N_CHUNKS
    assert command(run)[0] == 0
    assert (tmp_path / "scores.csv").read_bytes() == due(".csv", CHUNK)
    log = (tmp_path / "run" / "log.txt").read_text()
    assert f"run of {N_ROWS} rows in {N_CHUNKS} chunks: {kept} are finished" in log
    assert SECRET not in log


@pytest.mark.parametrize("most_bytes", [600, 30_000])
def test_a_disk_that_is_full(run, due, tmp_path, in_this_process, command, most_bytes):
    """No room for a chunk, or for the result: one line, nothing half written, and the rest is done when there is."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, before[1]))
    try:
        status = main(run)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert status == 2
    assert not (tmp_path / "scores.csv").exists()
    assert chunks_in(tmp_path / "run") == (0 if most_bytes == 600 else N_CHUNKS)
    assert [path.name for path in tmp_path.rglob(".*")] == []
    assert command(run)[0] == 0
    assert (tmp_path / "scores.csv").read_bytes() == due(".csv", CHUNK)


KILLER = """
import os, signal
from multiprocessing import parent_process
import numpy as np

class Killer:
    '''Dies of one row, but not in the first process.'''
    def predict(self, X):
        X = np.asarray(X)
        if parent_process() is not None and (X[:, 0] == 77).any():
            os.kill(os.getpid(), signal.SIGSEGV)
        return (X[:, 0] + X[:, 1] > 0).astype(int)
"""


def test_a_model_that_kills_its_process(tmp_path, monkeypatch):
    """Three workers die of the same rows: the run ends and says which; all other chunks of before are kept."""
    (tmp_path / "killer.py").write_text(KILLER)
    monkeypatch.syspath_prepend(tmp_path)
    import killer

    joblib.dump(killer.Killer(), tmp_path / "model.joblib")
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)).round(3), columns=["a", "b"])
    table.to_csv(tmp_path / "train.csv", index=False)
    table.loc[13, "a"] = 77
    table.to_csv(tmp_path / "rows.csv", index=False)
    model = ("--unsafe-pickle", "--model", tmp_path / "model.joblib")
    where = ("--run", tmp_path / "run", "--out", tmp_path / "s.csv", "--chunk", 5)
    options = ("--background", tmp_path / "train.csv", "--data", tmp_path / "rows.csv", *model, *where)
    status, printed, err = finish(start(["explain", *options], env={"PYTHONPATH": str(tmp_path)}))
    assert (status, printed) == (1, "")
    assert "3 workers died while they explained rows 10 to 14 (killed by SIGSEGV)" in err
    assert chunks_in(tmp_path / "run") == 2
    assert (tmp_path / "run" / "log.txt").read_text().count("at chunk 2, rows 10 to 14: killed by SIGSEGV") == 3
