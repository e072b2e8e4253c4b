"""``xcid whatif``: ways to another output in blocks, files and JSON; actions; rules; mistakes in one line."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from skops import io as sio

import xcid
from xcid.io import training
from xcid.whatif.record import FAILED

QUICK = ("--train", "logistic", "--quiet")
COLUMNS = ["row", "kind", "changes", "n_changes", "distance", "output", "was", "about", "plausibility", "likeness"]
COLUMNS += ["proof", "bound", "survival", "contrary", "way_unknown", "among"]


@pytest.fixture
def loans(tmp_path):
    random = np.random.default_rng(2)
    table = pd.DataFrame({
        "age": random.integers(18, 80, 200),
        "months": random.integers(0, 200, 200),
        "income": random.normal(3000, 800, 200).round(2),
        "sum": random.normal(size=200).round(3),
        "degree": random.choice(["none", "bachelor", "master"], 200),
        "who": [f"P{at:03d}" for at in range(200)],
    })  # fmt: skip
    worth = table["income"] / 800 + table["months"] / 60 + (table["degree"] == "master")
    table["y"] = np.where(worth > np.median(worth), "good", "bad")
    table["three"] = np.array(["low", "middle", "high"])[np.digitize(worth, np.quantile(worth, [1 / 3, 2 / 3]))]
    table["price"] = (100 * worth).round(2)
    path = tmp_path / "loans.csv"
    table.to_csv(path, index=False)
    return path


def typed(loans, target, *more):
    """A command about one of the targets: the others are left out."""
    table = pd.read_csv(loans)
    path = loans.with_name(f"{target}.csv")
    table.drop(columns=[name for name in ("y", "three", "price") if name != target]).to_csv(path, index=False)
    return ("whatif", path, "--target", target, "--id", "who", *more)


class TestBlocks:
    def test_classes(self, command, loans):
        status, out, err = command(*typed(loans, "y", "--wanted", "good", "--rows", "0:30", *QUICK))
        assert status == 0, err
        assert err == ""
        blocks = out.split("row P")[1:]
        assert len(blocks) == 10
        assert "and 20 more rows: --out FILE keeps all of them" in blocks[-1]
        assert any(block.rstrip().endswith("which is what is wanted") for block in blocks)
        refused = next(block for block in blocks if "wanted: good" in block)
        assert "predicted bad (0." in refused
        assert " sparsest" in refused
        assert ": good 0." in refused
        assert "like real rows" in refused
        assert " -> " in refused.splitlines()[2]

    def test_they_are_those_of_the_explainer(self, command, loans):
        status, out, _ = command(*typed(loans, "y", "--wanted", "good", "--rows", "0:30", "--json", *QUICK))
        assert status == 0
        table = pd.read_csv(loans)
        names = ["age", "months", "income", "sum", "degree"]
        model = training.train(table[[*names, "y"]], "y", "logistic", 0).model
        due = xcid.Explainer(model, table[names]).counterfactuals(table[names].iloc[:30], "good")
        found = pd.DataFrame(json.loads(out))
        assert list(found.columns) == COLUMNS
        assert found["changes"].tolist() == due.to_frame()["changes"].tolist()
        assert found["row"].tolist() == [f"P{row:03d}" for row in due.row]
        assert np.allclose(found["distance"], due.distance)

    def test_several_classes(self, command, loans):
        status, out, err = command(*typed(loans, "three", "--wanted", "high", "--rows", "0:4", *QUICK))
        assert status == 0, err
        assert "wanted: high" in out
        status, out, _ = command(*typed(loans, "three", "--rows", "0:4", *QUICK))
        assert "wanted: another class" in out

    @pytest.mark.parametrize(
        ("wanted", "said"),
        [
            (("--wanted", "raise"), "wanted: at least a tenth more"),
            (("--wanted", "lower"), "wanted: at least a tenth less"),
            (("--wanted", "900:1000"), "wanted: 900 to 1000"),
            (("--wanted", "900:"), "wanted: at least 900"),
            (("--wanted", ":200"), "wanted: at most 200"),
            ((), "wanted: another output"),
        ],
    )
    def test_numbers(self, command, loans, wanted, said):
        status, out, err = command(*typed(loans, "price", *wanted, "--rows", "0:3", *QUICK))
        assert status == 0, err
        assert said in out

    def test_what_cannot_be_reached_shows_the_best(self, command, loans):
        status, out, _ = command(*typed(loans, "price", "--wanted", "99999:", "--rows", "0", *QUICK))
        assert status == 0
        assert "proved: there is none within the rules; the best that was found: " in out
        assert " -> " in out.splitlines()[2]

    def test_ten_rows_and_what_is_noted(self, command, loans):
        status, out, err = command(*typed(loans, "y", "--train", "logistic"))
        assert status == 0
        assert out.count("row P") == 10
        assert "taking 10 of 200 rows, drawn at random" in err
        _, _, err = command(*typed(loans, "y", "--train", "logistic", "--rule", "age > 90 or months > 60"))
        assert "rows break the rule 'age > 90 or months > 60' themselves" in err

    def test_columns_that_people_cannot_change_are_noted(self, command, loans):
        table = pd.read_csv(loans).assign(y=lambda frame: np.where(frame["age"] > 50, "good", "bad"))
        table.to_csv(loans, index=False)
        _, out, err = command(*typed(loans, "y", "--train", "logistic", "--rows", "0:5"))
        assert "age  " in out
        assert "if people cannot change it, add --frozen age" in err
        _, out, err = command(*typed(loans, "y", "--train", "logistic", "--rows", "0:5", "--frozen", "age"))
        assert "age  " not in out
        assert "add --frozen" not in err

    def test_of_several_such_columns_there_is_one_note(self, command, loans):
        table = pd.read_csv(loans).rename(columns={"months": "birth"})
        table = table.assign(y=lambda frame: np.where(frame["age"] + frame["birth"] / 12 > 55, "good", "bad"))
        table.to_csv(loans, index=False)
        typed_ = typed(loans, "y", "--train", "logistic", "--rows", "0:20")
        _, _, err = command(*typed_)
        (note,) = (line for line in err.splitlines() if "people cannot change" in line)
        assert note.endswith("if people cannot change them, add --frozen age,birth")
        _, out, err = command(*typed_, "--actions", "2")
        assert "xcid.Constraints" not in out + err
        assert err.count("add --frozen") == 1

    def test_a_level_that_the_reference_data_do_not_have(self, command, loans, tmp_path):
        rows = pd.read_csv(loans).drop(columns=["three", "price"]).head(3).assign(degree=["doctor", "none", "master"])
        rows.to_csv(tmp_path / "rows.csv", index=False)
        first = typed(loans, "y", "--data", tmp_path / "rows.csv", "--wanted", "good", *QUICK)
        status, out, err = command("whatif", "--reference", *first[1:])
        assert status == 0, err
        assert out.count("row P") == 3


class TestFiles:
    @pytest.mark.parametrize(
        ("suffix", "read"),
        [(".csv", pd.read_csv), (".parquet", pd.read_parquet), (".json", pd.read_json), (".jsonl", None)],
    )
    def test_every_way_is_there(self, command, loans, tmp_path, suffix, read):
        out = tmp_path / f"ways{suffix}"
        status, printed, err = command(*typed(loans, "y", "--out", out, "-k", "2", *QUICK))
        assert status == 0, err
        found = pd.read_json(out, lines=True) if read is None else read(out)
        assert list(found.columns) == COLUMNS
        assert found["row"].nunique() == 200
        assert found.groupby("row").size().max() == 2
        assert f"and 190 more rows: all of them are in {out}" in printed

    def test_actions(self, command, loans, tmp_path):
        given = typed(loans, "y", "--wanted", "good", "--actions", "2", "--rows", "0:80")
        status, out, err = command(*given, *QUICK)
        assert status == 0, err
        lines = out.splitlines()
        assert lines[0].startswith("wanted: good; ")
        assert lines[1].split() == ["action", "flips", "cost", "covered"]
        assert len(lines) == 5
        assert lines[4].startswith("covered: ")
        _, printed, _ = command(*given, *QUICK, "--json")
        assert [line["action"] for line in json.loads(printed)] == [line.split("  ")[0] for line in lines[2:4]]
        assert command(*given, *QUICK, "--out", tmp_path / "actions.csv")[0] == 0
        assert pd.read_csv(tmp_path / "actions.csv")["n_flipped"].min() > 0

    def test_refits_tell_how_likely_a_way_lasts(self, command, loans, tmp_path):
        given = (*typed(loans, "y", "--rows", "0:6", "--wanted", "good", "--refits", "5"), *QUICK)
        _, printed, _ = command(*given)
        assert "% likely to last" in printed
        assert command(*given, "--out", tmp_path / "ways.csv")[0] == 0
        survival = pd.read_csv(tmp_path / "ways.csv")["survival"].dropna()
        assert survival.between(0, 1).all()
        assert len({*survival.round(3)}) > 2
        status, _, err = command(*given, "--actions", "2")
        assert status == 2
        assert "leave out --actions" in err

    def test_a_model_in_a_file(self, command, loans, tmp_path):
        skops = pytest.importorskip("skops.io")
        table = pd.read_csv(loans)[["months", "income", "y"]]
        table.to_csv(tmp_path / "plain.csv", index=False)
        skops.dump(LogisticRegression(max_iter=1000).fit(table[["months", "income"]], table["y"]), tmp_path / "m.skops")
        given = ("whatif", tmp_path / "plain.csv", "--target", "y", "--model", tmp_path / "m.skops", "--rows", "0:3")
        status, out, err = command(*given, "--wanted", "good", "--quiet")
        assert status == 0, err
        assert "row 0: predicted " in out
        assert out.count("was not measured: add --refits 20") == 1 < out.count("like real rows")
        again = command(*given, "--wanted", "good", "--refits", "3")[1]
        assert "% likely to last" in again
        assert "not measured" not in again
        status, _, err = command(*given, "--wanted", "goood", "--quiet")
        assert status == 2
        assert "did you mean 'good'?" in err


class TestRules:
    def test_a_file_and_what_is_typed_hold_together(self, command, loans, tmp_path):
        rules = tmp_path / "rules.toml"
        rules.write_text(
            'frozen = ["age"]\nrelations = ["months <= 12 * (age - 16)"]\n'
            '[monotone]\nincome = "up"\n[steps]\nincome = 500\n[ranges]\nmonths = [0, 150]\n'
            '[transitions]\ndegree = ["none", "bachelor", "master"]\n[costs]\ndegree = 3\n',
            encoding="utf-8",
        )
        more = ("--rules", rules, "--frozen", "sum", "--rule", "income < 5000", "--rows", "0:60", "--json")
        status, out, err = command(*typed(loans, "y", "--wanted", "good", *more, *QUICK))
        assert status == 0, err
        changes = [line["changes"] for line in json.loads(out) if line["kind"] not in ("already there", "not reached")]
        assert len(changes) > 10
        for said in changes:
            for change in said.split(", "):
                name, old, _, new = change.split(" ")
                assert name not in ("age", "sum")
                if name == "income":
                    assert float(new) > float(old)
                    assert float(new) % 500 == 0
                    assert float(new) < 5000
                if name == "degree":
                    order = ["none", "bachelor", "master"]
                    assert order.index(new) > order.index(old)

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            (
                'frozn = ["age"]',
                "there is no rule 'frozn' (did you mean 'frozen'?); the rules are frozen, ranges, levels",
            ),
            ('frozen = "age"', "rules.toml: frozen must be a list of names"),
            ('[monotone]\nage = "sideways"', "must be 'rises' or 'falls'"),
            ('[steps]\nage = "two"', "steps['age'] must be a number"),
            ('frozen = ["agee"]', "frozen names ['agee'] (did you mean 'age'?), which the table does not have"),
            ("[ranges]\naeg = [1, 2]", "ranges names ['aeg'], which the table does not have"),
            ("frozen = [", "rules.toml cannot be read"),
        ],
    )
    def test_mistakes_in_a_file(self, command, loans, tmp_path, monkeypatch, content, said):
        monkeypatch.setattr(training, "train", lambda *what: pytest.fail("trained"))
        path = tmp_path / "rules.toml"
        path.write_text(content, encoding="utf-8")
        status, _, err = command(*typed(loans, "y", "--rules", path))
        assert status == 2
        assert said in " ".join(err.split())


@pytest.mark.parametrize(
    ("target", "more", "said"),
    [
        (
            "y",
            ("--wanted", "godo"),
            "the model has no class 'godo' (did you mean 'good'?); its classes are ['bad', 'good']",
        ),
        ("y", ("--wanted", "raise"), "the model has no class 'raise'"),
        ("y", ("--wanted", "good=0.9"), "--wanted good=0.9: a probability is written good:0.9, between 0 and 1"),
        ("y", ("--wanted", "good:90"), "--wanted good:90: a probability is written good:0.9, between 0 and 1"),
        ("price", ("--wanted", "good"), "give raise, lower, or a range such as 100:200 or 100:"),
        ("price", ("--wanted", "200:100"), "low must lie below high"),
        ("y", ("--frozen", "agee"), "frozen names ['agee'] (did you mean 'age'?), which the table does not have"),
        ("y", ("--rule", "age <"), "age <"),
        ("y", ("--rule", "agee < 3"), "agee"),
        ("y", ("--rules", "rules.json"), "rules are in a .toml file"),
        ("y", ("--rules", "nowhere.toml"), "nowhere.toml cannot be found in"),
        ("y", ("--out", "ways.txt"), "the extensions are .csv"),
        ("y", ("-k", "0"), "a whole number of at least 1"),
        ("y", ("--actions", "0"), "a whole number of at least 1"),
        ("y", ("--out", "a.csv", "--json"), "not allowed with"),
    ],
)
def test_mistakes_are_found_before_a_model_is_trained(command, loans, monkeypatch, target, more, said):
    monkeypatch.setattr(training, "train", lambda *what: pytest.fail("trained"))
    status, _, err = command(*typed(loans, target, *more))
    assert status == 2
    assert said in " ".join(err.split())


class TestUnseenLevels:
    @pytest.fixture
    def strict(self, loans, tmp_path):
        """A model that refuses levels it has not seen, and 300 rows of which it refuses the last."""
        table = pd.read_csv(loans)[["age", "months", "degree", "y"]]
        encoder = ColumnTransformer([("degree", OneHotEncoder(), ["degree"])], remainder="passthrough")
        model = make_pipeline(encoder, LogisticRegression(max_iter=1000)).fit(table.drop(columns="y"), table["y"])
        sio.dump(model, tmp_path / "strict.skops")
        table.to_csv(tmp_path / "reference.csv", index=False)
        rows = pd.concat([table, table.iloc[:100]], ignore_index=True)
        rows.loc[256:, "degree"] = ["doctor", "diploma"] * 22
        rows.to_csv(tmp_path / "rows.csv", index=False)
        return ("whatif", "--reference", tmp_path / "reference.csv", "--data", tmp_path / "rows.csv", "--target", "y",
                "--model", tmp_path / "strict.skops", "--quiet")  # fmt: skip

    def test_a_piece_that_fails_as_a_whole_does_not_end_the_others(self, command, strict):
        status, out, err = command(*strict, "--json")
        assert status == 0, err
        kinds = pd.DataFrame(json.loads(out)).groupby("row")["kind"].first()
        assert (kinds == FAILED).tolist() == [False] * 256 + [True] * 44

    def test_rules_about_their_column(self, command, strict):
        rule = ("--rule", "degree == 'doctor' or age > 20")
        status, out, err = command(*strict, "--rows", "250:260", *rule, "--json")
        assert status == 0, err
        assert len({line["row"] for line in json.loads(out)}) == 10

    def test_a_group_of_nothing_else(self, command, strict):
        status, _, err = command(*strict, "--rows", "256:", "--actions", "2")
        assert status == 2
        assert "none of the rows can be searched" in err
