"""The service in ``examples/service.py`` answers many requests at once, each as the explainer itself does."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from importlib.resources import files
from pathlib import Path

import httpx
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

import xcid

pytestmark = pytest.mark.slow
EXAMPLES = Path(__file__).parents[1] / "examples"
RANDOM = np.random.default_rng(3)
DAYS = pd.Timestamp("2026-01-01") + pd.to_timedelta(RANDOM.integers(0, 300, 400), unit="D")
TABLE = pd.DataFrame(RANDOM.normal(size=(400, 3)).round(2), columns=["a", "b", "c"])
TABLE = TABLE.assign(kind=RANDOM.choice(["new", "old"], 400), since=DAYS, hole=TABLE["a"].where(TABLE["b"] > -1))
SCHEMA = json.loads((files("xcid.io") / "schemas" / "explain-1.json").read_text("utf-8"))["items"]
N = 200  # requests


@pytest.fixture(scope="module")
def explainer():
    numbers = ColumnTransformer([("numbers", "passthrough", ["a", "b", "c", "hole"])])
    trees = HistGradientBoostingClassifier(max_iter=20, random_state=0)
    model = make_pipeline(numbers, trees).fit(TABLE, TABLE["a"] + TABLE["b"] > 0)
    return xcid.Explainer(model, TABLE, class_names=["no", "yes"])


@pytest.fixture(scope="module")
def address(explainer, tmp_path_factory):
    """Where the service listens while the tests run."""
    path = tmp_path_factory.mktemp("service") / "explainer.xcid"
    explainer.save(path)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "uvicorn", "service:app", "--factory", "--app-dir", str(EXAMPLES)]
    command += ["--port", str(port), "--log-level", "warning"]
    process = subprocess.Popen(command, env=os.environ | {"EXPLAINER": str(path)})
    try:
        for _ in range(600):
            assert process.poll() is None, "the service ended"
            try:
                httpx.get(f"http://127.0.0.1:{port}/health")
                break
            except httpx.TransportError:
                time.sleep(0.2)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        assert process.wait(30) in (0, -15)


def rows_of(table):
    """Rows as a client writes them: dates as text, what is missing as null."""
    return json.loads(table.to_json(orient="records", date_format="iso"))


def send(address, rows, question="/explain"):
    """Send requests all at once; give their answers."""

    async def ask():
        async with httpx.AsyncClient(base_url=address, timeout=120, limits=httpx.Limits(max_connections=N)) as client:
            return await asyncio.gather(*(client.post(question, json=row) for row in rows))

    return asyncio.run(ask())


def column(answers, name):
    return np.array([[line[name] for line in answer.json()] for answer in answers], dtype=float)


def test_two_hundred_requests_at_once(address, explainer):
    answers = send(address, rows_of(TABLE[:N]))
    assert {answer.status_code for answer in answers} == {200}
    due = explainer.contributions(TABLE[:N])
    assert np.allclose(column(answers, "value"), due.values, rtol=0, atol=1e-12)
    assert np.isnan(column(answers, "importance")).all()
    for answer in answers:
        assert [line["feature"] for line in answer.json()] == list(due.feature_names)
        assert {line["row"] for line in answer.json()} == {0}
        assert answer.json()[0]["settings"]["model"] == due.details.settings["model"]
        for line in answer.json():
            assert set(SCHEMA["required"]) <= line.keys() <= SCHEMA["properties"].keys()


def test_importance_and_several_rows(address, explainer):
    (answer,) = send(address, [rows_of(TABLE[:5])], "/explain?importance=yes")
    due = explainer(TABLE[:5])
    for name, values in (("value", due.values), ("importance", due.importance)):
        assert np.allclose([line[name] for line in answer.json()], values.ravel(), rtol=0, atol=1e-12)
    assert [line["row"] for line in answer.json()] == np.repeat(np.arange(5), 6).tolist()


def test_a_bad_row_is_refused_and_no_other(address, explainer):
    rows = rows_of(TABLE[:20])
    rows[3] |= {"a": "many"}
    rows[7].pop("b")
    rows[11] |= {"age": 5}
    rows[13] |= {"since": "yesterday"}
    answers = send(address, rows)
    assert [at for at, answer in enumerate(answers) if answer.status_code == 422] == [3, 7, 11, 13]
    with pytest.raises(xcid.errors.InvalidData) as caught:
        explainer.contributions([TABLE.iloc[3].to_dict() | {"a": "many"}])
    assert answers[3].json() == {"error": str(caught.value)}
    for at, name in ((7, "b"), (11, "age"), (13, "since")):
        assert repr(name) in answers[at].json()["error"] or name in answers[at].json()["error"]
    good = [at for at, answer in enumerate(answers) if answer.status_code == 200]
    assert np.allclose(column([answers[at] for at in good], "value"), explainer.contributions(TABLE.iloc[good]).values)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"5", b"[[1, 2]]", b"[" * 5000, b'{"a": NaN}'], ids=repr)
def test_what_is_no_row_is_refused(address, body):
    answer = httpx.post(f"{address}/explain", content=body)
    assert answer.status_code == 422
    assert answer.json()["error"]


def test_what_is_too_much_is_refused(address):
    assert httpx.post(f"{address}/explain", content=b" " * (2**20 + 1)).status_code == 413
    assert httpx.post(f"{address}/explain", json=[{}] * 257).status_code == 422
    assert httpx.post(f"{address}/explain?importance=maybe", json={}).status_code == 422


def test_health(address, explainer):
    answer = httpx.get(f"{address}/health")
    assert answer.status_code == 200
    assert answer.json() == {"status": "ok", **explainer.subject.record}
