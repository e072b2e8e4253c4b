"""``xcid report``: one command from a table to a page."""

from __future__ import annotations

import json
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import xcid
from xcid.cli import report
from xcid.io import training


def read(path):
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL
    )
    return json.loads(data)


@pytest.fixture
def out(tmp_path):
    return tmp_path / "report.html"


def test_as_outside_checks_type_it(command, csv, out):
    typed = ("report", "--background", csv, "--target", "y", "--train", "logistic", "--rows", "0:20", "--out", out)
    status, printed, err = command(*typed)
    assert (status, printed) == (0, "")
    data = read(out)
    assert [row["name"] for row in data["rows"]] == [str(at) for at in range(20)]
    assert all(row["evidence"] for row in data["rows"])
    assert f"{out} is written" in err
    table = pd.read_csv(csv)
    model, background = training.train(table, "y", "logistic", 0).model, table.drop(columns="y")
    due = xcid.Explainer(model, background)(background.iloc[:20])
    assert np.allclose(np.array([row["score"] for row in data["rows"]]) * data["unit"], due.values, atol=5.1e-4)
    sought = xcid.Explainer(model, background).counterfactuals(background.iloc[:20])
    found = [(one["kind"], one["output"]) for row in data["rows"] for one in row["counterfactuals"]]
    assert [kind for kind, _ in found] == list(sought.kind)
    assert np.allclose([output for _, output in found], sought.output, rtol=1e-3)


def test_refits_and_limits(command, csv, out):
    typed = ("report", "--reference", csv, "--target", "y", "--train", "logistic", "--rows", "0:4", "--out", out)
    assert command(*typed, "--refits", "4", "--limits", "training", "--reasons", "2")[0] == 0
    data = read(out)
    assert data["phrases"]["limits"] == "95% limits over trainings"
    assert any("recurs after retraining" in row["reasons"] for row in data["rows"])
    assert any("likely to last" in one["survival"] for row in data["rows"] for one in row["counterfactuals"])


def test_a_table_is_enough(command, csv, out):
    status, _, err = command("report", "--background", csv, "--target", "y", "--out", out)
    assert status == 0, err
    data = read(out)
    assert data["title"] == "What decides y"
    assert len(data["rows"]) == 90
    assert data["notes"][0] == "RandomForestClassifier trained on 90 rows for 2 classes of 'y'."
    assert "of 90 rows correctly, each by the trees that were trained without it" in data["notes"][1]
    assert data["notes"][2].startswith("The rows to explain are among those that it was trained on")


def test_a_long_table_is_reported_in_part(command, csv, out, monkeypatch):
    monkeypatch.setattr(report, "ROWS_OF_A_SAMPLE", 7)
    monkeypatch.setattr(report, "ROWS_AT_A_TIME", 3)
    status, _, err = command("report", "--background", csv, "--target", "y", "--train", "logistic", "--out", out)
    assert status == 0
    assert len(read(out)["rows"]) == 7
    assert "taking 7 of 90 rows, drawn at random; use --rows : for all" in err


def test_redact(command, csv, out, table):
    typed = ("report", "--background", csv, "--target", "y", "--train", "logistic", "--rows", "3:9", "--out", out)
    assert command(*typed, "--redact", "--quiet") == (0, "", "")
    text = out.read_text("utf-8")
    assert not re.search(r"\bred\b|\bgreen\b|\bblue\b", json.dumps(read(out)))
    for value in table.loc[3:9, ["first", "second"]].stack():
        assert f"{value:.6g}" not in text
    assert set(read(out)["rows"][0]["cells"]) == {"hidden"}


def test_regression(command, tmp_path, table, out):
    path = tmp_path / "numbers.csv"
    larger = pd.concat([table, table], ignore_index=True)
    larger.assign(y=larger["first"] * 2 + 0.01).to_csv(path, index=False)
    typed = ("report", "--background", path, "--target", "y", "--train", "boosting", "--rows", ":3", "--out", out)
    assert command(*typed)[0] == 0
    assert re.search(r"explains -?\d+% of the variance of the 36 held-out rows", " ".join(read(out)["notes"]))
    assert read(out)["rows"][0]["sentences"][0].startswith("The model predicts ")


def test_model_file_and_title(command, csv, tmp_path, out):
    skops = pytest.importorskip("skops.io")
    from sklearn.tree import DecisionTreeClassifier

    table = pd.read_csv(csv)[["first", "y"]]
    table.to_csv(tmp_path / "two.csv", index=False)
    skops.dump(
        DecisionTreeClassifier(max_depth=2, random_state=0).fit(table[["first"]], table["y"]), tmp_path / "m.skops"
    )
    typed = ("report", "--background", tmp_path / "two.csv", "--target", "y", "--model", tmp_path / "m.skops")
    status, _, err = command(*typed, "--rows", "0:2", "--title", "A <b>title</b>", "--out", out)
    assert status == 0, err
    assert read(out)["title"] == "A <b>title</b>"
    assert read(out)["notes"] == []


def test_paper(command, csv, out):
    typed = ("report", "--background", csv, "--target", "y", "--train", "logistic", "--rows", "0", "--out", out)
    assert command(*typed, "--paper")[0] == 0
    assert not read(out)["signed"]


def test_the_same_seed_gives_the_same_file(command, csv, out):
    files = []
    for seed in (1, 1, 2):
        typed = ("--background", csv, "--target", "y", "--train", "logistic", "--rows", ":2", "--seed", seed)
        assert command("report", *typed, "--out", out)[0] == 0
        files.append(out.read_bytes())
    assert files[0] == files[1] != files[2]


def test_rows_without_flips_are_said(command, csv, out, monkeypatch):
    from collections import Counter

    statuses = []
    monkeypatch.setattr("xcid._faults.warn_of_statuses", lambda *found: statuses.append(found))
    typed = ("--background", csv, "--target", "y", "--train", "logistic", "--rows", ":5", "--out", out)
    assert command("report", *typed)[0] == 0
    assert statuses == [(Counter({"ok": 5}), "")]


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (("--background", "{csv}", "--target", "y"), 2, "--out"),
        (("--background", "{csv}", "--out", "{out}"), 2, "give --target COLUMN"),
        (("--background", "{csv}", "--target", "y", "--out", "r.pdf"), 2, "the extensions are .html, .htm"),
        (("--background", "{csv}", "--target", "y", "--out", "no/folder/r.html"), 2, "there is no folder"),
        (("--background", "none.csv", "--target", "y", "--out", "{out}"), 2, "none.csv"),
        (("--background", "{csv}", "--target", "z", "--out", "{out}"), 2, "there is no target column 'z'"),
        (
            ("--background", "{csv}", "--target", "y", "--rows", "99:", "--out", "{out}"),
            2,
            "selects none of the 90 rows",
        ),
    ],
)
def test_what_cannot_work(command, csv, out, arguments, status, said):
    filled = [argument.format(csv=csv, out=out) for argument in arguments]
    found, _, err = command("report", *filled)
    assert found == status
    assert said in err
    assert not out.exists()


class TestJudged:
    def test_a_perfect_model(self):
        table = pd.DataFrame({"a": np.arange(150.0), "y": ["low"] * 75 + ["high"] * 75})
        said = judged(table, "forest")
        assert re.fullmatch(
            r"the model predicts (9\d|100)% of 150 rows correctly, each by the trees that were trained without it; "
            "always predicting high would reach 50%",
            said,
        )
        assert judged(table, "boosting").startswith("such a model, trained on four fifths of the rows, predicts ")

    def test_a_forest_is_not_fitted_again_and_knows_no_row_that_judges_it(self, monkeypatch):
        rng = np.random.default_rng(0)
        table = pd.DataFrame({"a": rng.normal(size=300), "b": list("pqr") * 100, "y": rng.integers(0, 2, 300)})
        model = training.train(table, "y", "forest", 0).model
        assert np.mean(model.predict(table.drop(columns="y")) == table["y"]) > 0.95
        monkeypatch.setattr(training, "train", None)
        right = int(re.search(r"predicts (\d+)% of 300 rows", training.judged(model, table, "y", "forest", 0))[1])
        assert 40 <= right <= 60

    def test_few_rows_tell_little(self):
        table = pd.DataFrame({"a": np.arange(149.0), "y": ["low"] * 75 + ["high"] * 74})
        assert judged(table, "boosting") == ""
        assert judged(table[60:89], "forest") == ""

    @pytest.mark.parametrize(("kind", "rows"), [("logistic", "40 held-out rows"), ("forest", "200 rows, each by the")])
    def test_noise_explains_nothing(self, kind, rows):
        random = np.random.default_rng(0)
        table = pd.DataFrame({"a": random.normal(size=200), "y": random.normal(size=200)})
        assert re.search(rf"explains -\d+% of the variance of the {rows}|explains 0% .*{rows}", judged(table, kind))

    def test_a_table_that_is_too_small(self):
        assert judged(pd.DataFrame({"a": [1.0, 2.0], "y": ["p", "q"]}), "forest") == ""

    def test_a_class_that_is_rare(self):
        table = pd.DataFrame({"a": np.arange(30.0), "y": ["p"] * 29 + ["q"]})
        assert isinstance(judged(table, "boosting"), str)
        assert isinstance(judged(table, "forest"), str)


def judged(table, kind):
    return training.judged(training.train(table, "y", kind, 0).model, table, "y", kind, 0)


@pytest.mark.parametrize("unknown", ["ignore", "error"])
def test_a_level_that_the_reference_data_lack(command, csv, tmp_path, out, table, unknown):
    usual = table[["first", "level"]].fillna("none")
    usual.assign(y=table["y"]).to_csv(csv, index=False)
    rows = usual.head(4).assign(level=["red", "violet", "green", "blue"])
    rows.to_csv(tmp_path / "rows.csv", index=False)
    coded = ColumnTransformer([("level", OneHotEncoder(handle_unknown=unknown), ["level"])], remainder="passthrough")
    model = make_pipeline(coded, LogisticRegression()).fit(usual, table["y"])
    joblib.dump(model, tmp_path / "model.joblib")
    files = ("--reference", csv, "--target", "y", "--data", tmp_path / "rows.csv", "--model", tmp_path / "model.joblib")
    options = ("report", *files, "--unsafe-pickle", "--out", out)
    status, _, err = command(*options)
    assert status == 0, err
    assert "violet" in err
    found = read(out)["rows"]
    others = [one["kind"] for at in (0, 2, 3) for one in found[at]["counterfactuals"]]
    assert others == list(xcid.Explainer(model, usual).counterfactuals(rows.iloc[[0, 2, 3]]).kind)
    if unknown == "ignore":
        changes = [change for one in found[1]["counterfactuals"] for change in one["changes"]]
        assert {before for name, before, *_ in changes if name == "level"} == {"violet"}
    status, _, err = command(*options, "--redact")
    assert status == 0, err
    assert "violet" not in err
    assert ("1 of 4 rows do not have the status ok (unseen_value: 1)\n" in err) == (unknown == "error")


def test_reasons(command, csv, out, tmp_path):
    texts = tmp_path / "texts.json"
    texts.write_text('{"first": "The first is {value}"}', encoding="utf-8")
    typed = ("report", "--background", csv, "--target", "y", "--train", "logistic", "--rows", "0:4", "--out", out)
    status, _, err = command(*typed, "--reasons", "1", "--texts", texts)
    assert status == 0, err
    said = [row["reasons"] for row in read(out)["rows"]]
    assert sum(one.startswith("Reasons for class ") and ": 1. The first is " in one for one in said) >= 2


class TestRules:
    """Proposed changes obey rules; scores are about all features."""

    typed = ("report", "--target", "y", "--train", "logistic", "--rows", "0:20")

    @pytest.fixture
    def aged(self, table, tmp_path):
        path = tmp_path / "aged.csv"
        table.rename(columns={"first": "age"}).to_csv(path, index=False)
        return path

    def changed(self, data):
        found = (one for row in data["rows"] for one in row["counterfactuals"])
        return {name for one in found for name, *_ in one["changes"]}

    def test_what_people_cannot_change_is_noted(self, command, aged, out):
        _, _, err = command(*self.typed, aged, "--out", out)
        assert re.search(r"age changes in \d+ of \d+ ways: if people cannot change it, add --frozen age", err)
        assert "age" in self.changed(read(out))

    def test_frozen_columns_stay_and_keep_their_scores(self, command, aged, out):
        command(*self.typed, aged, "--out", out)
        before = read(out)
        _, _, err = command(*self.typed, aged, "--frozen", "age", "--out", out)
        after = read(out)
        assert "age" not in self.changed(after)
        assert [row["score"] for row in after["rows"]] == [row["score"] for row in before["rows"]]
        assert "add --frozen" not in err
        assert after["notes"][0] == "Proposed changes obey these rules: age stays."
        command(*self.typed, aged, "--rule", "level != 'green'", "--redact", "--out", out)
        assert "green" not in out.read_text("utf-8")

    def test_the_wanted_output(self, command, aged, out):
        command(*self.typed, aged, "--wanted", "1", "--out", out)
        for row in read(out)["rows"]:
            assert {one["about"] for one in row["counterfactuals"]} == {"class 1"}
            assert (row["counterfactuals"][0]["kind"] == "already there") == (row["counterfactuals"][0]["was"] > 0.5)

    @pytest.mark.parametrize(
        ("more", "message"),
        [
            (("--frozen", "agee"), "frozen names ['agee'] (did you mean 'age'?), which the table does not have"),
            (("--wanted", "2"), "--wanted: the model has no class '2'"),
            (("--rules", "absent.toml"), "absent.toml cannot be found in"),
        ],
        ids=["frozen", "wanted", "rules"],
    )
    def test_mistakes_are_found_before_a_model_is_trained(self, command, aged, out, more, message):
        status, _, err = command(*self.typed, aged, *more, "--out", out)
        assert status == 2
        assert message in err
        assert "trained" not in err
        assert not out.exists()


def test_a_letter_for_each_row(command, csv, tmp_path):
    page = tmp_path / "letters.html"
    given = ["--reference", csv, "--target", "y", "--train", "logistic", "--rows", "0:2", "--quiet", "--out", page]
    status, _, err = command("report", *given, "--letter", "es", "--frozen", "first")
    assert status == 0, err
    text = page.read_text("utf-8")
    assert text.count("<article>") == 2
    assert "Qué lo cambiaría" in text
    texts = page.with_name("texts.json")
    texts.write_text('{"first": "TEXT", "second": "TEXT"}', "utf-8")
    typed = ("--reasons", "3", "--texts", texts, "--against", "1", "--refits", "2")
    status, _, err = command("report", *(one for one in given if one != "--quiet"), "--letter", "de", *typed)
    assert status == 0, err
    assert "training the model again 2 times" in err
    assert command("report", *given, "--letter", "es", "--redact")[0] == 2
    assert command("report", *given, "--letter", "klingon")[0] == 2
