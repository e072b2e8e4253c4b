"""Whole runs, from the start of Python to the last byte: the command, runs in a folder, reports, files and tables.

In a checkout that has an earlier commit, the same is done by that version as well, in turns, so that both meet the
same machine. Times are the processor's, of a process with all of its own processes.
"""

from __future__ import annotations

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xcid._require import require
from xcid_lab.bench.record import Figure
from xcid_lab.bench.timing import ONE_THREAD, Extent
from xcid_lab.markdown import Table

GROUP = "whole runs"
SHARE = 5  # of the rows of the long table, one in so many is explained in a run
HEAD = ("what", "before", "now")
TIMED = "import time; start = time.process_time(); {}; print(time.process_time() - start)"
EXPLAINED = """
import sys, time, warnings
import numpy as np, joblib, pandas, xcid
warnings.simplefilter("ignore")
model, table = joblib.load("model.joblib"), pandas.read_parquet("rows.parquet")
explanation = xcid.Explainer(model, table[:1_000])(table[:{rows}])
"""
REPORTED = EXPLAINED + 'explanation.report("warm.html")\n' + TIMED.format('explanation.report("page.html")')
SAVED = EXPLAINED + 'import os; explanation.save("a.xcid"); print(os.path.getsize("a.xcid") / 1e3 / len(explanation))'
READ = "from pathlib import Path; from xcid.io import readers; readers.read(Path('small.csv'))\n"
READ += TIMED.format("readers.read(Path('long.csv'))")
ARROW = "from pyarrow import csv; csv.read_csv('small.csv').to_pandas()\n"
ARROW += TIMED.format("csv.read_csv('long.csv').to_pandas()")
IN_PROCESS = ("--reference", "small.parquet", "--data", "rows.parquet", "--model", "model.joblib", "--unsafe-pickle")


class Job(NamedTuple):
    """What is done: arguments of the command, whose processor time counts, or code that prints a number."""

    what: str
    unit: str
    command: tuple[str, ...] = ()
    code: str = ""
    target: float | None = None


def _jobs(n_rows: int, n_reported: int) -> dict[str, Job]:
    ran = (*IN_PROCESS, "--run", "run", "--workers", "1", "--out", "b.parquet")
    first = ("--target", "y", "--rows", "0:3")
    return {
        "small": Job("xcid explain, 3 rows of 768 x 8", "s", ("small.csv", *first), target=1.6),
        "long": Job(f"xcid explain, 3 rows of {n_rows:,} x 30", "s", ("long.csv", *first), target=8.0),
        "plain": Job(f"xcid explain, {n_rows // SHARE:,} x 30, in process", "s", (*IN_PROCESS, "--out", "a.parquet")),
        "run": Job("the same by --run", "s", ran),
        "again": Job("the finished run again", "s", ran, target=1.0),
        "report": Job("a report of 20 rows", "s", code=REPORTED.format(rows=20), target=0.11),
        "reports": Job(f"a report of {n_reported:,} rows", "s", code=REPORTED.format(rows=n_reported)),
        "saved": Job("a saved row, 30 columns", "kB", code=SAVED.format(rows=200), target=20.0),
        "csv": Job(f"reading a CSV file of {n_rows:,} x 30", "s", code=READ),
        "arrow": Job("the same by pyarrow", "s", code=ARROW),
    }


def whole(extent: Extent) -> Iterator[Figure | Table]:
    """Do every job by both versions, in turns; the least of the rounds counts, since the first builds and caches."""
    jobs, found = _jobs(extent.whole_rows, extent.whole_reported), dict[tuple[str, str], list[float]]()
    with tempfile.TemporaryDirectory() as name, _versions(Path(name), extent.whole_before) as versions:
        _write_tables(Path(name), extent.whole_rows)
        for _ in range(extent.whole_rounds):
            for version in versions:
                shutil.rmtree(Path(name) / f"run-{version}", ignore_errors=True)
            for (key, job), (version, source) in product(jobs.items(), versions.items()):
                found.setdefault((key, version), []).append(_measure(job, Path(name), version, source))
    least = {key: min(values) for key, values in found.items()}
    now = {key: least[key, "now"] for key in jobs}
    for key, job in jobs.items():
        if job.target is not None:
            yield Figure(f"whole/{key}", GROUP, job.what, now[key], job.unit, "lower", job.target)
    ratios = (("run", "plain", "--run over in process", 1.3), ("csv", "arrow", "CSV over pyarrow", 2.0))
    for key, below, what, target in ratios:
        yield Figure(f"whole/{key}", GROUP, what, now[key] / now[below], "x", "lower", target)
    lines = tuple((f"{job.what}, {job.unit}", least.get((key, "before")), now[key]) for key, job in jobs.items())
    rounds = f"Processor time, the least of {extent.whole_rounds} rounds, in turns."
    yield Table(GROUP, HEAD, lines, f"{rounds} Before: {extent.whole_before or 'not measured'}.")


@contextmanager
def _versions(folder: Path, commit: str) -> Iterator[Mapping[str, Path]]:
    """Where the sources of both versions are, or of this one alone where there is no checkout with the other."""
    own, before = Path(__file__).parents[2], folder / "before"
    git = ["git", "-C", os.fspath(own)]
    try:
        subprocess.run([*git, "worktree", "add", "--detach", before, commit], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        yield {"now": own}
        return
    try:
        yield {"before": before / "src", "now": own}
    finally:
        subprocess.run([*git, "worktree", "remove", "--force", before], check=False, capture_output=True)


def _write_tables(folder: Path, n_rows: int) -> None:
    """A long table and a small one with a target, rows, and a model of them."""
    pandas, joblib = require("pandas", extra="bench"), require("joblib", extra="bench")
    rng = np.random.default_rng(0)
    names = [f"x{at}" for at in range(30)]
    long = pandas.DataFrame(rng.normal(size=(n_rows, 30)), columns=names)
    is_high = (long["x0"] * long["x1"] + long["x2"] > 0).astype(int)
    long.assign(y=is_high).to_csv(folder / "long.csv", index=False)
    long.iloc[:768, :8].assign(y=is_high[:768]).to_csv(folder / "small.csv", index=False)
    long[:1_000].to_parquet(folder / "small.parquet")
    long[: n_rows // SHARE].to_parquet(folder / "rows.parquet")
    logistic = require("sklearn.linear_model", extra="bench").LogisticRegression(max_iter=1_000)
    joblib.dump(logistic.fit(long[:2_000], is_high[:2_000]), folder / "model.joblib")


def _measure(job: Job, folder: Path, version: str, source: Path) -> float:
    """Seconds of the processor that a command takes, or the number that code prints."""
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": os.fspath(source)}
    typed = [part if part != "run" else f"run-{version}" for part in job.command]
    more = ["-m", "xcid", "explain", *typed, "--quiet"] if typed else ["-W", "ignore", "-c", job.code]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [sys.executable, *more], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent: Any = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    return float(spent if job.command else json.loads(done.stdout.splitlines()[-1]))
