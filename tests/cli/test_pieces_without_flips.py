"""Rows without flips against a one-sided background have a status, whatever piece of the table they are in."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import xcid
from xcid.errors import NotEnoughFlips, XcidWarning

skops = pytest.importorskip("skops.io", reason="is not installed")

FAR, NEAR = 10.0, 0.0  # beyond the border, from where the background flips a row, and among the background


@pytest.fixture
def subject(tmp_path, monkeypatch):
    """A model whose border no row of the background crosses."""
    monkeypatch.chdir(tmp_path)
    random = np.random.default_rng(0)
    table = pd.DataFrame(random.normal(size=(60, 2)).round(3), columns=["a", "b"])
    wide = pd.DataFrame(random.uniform(-15, 15, size=(600, 2)), columns=["a", "b"])
    skops.dump(LogisticRegression(max_iter=1_000).fit(wide, wide["a"] > 5), "model.skops")
    table.to_csv("background.csv", index=False)
    return ("--background", "background.csv", "--model", "model.skops", "--data", "rows.csv")


def write(places):
    random = np.random.default_rng(1)
    rows = pd.DataFrame({"a": np.array(places) + random.normal(size=len(places)).round(3) / 10})
    rows.assign(b=random.normal(size=len(rows)).round(3)).to_csv("rows.csv", index=False)


TABLES = {
    "64 rows, the last alike": [FAR] * 64,
    "64 rows, the last without flips": [FAR] * 63 + [NEAR],
    "65 rows, the last without flips": [FAR] * 64 + [NEAR],
    "65 rows, only the last with flips": [NEAR] * 64 + [FAR],
    "65 rows without flips": [NEAR] * 65,
}
ROADS = {
    "explain": ("explain", "--out", "out.json"),
    "two threads": ("explain", "--out", "out.json", "--workers", "2"),
    "a run": ("explain", "--out", "out.json", "--run", "run", "--chunk", "64"),
    "a run of small chunks": ("explain", "--out", "out.json", "--run", "run", "--chunk", "13"),
    "report": ("report", "--out", "out.html", "--rows", ":"),
}


CASES = [("65 rows, the last without flips", road) for road in ROADS]
CASES += [(name, "explain") for name in TABLES] + [(name, "a run") for name in list(TABLES)[3:]]


@pytest.mark.parametrize(("name", "road"), dict.fromkeys(CASES))
def test_every_row_has_its_own_status(subject, command, name, road):
    places = TABLES[name]
    write(places)
    status, _, said = command(*ROADS[road], *subject)
    near, out = places.count(NEAR), Path(ROADS[road][2])
    assert status == 0, said
    if road == "report":
        assert (f"{near} of {len(places)} rows do not have the status ok" in said) == bool(near)
        return
    found = pd.DataFrame(json.loads(out.read_text())).drop_duplicates("row")
    assert found["row"].tolist() == list(range(len(places)))
    assert ((found["status"] == "ok") == (np.array(places) == FAR)).all()
    assert (f"{near} of {len(places)} rows do not have the status ok" in said) == bool(near)


def test_a_stream_goes_on_and_a_call_does_not(subject):
    model, background = skops.load("model.skops"), pd.read_csv("background.csv")
    explainer = xcid.Explainer(model.predict, background)  # labels: there are no log odds to explain
    near, far = background[:3], background[:3].assign(a=FAR)
    with pytest.warns(XcidWarning, match="one class only"):
        pieces = list(explainer.stream([near, far]))
    assert not np.any(pieces[0].status == "ok")
    assert np.all(pieces[1].status == "ok")
    with pytest.raises(NotEnoughFlips, match="one class only"):
        explainer(near)
