"""Small cases of what ten_points.py counts on the tables of the review, on tables that are made here."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("xgboost")
pytest.importorskip("lightgbm")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def load(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    return importlib.import_module


@pytest.fixture
def folder(tmp_path):
    """Tables with a column of levels and four of numbers, under the names of the review's."""
    for seed, name in enumerate(("german", "mammographic", "phoneme", "bupa")):
        random = np.random.default_rng(seed)
        frame = pd.DataFrame(random.normal(size=(120, 4)).round(2), columns=list("abcd"))
        frame.insert(0, "level", random.choice(["x", "y", "z"], 120))
        score = frame["a"] + frame["b"] + (frame["level"] == "x") + random.logistic(size=120) / 3
        frame.assign(y=(score > 0.3).astype(int)).to_csv(tmp_path / f"{name}.dat", header=False, index=False)
    return tmp_path


@pytest.fixture
def cell(load, folder):
    tables = load("review_tables")
    return next(tables.cells(folder, ["german"], {"logistic": tables.FOUR["logistic"]}, 6))


def test_an_answer_has_nothing_superfluous_and_shares_that_are_right(load, cell):
    earlier, judges = load("earlier"), load("review_judges")
    found = earlier.answer(earlier.Question(cell.model, cell.train, cell.rows))
    lines = np.flatnonzero(found.reached & (found.n_changes > 0))
    assert len(lines) >= 6
    assert all(judges.superfluous(cell, found, line)[0] == 0 for line in lines)
    assert all(judges.wrong_shares(cell, found, line)[0] == 0 for line in lines)


def test_what_is_wrong_is_counted(load, cell):
    earlier, judges = load("earlier"), load("review_judges")
    found = earlier.answer(earlier.Question(cell.model, cell.train, cell.rows))
    line = int(np.flatnonzero(found.reached & (found.n_changes == 2))[0])
    (first, share), (second, _) = found.changed[line]
    off = [*found.changed]
    off[line] = ((first, share + 0.01), (second, found.changed[line][1][1] - 0.01))
    assert judges.wrong_shares(cell, found._replace(changed=tuple(off)), line) == (2, 2)
    left = next(name for name in ("x1", "x2", "x3", "x4") if name not in (first, second))
    off[line] = (*found.changed[line], (left, 0.0))
    assert judges.superfluous(cell, found._replace(changed=tuple(off)), line)[0] == 1
    made = {("german", "logistic"): cell}
    assert judges.broken(made, {("german", "logistic", "ruled"): found})[0] > 0


def test_an_earlier_version_answers_in_a_process_of_its_own(load, cell):
    earlier = load("earlier")
    question = earlier.Question(cell.model, cell.train, cell.rows, {"frozen": ["x1"]}, "1", 0.6)
    mine, theirs = earlier.answer(question), earlier.ask_earlier(ROOT, {("a",): question})["a",]
    assert mine.table.equals(theirs.table)
    assert mine.kind.tolist() == theirs.kind.tolist()
    assert mine.changed == theirs.changed


def test_the_sections_run_on_small_tables(load, folder, monkeypatch):
    points = load("review_points")
    tables = load("review_tables")
    some = dict.fromkeys(("logistic", "XGBoost 100 x 4", "forest, in full"), tables.MODELS["XGBoost 100 x 4"])
    monkeypatch.setattr(points, "FOUR", some)
    monkeypatch.setattr(
        points, "CHANGERS", {name: points.CHANGERS[name] for name in ("nearest unlike row", "NICE, sparsity")}
    )
    monkeypatch.setattr(points, "JUDGES", 2)
    monkeypatch.setattr(points, "REFITS", 3)
    place = points.Place(folder)
    told = [*points.form(place, 2), *points.unreached(place, 4), *points.survival(place, 2)]
    assert {one.point for one in told} == {0, 1, 3}
    assert all(one.before == "" or "review" in one.before for one in told)


def test_points_replace_their_own_lines_of_the_page(load):
    points = load("ten_points")
    page = points.START + points.table_of([points.Line(1, "a", "", "old"), points.Line(4, "b", "", "old")]) + points.END
    made = points.insert(page, [points.Line(4, "c", "", "new", True), points.Line(0, "d", "", "new")])
    assert [line.split("|")[1:3] for line in made.splitlines()[3:-1]] == [
        [" 0 ", " d "],
        [" 1 ", " a "],
        [" 4 ", " c "],
    ]


def test_boosting_does_not_tell_columns_apart_that_depend_on_nothing(load):
    points, random = load("ten_points"), np.random.default_rng(3)
    rows = random.normal(size=(400, 4))
    shuffled = np.column_stack([random.permutation(column) for column in rows[200:].T])
    told, taken = points.tell_apart(rows[:200], shuffled)
    assert abs(told - 0.5) < 3 * points.error_of(told, 200)
    assert 0.8 < taken < 1
    rows[:, 1] = rows[:, 0]
    shuffled = np.column_stack([random.permutation(column) for column in rows[200:].T])
    told, taken = points.tell_apart(rows[:200], shuffled)
    assert told > 0.8
    assert taken < 0.5
