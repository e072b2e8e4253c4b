"""One bad cell has one message, whatever the file's format is and whichever verb reads it."""

from __future__ import annotations

import json
import math

import joblib
import numpy as np
import pandas as pd
import pytest

from xcid.io import sources, training

ROW = 7
SUFFIXES = [".csv", ".tsv", ".jsonl", ".json", ".parquet", ".feather"]
LINES = {".csv": f" (line {ROW + 2})", ".tsv": f" (line {ROW + 2})", ".jsonl": f" (line {ROW + 1})"}
REPAIR = "fill or drop these rows"
WRITE = "there: write one, or leave the cell empty"
BAD = {
    "text in a number column": (
        "size", "many", "{path} holds 'many' in {place}, column 'size', and the reference data have numbers {write}",
    ),
    "infinite number": ("weight", math.inf, f"{{path}} has an infinite value in {{place}}, column 'weight': {REPAIR}"),
    "fraction in an integer column": (
        "count", 2.5, "{path} holds 2.5 in {place}, column 'count', and the reference data have whole numbers {write}",
    ),
}  # fmt: skip


def good(n_rows=40):
    random = np.random.default_rng(2)
    size, weight = random.normal(size=(2, n_rows)).round(3)
    table = pd.DataFrame({"size": size, "weight": weight, "count": random.integers(0, 9, n_rows)})
    table["colour"] = np.array(["red", "green"])[np.arange(n_rows) % 2]
    table["y"] = (weight > 0).astype(int)
    table.loc[3, "size"] = np.nan
    return table


def save(table, path):
    """A file with columns of objects, which may hold anything; a packed file has one type a column."""
    if path.suffix in (".csv", ".tsv"):
        table.to_csv(path, index=False, sep="," if path.suffix == ".csv" else "\t")
    elif path.suffix in (".parquet", ".feather"):
        typed = table.infer_objects()
        if typed["size"].dtype == object:  # then text among nothing
            typed["size"] = [cell if isinstance(cell, str) else None for cell in typed["size"]]
        typed.to_parquet(path) if path.suffix == ".parquet" else typed.to_feather(path)
    else:
        lines = [json.dumps({name: _plain(cell) for name, cell in row.items()}) for row in table.to_dict("records")]
        path.write_text("\n".join(lines) if path.suffix == ".jsonl" else f"[{', '.join(lines)}]", encoding="utf-8")
    return path


def _plain(cell):
    return None if cell is None or cell != cell else cell


def spoilt(kind):
    column, cell, message = BAD[kind]
    table = good().astype(object)
    table.loc[ROW, column] = cell
    return table, message


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.joblib"
    joblib.dump(training.train(good(), "y", "logistic", 0).model, path)
    return path


@pytest.fixture(params=["explain", "explain in small pieces", "explain --run", "report", "app"])
def said(request, command, model, tmp_path, monkeypatch):
    """What each road says of a background and rows."""
    more = {
        "explain --run": ("--run", tmp_path / "run", "--out", tmp_path / "out.csv"),
        "report": ("--out", tmp_path / "out.html"),
    }.get(request.param, ())
    if request.param == "explain in small pieces":
        monkeypatch.setattr(sources, "ROWS_AT_ONCE", 3)
    if request.param == "app":
        pytest.importorskip("starlette", reason="needs the extra app")

    def run(*files):
        options = ("--target", "y", "--model", model, "--unsafe-pickle", "--quiet", *more)
        status, out, err = command(request.param.split()[0], *files, *options)
        assert (status, out) == (2, "")
        assert not list(tmp_path.glob("out.*"))
        return err

    return run


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", BAD)
def test_in_rows_to_explain(said, tmp_path, kind, suffix):
    table, message = spoilt(kind)
    train, path = save(good(), tmp_path / f"train{suffix}"), save(table, tmp_path / f"rows{suffix}")
    due = message.format(path=path, write=WRITE, place=f"row {ROW}{LINES.get(suffix, '')}")
    assert said("--background", train, "--data", path) == f"xcid: {due}\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_in_the_background(said, tmp_path, suffix):
    table, message = spoilt("infinite number")
    path = save(table, tmp_path / f"train{suffix}")
    due = message.format(path=path, write=WRITE, place=f"row {ROW}{LINES.get(suffix, '')}")
    assert said("--background", path) == f"xcid: {due}\n"


@pytest.mark.parametrize("suffix", [".jsonl", ".json"])
def test_two_kinds_in_the_background(said, tmp_path, suffix):
    """A text file has only text, and a packed one has one type a column; JSON says what each cell is."""
    path = save(spoilt("text in a number column")[0], tmp_path / f"train{suffix}")
    place = f"row {ROW}{LINES.get(suffix, '')}"
    due = f"xcid: {path} holds 'many' in {place}, column 'size': make it all numbers or all text\n"
    assert said("--background", path) == due


UNSEEN = {"unknown level": ("colour", "mauve"), "missing cell": ("weight", None)}
SAID = "{place}: {what} is not in the reference data; the model decides whether it can take it\n"


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("kind", UNSEEN)
@pytest.mark.parametrize("way", ["explain", "explain --run"])
def test_what_the_background_does_not_have(command, model, tmp_path, way, kind, suffix):
    """The model takes both: it fills missing cells, and ignores levels that it does not know."""
    column, cell = UNSEEN[kind]
    table = good().astype(object)
    table.loc[ROW, column] = cell
    train, path = save(good(), tmp_path / f"train{suffix}"), save(table, tmp_path / f"rows{suffix}")
    files = ("--reference", train, "--data", path, "--target", "y", "--model", model, "--unsafe-pickle")
    more = ("--run", tmp_path / "run") if way == "explain --run" else ()
    status, _, err = command("explain", *files, *more, "--out", tmp_path / "out.csv")
    assert status == 0, err
    what = "a missing weight" if cell is None else "colour 'mauve'"
    assert SAID.format(place=f"row {ROW}{LINES.get(suffix, '')}", what=what) in err
    found = pd.read_csv(tmp_path / "out.csv", keep_default_na=False)
    row = found[found["row"] == ROW].set_index("feature")
    assert row.loc[column, "shown"] == ("missing" if cell is None else cell)
    assert set(row["status"]) == {"ok"}
    assert len(found) == 40 * 4


@pytest.mark.parametrize("kind", UNSEEN)
def test_a_model_that_cannot_take_it(command, tmp_path, kind):
    from sklearn.compose import ColumnTransformer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    column, cell = UNSEEN[kind]
    whole = good().drop(columns="size")
    coded = ColumnTransformer([("colour", OneHotEncoder(), ["colour"])], remainder="passthrough")
    fitted = make_pipeline(coded, LogisticRegression()).fit(whole.drop(columns="y"), whole["y"])
    joblib.dump(fitted, tmp_path / "strict.joblib")
    table = whole.astype(object)
    table.loc[ROW, column] = cell
    train, path = save(whole, tmp_path / "train.csv"), save(table, tmp_path / "rows.csv")
    files = ("--reference", train, "--data", path, "--target", "y", "--model", tmp_path / "strict.joblib")
    status, _, err = command("explain", *files, "--unsafe-pickle", "--out", tmp_path / "out.csv")
    assert status == 0, err
    assert "1 of 40 rows do not have the status ok (unseen_value: 1); the first that failed is row 7" in err
    found = pd.read_csv(tmp_path / "out.csv").set_index("row")
    assert set(found.loc[ROW, "status"]) == {"unseen_value"}
    assert not found.loc[ROW, "value"].any()
    assert set(found.drop(index=ROW)["status"]) == {"ok"}


def test_the_app_leaves_such_rows_out(command, model, tmp_path, monkeypatch):
    pytest.importorskip("starlette", reason="needs the extra app")
    served = []
    monkeypatch.setattr("xcid.app.serve", lambda session, **more: served.append(session))
    table = good().assign(colour=["mauve", *good()["colour"][1:]])
    train, path = save(good(), tmp_path / "train.csv"), save(table, tmp_path / "rows.csv")
    files = ("--reference", train, "--data", path, "--target", "y", "--model", model, "--unsafe-pickle")
    status, _, err = command("app", *files)
    assert status == 0, err
    assert "cannot be picked" in err
    assert served[0].names == list(range(1, 40))


def test_rows_of_another_format_than_the_background(said, tmp_path):
    """A date of a packed file is text in a text file, and fits where it can be read."""
    days = pd.date_range("2024-01-01", periods=40)
    train = save(good().assign(colour=days), tmp_path / "train.parquet")
    path = save(good().assign(colour=["soon", *days[1:].astype(str)]), tmp_path / "rows.csv")
    due = f"{path} holds 'soon' in row 0 (line 2), column 'colour', and the reference data have dates there"
    assert said("--background", train, "--data", path).startswith(f"xcid: {due}")
