"""No text of a table becomes a formula in a CSV file; numbers stay numbers; what was written can be had back."""

from __future__ import annotations

import csv
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from xcid.io import writers
from xcid.io.writers import STARTS, defuse_cell, original

FORMULAS = [
    "=1+1",
    "+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(A1)",
    "\tx",
    "\rx",
    "\n=1",
    "＝1",
    "--1",
    "-",
    "=",
    "'=1",
    "-1.5.2",
]
NUMBERS = ["-1.5", "+2", "-1e-5", "-1,234.5", "3", "-.5"]


def is_safe(text):
    """Neither a formula nor, with a sign in front, anything but a number."""
    try:
        return not text.startswith(STARTS) or (
            bool(text.replace(",", "")) and np.isfinite(float(text.replace(",", "")))
        )
    except ValueError:
        return False


@pytest.mark.parametrize("text", FORMULAS)
def test_formulas_get_a_mark(text):
    assert defuse_cell(text) == f"'{text}"
    assert original(defuse_cell(text)) == text


@pytest.mark.parametrize("text", [*NUMBERS, "", "age", "a=b", "'tis", "x-1"])
def test_all_else_is_left_alone(text):
    assert defuse_cell(text) == text == original(text)


@pytest.mark.parametrize("cell", [-1.5, 3, None, True])
def test_only_text_can_be_a_formula(cell):
    assert defuse_cell(cell) is cell


@given(st.text(alphabet=st.sampled_from("=+-@\t\r\n'1.,ex＝"), max_size=6) | st.text(max_size=6))
def test_there_and_back(text):
    assert original(defuse_cell(text)) == text
    assert is_safe(defuse_cell(text))


def written(tmp_path, columns):
    writers.write(tmp_path / "t.csv", [columns])
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.reader(file))


def test_names_and_cells_of_a_file(tmp_path):
    columns = {"=name": np.array(["@x", "ok"]), "number": np.array([-1.5, 2.0]), "label": np.array(["-1", "-a"])}
    found = written(tmp_path, columns)
    assert found == [["'=name", "number", "label"], ["'@x", "-1.5", "-1"], ["ok", "2.0", "'-a"]]


def test_every_cell_that_the_command_writes(command, tmp_path):
    random = np.random.default_rng(0)
    a = random.normal(size=60).round(2)
    level = np.where(np.arange(60) % 2 == 0, "=HYPERLINK(A1)", "+1+1")
    table = pd.DataFrame({"=cmd|'/C calc'!A1": a, "@level": level, "-y": np.where(a > 0, "=yes", "-no")})
    table.to_csv(tmp_path / "t.csv", index=False)
    options = ("--target=-y", "--train", "logistic", "--rows", "0:4", "--quiet")
    for out in ("out.csv", "out.json"):
        arguments = ("explain", "--background", tmp_path / "t.csv", *options, "--out", tmp_path / out)
        status, _, err = command(*arguments)
        assert (status, err) == (0, "")
    with (tmp_path / "out.csv").open(newline="", encoding="utf-8") as file:
        cells = list(csv.reader(file))
    assert all(is_safe(cell) for line in cells for cell in line)
    features = [original(line[cells[0].index("feature")]) for line in cells[1:]]
    due = json.loads((tmp_path / "out.json").read_text())
    assert features == [line["feature"] for line in due]
    assert [original(line[cells[0].index("shown")]) for line in cells[1:]] == [line["shown"] for line in due]
    assert [float(line[cells[0].index("value")]) for line in cells[1:]] == [line["value"] for line in due]
