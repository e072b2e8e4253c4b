"""A table with columns of every kind in files of every kind, and the command in this process or in one of its own."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest

from xcid.cli import main
from xcid.io import training
from xcid.runs import run as runs
from xcid.runs import worker

N_ROWS, CHUNK = 72, 16
SECRET = "heliotrope"  # a level that no log may show


def make_table(n_rows: int, seed: int) -> pd.DataFrame:
    """Numbers, whole numbers, digits that are names, booleans, levels; with holes."""
    random = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "size": random.normal(size=n_rows),
            "count": random.integers(0, 9, n_rows),
            "code": random.choice(["007", "12", "x1"], n_rows),
            "flag": random.random(n_rows) < 0.5,
            "colour": random.choice(["red", SECRET], n_rows),
        }
    )
    table["y"] = (table["size"] + 0.3 * table["count"] + 0.3 * random.normal(size=n_rows) > 1.2).astype(int)
    table.loc[random.random(n_rows) < 0.1, "size"] = np.nan
    table.loc[random.random(n_rows) < 0.1, "colour"] = None
    return table


def save(frame: pd.DataFrame, path: Path) -> Path:
    """A file of the kind that its extension says."""
    if path.suffix in (".csv", ".tsv"):
        frame.to_csv(path, index=False, sep="," if path.suffix == ".csv" else "\t")
    elif path.suffix == ".parquet":
        frame.to_parquet(path, row_group_size=20)
    elif path.suffix in (".feather", ".arrow"):
        frame.to_feather(path, chunksize=15)
    else:
        lines = [row.to_json(double_precision=15) for _, row in frame.astype(object).iterrows()]
        joined = "\n".join(lines) + "\n" if path.suffix == ".jsonl" else f"[{','.join(lines)}]"
        path.write_text(joined, encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def tables(tmp_path_factory):
    """A folder with the background, and a function that gives the rows to explain as a file of any kind."""
    folder = tmp_path_factory.mktemp("tables")
    train = pd.read_csv(save(make_table(120, seed=1), folder / "train.csv"))
    joblib.dump(
        training.train(train, "y", "logistic", 0).model, folder / "model.joblib"
    )  # skops takes seconds to import
    rows = make_table(N_ROWS, seed=2).round({"size": 6})  # JSON has 15 digits

    def file(suffix: str) -> Path:
        path = folder / f"rows{suffix}"
        return path if path.exists() else save(rows, path)

    return folder / "train.csv", file


@pytest.fixture(scope="session")
def typed(tables):
    """The arguments of a command about these tables."""
    train, rows = tables

    def arguments(suffix: str = ".csv", *more: object) -> list[str]:
        model = ("--unsafe-pickle", "--model", train.with_name("model.joblib"))
        return ["explain", *map(str, ("--background", train, "--target", "y", "--data", rows(suffix), *model, *more))]

    return arguments


@pytest.fixture
def command(capsys):
    """Run a command in this process: exit status, stdout, stderr."""

    def run(arguments):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = end.code
        printed = capsys.readouterr()
        return status, printed.out, printed.err

    return run


def one_after_the_other(chunks, task, n_workers, log):
    """A worker that is a call: what it does is the same, and there is no process to wait for."""
    explainer = worker.make_explainer(task)
    for chunk in chunks:
        answer = worker.explain_chunk(explainer, task, chunk)
        if isinstance(answer, worker.ChunkFailed):
            raise runs._to_error(answer, chunk, log)
        yield answer.fragment


@pytest.fixture
def in_this_process(monkeypatch):
    """No processes."""
    monkeypatch.setattr(runs, "explain_chunks", one_after_the_other)


def start(arguments, **settings):
    """The command in a process of its own, in a session of its own."""
    environment = {**os.environ, **settings.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-m", "xcid", *map(str, arguments)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True, **settings,
    )  # fmt: skip


def finish(process, timeout=120):
    """Its exit status, stdout and stderr."""
    out, err = process.communicate(timeout=timeout)
    assert process.returncode == -signal.SIGKILL or "Traceback" not in err, err
    return process.returncode, out, err


@pytest.fixture(scope="session")
def due(typed, tmp_path_factory):
    """What a run writes that nothing disturbs, by extension."""
    folder, found = tmp_path_factory.mktemp("due"), {}

    def written(suffix: str, chunk: int = CHUNK) -> bytes:
        if (suffix, chunk) not in found:
            out = folder / f"scores{suffix}"
            more = ("--run", folder / f"{suffix[1:]}{chunk}", "--out", out, "--chunk", chunk, "--quiet")
            with pytest.MonkeyPatch.context() as patch:
                patch.setattr(runs, "explain_chunks", one_after_the_other)
                assert main(typed(".csv", *more)) == 0
            found[suffix, chunk] = out.read_bytes()
        return found[suffix, chunk]

    return written
