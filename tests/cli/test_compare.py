"""``xcid compare`` and ``xcid reproduce``."""

from __future__ import annotations

import json
import platform
import re
import shlex
import sys
import types
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.cli._subjects import SubjectOptions
from xcid.cli._terminal import MODELS
from xcid.directions import supporting
from xcid.io.training import FAMILIES
from xcid_lab import baselines, comparison
from xcid_lab.verbs import compare

FAST = "xcid,occlusion,chance"
FILES = ["figures.csv", "figures.json", "figures.tex"]
PACKAGES = {
    "shap": ["shap"],
    "lime": ["lime"],
    "dice": ["dice_ml"],
    "cf-shap": ["shap"],
    "kernelshap": ["shapiq"],
    "permutation": ["shapiq"],
    "leverageshap": ["shapiq"],
    "regression-msr": ["shapiq", "xgboost"],
    "proxyshap": ["shapiq", "xgboost"],
    "oddshap": ["shapiq"],
}


def lines_of(out, head):
    """Cells of the table whose first line starts with some words."""
    lines = out.splitlines()
    start = next(at for at, line in enumerate(lines) if line.startswith(f"| {head}"))
    stop = next((at for at, line in enumerate(lines) if at > start and not line.startswith("|")), len(lines))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[start:stop] if "---" not in line]


@pytest.fixture
def options(csv):
    return ("compare", "--data", csv, "--target", "y", "--model", "logistic", "--rows", "0:4", "--methods", FAST)


def test_names_that_can_be_typed():
    assert tuple(comparison.MAKERS) == compare.METHODS
    assert ("auto", *FAMILIES) == MODELS


def test_tables(command, options):
    status, out, err = command(*options)
    assert status == 0, err
    first = out.splitlines()[0]
    assert first.startswith("LogisticRegression trained on 86 rows for 2 classes of 'y'; 4 other rows are held out")
    figures = lines_of(out, "method")
    assert [line[0] for line in figures[1:]] == FAST.split(",")
    assert len(figures[0]) == 10
    assert all("±" in cell for line in figures[1:] for cell in line[1:])
    agreement = lines_of(out, "top 3 in common")
    assert [line[1:] for line in agreement[1:]] == [["1.000 ± 0.000"] * 3] * 3  # all of three features
    assert "24 of 24 runs" in err


def test_weights_of_a_column(command, options, csv, table, tmp_path):
    figures = []
    for weights in (np.ones(len(table)), np.exp(3 * table["first"])):
        table.assign(w=weights).to_csv(csv, index=False)
        status, out, err = command(*options, "--weights", "w")
        assert status == 0, err
        figures.append([line[1:7] for line in lines_of(out, "method")[1:]])
    assert figures[0] != figures[1]
    table.to_csv(csv, index=False)
    plain = [line[1:7] for line in lines_of(command(*options)[1], "method")[1:]]
    assert figures[0] == plain


def test_quiet_and_the_same_again(command, options):
    first, second = (command(*options, "--quiet") for _ in range(2))
    assert first[0] == 0
    assert first[2] == ""
    untimed = [[line[:-1] for line in lines_of(out, "method")] for _, out, _ in (first, second)]
    assert untimed[0] == untimed[1]


def test_files(command, options, tmp_path):
    out = tmp_path / "a" / "folder"
    status, printed, err = command(*options, "--out", out)
    assert status == 0, err
    assert sorted(path.name for path in out.iterdir()) == ["comparison.png", *FILES]
    assert (out / "comparison.png").read_bytes().startswith(b"\x89PNG")
    figures = pd.read_csv(out / "figures.csv")
    report = json.loads((out / "figures.json").read_text(encoding="utf-8"), parse_constant=pytest.fail)
    assert figures["mean"].tolist() == pytest.approx([line["mean"] for line in report["figures"]])
    assert len(figures) == 3 * 9 + 3 * 3
    best = figures[(figures["figure"] == "comp, mean") & (figures["method"] == "xcid")]["mean"].item()
    assert lines_of(printed, "method")[1][1].startswith(f"{best:.3f}")
    assert figures["over_seeds"].isna().all()  # of a single seed


def test_files_say_what_made_them(command, options, tmp_path):
    typed = (*options, "--out", tmp_path / "out", "--seed", 7, "--seeds", 2)
    assert command(*typed)[0] == 0
    report = json.loads((tmp_path / "out" / "figures.json").read_text(encoding="utf-8"))
    lines = pd.read_csv(tmp_path / "out" / "figures.csv")
    head = (tmp_path / "out" / "figures.tex").read_text(encoding="utf-8").partition(r"\begin{table}")[0]
    assert (report["seeds"], report["rows"]) == ("7, 8", 4)
    assert report["command"] == shlex.join(["xcid", *map(str, typed)])
    assert f"xcid {xcid.__version__}, Python {platform.python_version()}, numpy {np.__version__}" in report["versions"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", report["date"])
    for name in ("rows", "seeds", "date", "versions", "command"):
        assert lines[name].map(str).unique().tolist() == [str(report[name])]
        assert f"% {name}: {report[name]}\n" in head


def test_the_table_for_a_paper_has_the_figures(command, options, tmp_path):
    assert command(*options, "--out", tmp_path, "--seeds", 2)[0] == 0
    text = (tmp_path / "figures.tex").read_text(encoding="utf-8")
    lines = re.findall(r"^    (.*) \\\\$", text, flags=re.MULTILINE)
    head, *cells = [[cell.strip() for cell in line.split("&")] for line in lines]
    assert head == ["", *FAST.split(",")]
    figures = pd.read_csv(tmp_path / "figures.csv").set_index(["figure", "method"])
    assert len(cells) * 3 == len(figures)
    for name, *found in cells:
        for method, cell in zip(head[1:], found, strict=True):
            mean, margin = (float(part.replace(",", "")) for part in cell.split(r"$\pm$"))
            due = figures.loc[(name, method)]
            digits = 3 if abs(due["mean"]) < 10 else 1 if abs(due["mean"]) < 1000 else 0
            assert (mean, margin) == pytest.approx((due["mean"], due["margin"]), abs=0.51 * 10**-digits)
    assert r"2 classes of \textquotesingle{}y\textquotesingle{}; 4 other rows are held out" in text
    assert "each of them the mean of seeds 0, 1." in text


def test_figures_of_several_seeds_against_numpy(command, table, tmp_path):
    """Faithfulness of random scores, row by row and seed by seed, and what its error is over rows and over seeds."""
    table[["first", "second", "y"]].dropna().to_csv(tmp_path / "t.csv", index=False)
    typed = ("--data", tmp_path / "t.csv", "--target", "y", "--model", "logistic", "--methods", "chance")
    status, _, err = command("compare", *typed, "--seed", 3, "--seeds", 4, "--out", tmp_path)
    assert status == 0, err
    split = compare.split(subject(tmp_path / "t.csv"))
    model, rows, means = split.model, np.asarray(split.rows), np.asarray(split.train).mean(axis=0)
    own = model.predict_proba(split.rows).argmax(axis=1)

    def output(cells):
        return model.predict_proba(pd.DataFrame(cells, columns=split.rows.columns))[np.arange(len(rows)), own]

    falls = []
    for seed in range(3, 7):
        best = (-supporting(baselines.Chance(model, split.train)(split.rows, seed=seed))).argsort(axis=1)
        steps = [np.zeros(len(rows))]
        cells = rows.copy()
        for at in range(rows.shape[1]):
            np.put_along_axis(cells, best[:, [at]], means[best[:, [at]]], axis=1)
            steps.append(output(rows) - output(cells))
        falls.append(np.mean(steps, axis=0))
    falls = np.array(falls)
    found = pd.read_csv(tmp_path / "figures.csv").set_index("figure").loc["comp, mean"]
    over_rows, over_seeds = falls.mean(axis=0), falls.mean(axis=1)
    assert found["mean"] == pytest.approx(falls.mean())
    assert found["margin"] == pytest.approx(2 * over_rows.std(ddof=1) / np.sqrt(len(rows)))
    assert found["over_seeds"] == pytest.approx(2 * over_seeds.std(ddof=1) / np.sqrt(4))
    assert found["over_seeds"] > 0


def test_a_method_that_draws_nothing_is_the_same_with_every_seed(command, options, tmp_path):
    assert command(*options[:-1], "occlusion", "--seeds", 3, "--out", tmp_path / "out")[0] == 0
    figures = pd.read_csv(tmp_path / "out" / "figures.csv").set_index("figure")
    assert figures.loc["comp, mean", "over_seeds"] == 0
    assert figures.loc["two seeds, top 3", "mean"] == 1


def test_methods_whose_extra_is_missing(command, options, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    status, out, _ = command(*options[:-1], "shap,chance")
    assert status == 0
    assert [line[0] for line in lines_of(out, "method")[1:]] == ["chance"]
    assert 'left out: shap: this needs shap, which is not installed: pip install -e ".[shap]"' in out


def test_methods_that_cannot_take_the_table(command, options):
    pytest.importorskip("lime")
    status, out, _ = command(*options[:-1], "lime,chance")
    assert status == 0
    assert "left out: lime: LIME takes no missing cells" in out


def test_no_method_at_all(command, options, monkeypatch):
    monkeypatch.setitem(sys.modules, "shap", None)
    status, _, err = command(*options[:-1], "shap")
    assert status == 2
    assert "no method can explain these rows" in err


def test_no_picture_without_matplotlib(command, options, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, _, err = command(*options, "--out", tmp_path / "out")
    assert status == 0
    assert "no picture: this needs matplotlib" in err
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == FILES


@pytest.mark.parametrize("method", compare.METHODS)
def test_every_method(command, table, tmp_path, method):
    for package in PACKAGES.get(method, ()):
        pytest.importorskip(package)
    whole = table.drop(columns="level").dropna()
    whole.to_csv(tmp_path / "t.csv", index=False)
    arguments = (
        "--data",
        tmp_path / "t.csv",
        "--target",
        "y",
        "--model",
        "forest",
        "--rows",
        "0:2",
        "--methods",
        method,
    )
    status, out, err = command("compare", *arguments)
    assert status == 0, err
    assert [line[0] for line in lines_of(out, "method")[1:]] == [method]


def test_a_model_of_ones_own(command, csv, tmp_path, table):
    io = pytest.importorskip("skops.io")
    from sklearn.linear_model import LogisticRegression

    numbers = table[["first", "second", "y"]].fillna(0.0)
    numbers.to_csv(tmp_path / "t.csv", index=False)
    io.dump(LogisticRegression().fit(numbers[["first", "second"]], numbers["y"]), tmp_path / "m.skops")
    arguments = ("--data", tmp_path / "t.csv", "--target", "y", "--model", tmp_path / "m.skops", "--rows", "0:3")
    status, out, err = command("compare", *arguments, "--methods", "xcid,chance")
    assert status == 0, err
    figures = lines_of(out, "method")
    faithful = [float(line[1].split()[0]) for line in figures[1:]]
    assert faithful[0] > faithful[1]


def test_rows_that_do_not_fit_are_passed_over(command, table, tmp_path):
    rare = table.assign(level=[f"level {i}" if i % 2 == 0 else "usual" for i in range(len(table))])
    rare.to_csv(tmp_path / "t.csv", index=False)
    arguments = ("--data", tmp_path / "t.csv", "--target", "y", "--model", "logistic", "--methods", "chance")
    status, out, err = command("compare", *arguments)
    assert status == 0, err
    assert " passed over, with levels or missing cells that the 72 rows do not have)" in out


def test_no_row_fits(command, table, tmp_path):
    table.assign(level=[f"level {i}" for i in range(len(table))]).to_csv(tmp_path / "t.csv", index=False)
    status, _, err = command("compare", "--data", tmp_path / "t.csv", "--target", "y", "--model", "logistic")
    assert status == 2
    assert "none of the 18 rows to explain fits the others" in err


def subject(csv, **more):
    known = {"reference": csv, "target": "y", "weights": None, "id": None, "data": None, "rows": None}
    model = {"model": None, "train": "logistic", "trust": [], "unsafe_pickle": False, "seed": 3}
    return SubjectOptions(**known | model | more)


def test_test_rows_are_not_trained_on(csv, table):
    split = compare.split(subject(csv))
    assert len(split.train) + len(split.rows) == len(table)
    assert not set(split.train.index) & set(split.rows.index)
    again = compare.split(subject(csv))
    assert np.array_equal(split.rows["first"], again.rows["first"])


def test_rows_that_are_asked_for_are_held_out(csv, table):
    split = compare.split(subject(csv, rows="first > 1"))
    assert (split.rows["first"] > 1).all()
    assert (split.train["first"] <= 1).all()
    assert len(split.train) + len(split.rows) == len(table)


def test_rows_of_another_table(csv, table, tmp_path):
    table.head(6).to_csv(tmp_path / "rows.csv", index=False)
    split = compare.split(subject(csv, data=tmp_path / "rows.csv", rows="1,4"))
    assert len(split.train) == len(table)
    assert split.rows["first"].tolist() == table["first"].iloc[[1, 4]].tolist()


def test_every_row_leaves_none_to_learn_from(command, options):
    status, _, err = command(*options, "--rows", ":")
    assert status == 2
    assert "leaves none to learn from" in err


@pytest.mark.parametrize(("flags", "kind"), [([], "full"), (["--quick"], "quick")])
def test_reproduce(command, tmp_path, monkeypatch, flags, kind):
    class Settings:
        full, quick = staticmethod(lambda: "full"), staticmethod(lambda: "quick")

    def reproduce(out, settings, say):
        assert out.is_dir()
        say(f"doing {settings}")
        return Path(out) / "report.md"

    stand_in = types.ModuleType("xcid_lab.reproduction")
    stand_in.Settings, stand_in.reproduce = Settings, reproduce
    monkeypatch.setitem(sys.modules, "xcid_lab.reproduction", stand_in)
    out = tmp_path / "out"
    assert command("reproduce", "--out", out, *flags) == (0, f"{out / 'report.md'}\n", f"doing {kind}\n")
    assert command("reproduce", "--out", out, "--quiet", *flags)[2] == ""
