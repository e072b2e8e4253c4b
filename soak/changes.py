"""Changed models where explanations are made elsewhere: in Dask, Ray, Spark, the app, an answer, the folder of a run.

``python soak/changes.py --ways dask app``: every change of ``tests/test_model_changes.py`` is made to a model that an
explainer has read, and what every method of ``tests/test_mutators.py`` changes, and what no digest tells of, as far as
such a change reaches the other place. What comes back must be the explanation of an explainer made now; where that one
says why there is none, an error must say so, too. The exit status is 1 where anything else comes back. Copies in one
process are the tests' own.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import logging
import os
import pickle
import secrets
import shutil
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
from verdict import verdict

import xcid
from xcid.app import Session
from xcid.cli import main as command
from xcid.errors import XcidError

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path.insert(0, str(TESTS))
os.environ["PYTHONPATH"] = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])  # of workers

import test_answers_after_changes as answered  # noqa: E402
import test_model_changes as changes  # noqa: E402
import test_mutators as mutators  # noqa: E402
import test_untold_changes as untold  # noqa: E402

NAMES = [f"x{at}" for at in range(changes.X.shape[1])]
KNOWN = pd.DataFrame(changes.X, columns=NAMES)
ROWS = KNOWN[: len(changes.ROWS)].assign(row=range(len(changes.ROWS)))
Change = Callable[[Any], Any]
METHODS = {f"method: {name}": case for name, case in mutators.MORE.items()}
CASES: dict[str, tuple[Callable[[], Any], Change]] = answered.CHANGES | changes.LIBRARIES | METHODS
HERE = ("app", "answer")  # ways that stay in the process, and take any model
Engine = Callable[[Any], Any]  # from an explainer to a frame of scores by row


def as_array(frame: Any) -> Any:
    """(n, d) scores of the features."""
    frame = frame.sort_values("row")
    return np.column_stack([frame[f"value_{name}"] for name in NAMES])


def travels(name: str) -> bool:
    """Whether a change goes where the model goes: what stands elsewhere does not, nor does what cannot be pickled."""
    if not name.startswith("untold: "):
        return True
    make, change = CASES[name]
    if change is untold.other_settings or make is untold.Called:  # whose labels are numbers with all their digits
        return False
    model = make()
    change(model)
    try:
        return bool(pickle.dumps(model))
    except Exception:
        return False


def due_of(model: Any, reference: Any = KNOWN, rows: Any = KNOWN[:4]) -> Any | None:
    """The scores of an explainer made now; None where an error says why there are none."""
    try:
        return xcid.Explainer(model, reference)(rows).values
    except XcidError:
        return None


def by_engine(engine: Engine, model: Any, change: Change) -> str:
    """An explainer that has explained is sent to workers after a change."""
    explainer = xcid.Explainer(model, KNOWN)
    before = explainer(KNOWN[:4]).values
    change(model)
    due = due_of(pickle.loads(pickle.dumps(model)))
    return compared(before, due, lambda: as_array(engine(explainer)))


def by_answer(model: Any, change: Change) -> str:
    """Another question about rows that were explained before."""
    explainer = xcid.Explainer(model, KNOWN)
    outcome = answered.other_question(explainer.subject.output_names)
    found = explainer(KNOWN[:4])
    before = _numbers(explainer.answer(found, outcome))
    change(model)
    try:
        due = _numbers(xcid.Explainer(model, KNOWN).with_outcome(outcome)(KNOWN[:4]))
    except XcidError:
        due = None
    return compared(before, due, lambda: _numbers(explainer.answer(found, outcome)))


def _numbers(found: Any) -> Any:
    return np.column_stack([found.values, found.outputs, found.base_values])


def compared(before: Any, due: Any | None, attempt: Callable[[], Any]) -> str:
    """What is wrong with what is found; where nothing is due, an error is."""
    try:
        found = attempt()
    except Exception as error:  # engines have errors of their own around ours
        return "" if due is None else f"an error: {error}"
    if due is None:
        return "explained, where a new explainer refuses"
    if np.allclose(found, due, rtol=0, atol=1e-9, equal_nan=True):
        return ""
    return "stale" if np.allclose(found, before, rtol=0, atol=1e-9) else f"off by {np.nanmax(np.abs(found - due)):.2g}"


@contextlib.contextmanager
def dask() -> Iterator[Engine]:
    """A cluster of one worker."""
    import dask.dataframe
    import distributed

    from xcid.engines.dask import explain

    settings = {"host": "127.0.0.1", "dashboard_address": None, "silence_logs": 50}
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, **settings) as cluster,
        distributed.Client(cluster),
    ):
        frame = dask.dataframe.from_pandas(ROWS, npartitions=2)
        yield lambda explainer: explain(explainer, frame, row="row").compute()


@contextlib.contextmanager
def ray() -> Iterator[Engine]:
    """An instance of one worker, on the loopback interface only."""
    import ray

    from xcid.engines.ray import explain

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    folder = tempfile.mkdtemp(prefix="ray")  # sockets in there need a short path
    quiet = {"include_dashboard": False, "log_to_driver": False, "logging_level": "ERROR"}
    logging.getLogger("ray.data").setLevel("ERROR")
    token = os.environ.setdefault("XCID_RAY_TOKEN", secrets.token_hex(32))  # Ray keeps the first of a process
    before = {name: os.environ.get(name) for name in ("RAY_AUTH_TOKEN", "RAY_AUTH_MODE")}  # Ray sets the mode itself
    os.environ["RAY_AUTH_TOKEN"] = token
    try:
        ray.init(num_cpus=1, _node_ip_address="127.0.0.1", _temp_dir=folder, object_store_memory=10**8, **quiet)
        ray.data.DataContext.get_current().enable_progress_bars = False
        yield lambda explainer: explain(explainer, ray.data.from_pandas(ROWS), row="row").to_pandas()
    finally:
        started = ray._private.worker._global_node  # noqa: SLF001
        servers = [one.process for each in started.all_processes.values() for one in each] if started else []
        ray.shutdown()
        for server in servers:
            server.wait(timeout=30)  # else Python complains of them when it collects them
        for name, value in before.items():
            os.environ.pop(name, None) if value is None else os.environ.update({name: value})
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def spark() -> Iterator[Engine]:
    """A session of one core."""
    from pyspark.sql import SparkSession

    from xcid.engines.spark import explain

    os.environ |= {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    settings = {"spark.ui.enabled": "false", "spark.driver.bindAddress": "127.0.0.1", "spark.driver.host": "127.0.0.1"}
    session = SparkSession.builder.master("local[1]").config(map=settings).getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    try:
        frame = session.createDataFrame(ROWS)
        yield lambda explainer: explain(explainer, frame, row="row").toPandas()
    finally:
        session.stop()


def by_app(model: Any, change: Change) -> str:
    """A page that is open while the model changes."""
    cells = changes.ROWS[0].tolist()
    asked = {"cells": cells, "own": cells, "frozen": [], "forbidden": [], "feature": 0, "target": 0}
    session = Session(model, KNOWN, KNOWN[:4])
    kind = "move" if session.explainer().subject.is_regression else "flip"
    body = json.dumps(asked | {"question": {"kind": kind}}).encode()
    before = json.dumps(session.explain(body))
    change(model)
    try:
        due = json.dumps(Session(model, KNOWN, KNOWN[:4]).explain(body))
    except XcidError:
        due = ""
    try:
        found = json.dumps(session.explain(body))
    except XcidError:
        return "" if not due else "an error, where a new page has an answer"
    if found == due:
        return ""
    return "stale" if found == before else "another answer than that of a new page"


def by_run(model: Any, change: Change) -> str:
    """A model that is saved anew: its old run is not resumed, and a new one explains it as it is."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        names = list(getattr(model, "feature_names_in_", NAMES))  # some libraries name the columns of an array
        KNOWN.to_csv(folder / "known.csv", index=False, header=names)
        KNOWN[:4].to_csv(folder / "rows.csv", index=False, header=names)
        joblib.dump(model, folder / "model.joblib")
        if said := _run(folder, "first"):
            return said
        before = _scores(folder, names)
        change(model)
        written = (folder / "model.joblib").read_bytes()
        joblib.dump(model, folder / "model.joblib")
        is_new = (folder / "model.joblib").read_bytes() != written  # some changes are not of what is saved
        if is_new and "of another run" not in _run(folder, "first"):
            return "the old run goes on"
        tables = (pd.read_csv(folder / f"{name}.csv") for name in ("known", "rows"))
        due, said = due_of(joblib.load(folder / "model.joblib"), *tables), _run(folder, "second")
        if said:
            return "" if due is None else said
        return compared(before, due, lambda: _scores(folder, names))


def _run(folder: Path, name: str) -> str:
    """Explain the rows in a folder of the name; what is said where that fails."""
    files = ("--background", folder / "known.csv", "--data", folder / "rows.csv", "--model", folder / "model.joblib")
    more = ("--unsafe-pickle", "--run", folder / name, "--out", folder / "out.csv", "--quiet")
    err = io.StringIO()
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(err):
        return err.getvalue() if command(["explain", *map(str, (*files, *more))]) else ""


def _scores(folder: Path, names: list[str]) -> Any:
    lines = pd.read_csv(folder / "out.csv")
    return lines.pivot(index="row", columns="feature", values="value")[names].to_numpy()


@contextlib.contextmanager
def way(name: str) -> Iterator[Callable[[Any, Change], str]]:
    """Explain a model, change it, explain it again elsewhere, and say what is wrong."""
    here = {"app": by_app, "answer": by_answer, "run": by_run}
    if name in here:
        yield here[name]
        return
    with {"dask": dask, "ray": ray, "spark": spark}[name]() as engine:
        yield lambda model, change: by_engine(engine, model, change)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try every change, or one of so many, each way."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--ways", nargs="+", default=["app", "answer", "run", "dask", "ray", "spark"])
    parser.add_argument("--every", type=int, default=1, help="of so many changes one")
    options = parser.parse_args(arguments)
    faults, tried = list[str](), 0
    warnings.simplefilter("ignore")
    far = [case for case in CASES if travels(case)]
    for name in options.ways:
        began, before = time.monotonic(), len(faults)
        with way(name) as attempt:
            for case in list(CASES if name in HERE else far)[:: options.every]:
                make, change = CASES[case]
                untold.SETTINGS.update(sign=1.0, column=0)
                try:
                    fault = attempt(make(), change)
                except XcidError as error:
                    fault = f"an error: {error}"
                faults += [f"{name}, {case}: {fault}"] if fault else []
                tried += 1
        untold.SETTINGS.update(sign=1.0, column=0)
        print(f"{name}: {len(faults) - before} faults, {time.monotonic() - began:.0f} s", flush=True)
    return verdict("changes", tried, faults)


if __name__ == "__main__":
    sys.exit(main())
