"""The command on a tiny table, in one process: what ``make test`` says of it in a few seconds."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

from xcid.cli import main

pytest.importorskip("sklearn", reason="trains a model")
COMMON = ("--target", "y", "--train", "logistic", "--rows", "0:3", "--quiet")


@pytest.fixture
def csv(tmp_path):
    """The first column alone decides."""
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)).round(3), columns=["age", "debt"])
    table.assign(y=np.where(table.age > 0, "ill", "well")).to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def run(*typed):
    return main([str(one) for one in typed])


@pytest.mark.parametrize("option", ["--reference", "--background"])
def test_explain(csv, capsys, option):
    assert run("explain", option, csv, *COMMON, "--json") == 0
    lines = json.loads(capsys.readouterr().out)
    assert [(line["row"], line["feature"]) for line in lines] == [(r, f) for r in range(3) for f in ("age", "debt")]
    assert all(abs(age["value"]) > abs(debt["value"]) for age, debt in zip(lines[::2], lines[1::2], strict=True))


def test_report(csv, tmp_path):
    assert run("report", csv, *COMMON, "--frozen", "debt", "--out", tmp_path / "page.html") == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "What decides y" in page
    assert "debt stays" in page


def test_whatif(csv, capsys):
    assert run("whatif", csv, *COMMON, "--frozen", "debt", "-k", "1", "--json") == 0
    lines = json.loads(capsys.readouterr().out)
    assert [line["row"] for line in lines] == [0, 1, 2]
    assert all(line["changes"].startswith("age ") for line in lines)


def test_wrong_input_is_one_line_and_status_2(tmp_path, capsys):
    assert run("explain", tmp_path / "none.csv", *COMMON) == 2
    assert capsys.readouterr().err.count("\n") == 1
