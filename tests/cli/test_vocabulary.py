"""The same words for the same things in every verb: tables, rows, names of rows, models, and what is said of them."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import polars as pl
import pytest

from xcid.errors import InvalidData, InvalidParameter
from xcid.io import suspects
from xcid.io.conditions import rows_where

QUICK = ("--target", "y", "--train", "logistic", "--quiet")


@pytest.fixture
def people(table, tmp_path):
    path = tmp_path / "people.csv"
    named = table.assign(who=[f"{at:04d}" for at in range(len(table))], y=np.where(table["y"] == 1, "yes", "no"))
    named.to_csv(path, index=False)
    return path


def rows_of(out):
    return list(dict.fromkeys(line["row"] for line in json.loads(out)))


class TestTables:
    def test_one_table_by_any_name(self, command, csv):
        ways = [
            (csv,),
            ("--data", csv),
            ("--reference", csv),
            ("--background", csv),
            ("--data", csv, "--reference", csv),
        ]
        found = [command("explain", *way, *QUICK, "--rows", "0:2", "--json") for way in ways]
        assert found[0][0] == 0
        assert all(one == found[0] for one in found)

    def test_a_table_is_enough(self, command, csv):
        status, out, err = command("explain", csv, "--target", "y", "--rows", "0")
        assert status == 0, err
        assert "RandomForestClassifier trained on 90 rows" in err
        assert out.startswith("row 0: predicted ")

    def test_a_kind_of_model_is_no_file(self, command, csv):
        first, second = (
            command("explain", csv, "--target", "y", word, "logistic", "--rows", "1", "--json", "--quiet")
            for word in ("--model", "--train")
        )
        assert first == second


class TestRows:
    @pytest.mark.parametrize(
        ("typed", "rows"),
        [
            ("3,5,9", [3, 5, 9]),
            ("9,3,9", [9, 3]),
            ("0:3,-1", [0, 1, 2, 89]),
            ("-2,-1", [88, 89]),
            ("who == 7", [7]),
            ("first > 1.5", lambda whole: whole["first"] > 1.5),
            (
                "y == 'yes' and level in ['red', 'blue'] and not second < 0",
                lambda whole: (whole["y"] == "yes") & whole["level"].isin(["red", "blue"]) & ~(whole["second"] < 0),
            ),
        ],
    )
    def test_places_and_conditions(self, command, people, typed, rows):
        status, out, err = command("explain", people, *QUICK, "--id", "who", "--json", "--rows", typed)
        assert status == 0, err
        due = np.flatnonzero(rows(pd.read_csv(people))) if callable(rows) else rows
        assert rows_of(out) == [f"{row:04d}" for row in due]

    def test_no_row_meets_it(self, command, csv):
        status, _, err = command("explain", csv, *QUICK, "--rows", "first > 99")
        assert status == 2
        assert "--rows 'first > 99' holds for none of the 90 rows" in err

    def test_a_column_that_is_not_there(self, command, csv):
        status, _, err = command("explain", csv, *QUICK, "--rows", "frist > 0")
        assert status == 2
        assert "there is no column 'frist' (did you mean 'first'?)" in err
        assert "; if frist is a text, put it in quotes\n" in err

    @pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
    def test_missing_cells_meet_no_condition(self, make):
        frame = make({"a": [1.0, None, 3.0], "b": ["x", "y", None]})
        assert rows_where("a != 1", frame) == [2]
        assert rows_where("b != 'x'", frame) == [1]
        assert rows_where("not a > 2", frame) == [0, 1]
        assert rows_where("1 <= a < 3", frame) == [0]
        assert rows_where("a > 2 or b == 'y'", frame) == [1, 2]

    def test_dates_booleans_and_names_with_blanks(self):
        frame = pd.DataFrame({"on": pd.to_datetime(["2024-01-01", "2024-06-01"]), "is it": [True, False], "n": [-1, 1]})
        assert rows_where("on >= '2024-03-01'", frame) == [1]
        assert rows_where("not `is it`", frame) == [1]
        assert rows_where("n == -1 and `is it`", frame) == [0]

    @pytest.mark.parametrize(
        "text",
        [
            "__import__('os').system('true')",
            "a.b > 1",
            "a[0] > 1",
            "a > 1 if b else c",
            "a + 1",
            "a > [1] * 9",
            "a in []",
            "a in 5",
            "~a > 1",
            "a > 1j",
            "a > None",
            f"a > 1{'0' * 400}",
            "a",
            "a = 1",
            "(" * 999,
        ],
    )
    def test_nothing_but_conditions(self, text):
        with pytest.raises(InvalidParameter, match="does not select rows"):
            rows_where(text, pd.DataFrame({"a": [1]}))

    @pytest.mark.parametrize("text", ["1 < 2", "'%999999999d' % 5 == a"])
    def test_things_that_cannot_be_compared_or_calculated(self, text):
        with pytest.raises((InvalidData, InvalidParameter), match=r"does not fit the table|needs a column|cannot calc"):
            rows_where(text, pd.DataFrame({"a": [1, 2]}))

    def test_arithmetic(self):
        frame = pd.DataFrame({"height": [1.9, 1.6, None], "weight": [70, 90, 80]})
        assert rows_where("weight / height ** 2 > 25 and weight > 9 ** 2", frame) == [1]

    def test_long_numbers_are_kept_to_the_last_digit(self):
        assert rows_where("a == 9007199254740993", pd.DataFrame({"a": [2**53, 2**53 + 1]})) == [1]


class TestNamesOfRows:
    def test_everywhere(self, command, people, tmp_path):
        options = (people, *QUICK, "--id", "who", "--rows", "3:5")
        status, out, err = command("explain", *options)
        assert status == 0, err
        assert out.startswith("row 0003: predicted ")
        assert "who" not in out
        assert command("explain", *options, "--out", tmp_path / "a.parquet")[0] == 0
        run = ("--run", tmp_path / "run", "--out", tmp_path / "b.parquet")
        assert command("explain", *options, *run)[0] == 0
        first, second = (pd.read_parquet(tmp_path / f"{name}.parquet") for name in "ab")
        assert first.equals(second)
        assert set(first["row"]) == {"0003", "0004"}
        assert command("report", *options, "--out", tmp_path / "r.html")[0] == 0
        assert '"name":"0003"' in (tmp_path / "r.html").read_text("utf-8").replace(" ", "")

    @pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
    def test_numbers_that_name_rows(self, command, csv, table, tmp_path, suffix):
        named = table.head(5).assign(key=[7, 8, 9, None, 11])
        path = tmp_path / f"rows{suffix}"
        named.to_parquet(path) if suffix == ".parquet" else named.to_json(path, orient="records", lines=True)
        status, out, err = command("explain", "--reference", csv, "--data", path, *QUICK, "--id", "key", "--json")
        assert status == 0, err
        assert rows_of(out) == ["7", "8", "9", "row 3", "11"]

    def test_a_table_without_them(self, command, csv):
        status, _, err = command("explain", csv, *QUICK, "--id", "who")
        assert status == 2
        assert "has no column 'who' to name its rows by; its columns are ['first', 'second', 'level', 'y']" in err


class TestWhatIsSaid:
    def test_of_a_model_that_is_trained(self, command, people):
        status, _, err = command("explain", people, "--target", "y", "--train", "logistic", "--rows", "0")
        assert status == 0
        assert "held-out" not in err  # there are 18, and a share of so few says little
        assert "the rows to explain are among those that it was trained on" in err

    @pytest.mark.parametrize("run", [(), ("--run", "folder")])
    def test_names_of_classes(self, command, csv, tmp_path, monkeypatch, run):
        monkeypatch.chdir(tmp_path)
        options = ("explain", csv, *QUICK, "--rows", "0:2", "--class-names", "no, yes")
        out = command(*options, "--out", tmp_path / "s.parquet", *run)
        assert out[0] == 0
        if not run:
            assert "predicted no (" in out[1]
            assert "predicted no (" in command(*options)[1]
        status, _, err = command(*options[:-1], "one,two,three")
        assert status == 2
        assert "class_names" in err

    def test_a_sample_where_nothing_keeps_the_rest(self, command, csv, monkeypatch, tmp_path):
        monkeypatch.setattr("xcid.cli.explain.ROWS_OF_A_SAMPLE", 5)
        options = ("explain", csv, "--target", "y", "--train", "logistic")
        assert "taking 5 of 90 rows, drawn at random; use --rows : for all" in command(*options)[2]
        for more in (("--rows", ":"), ("--out", tmp_path / "s.csv"), ("--json",)):
            assert "90 of 90 rows, " in command(*options, *more)[2]

    def test_columns_that_name_rows(self, command, table, tmp_path):
        table.assign(customer=[f"C{at}" for at in range(len(table))]).to_csv(tmp_path / "t.csv", index=False)
        options = ("explain", tmp_path / "t.csv", "--target", "y", "--train", "logistic", "--rows", "0")
        said = "column 'customer' looks like an identifier"
        assert said in command(*options)[2]
        assert said not in command(*options, "--id", "customer")[2]

    def test_columns_that_give_the_target_away(self, command, table, tmp_path):
        table.assign(outcome=np.where(table["y"] == 1, "paid", "not paid")).to_csv(tmp_path / "t.csv", index=False)
        _, _, err = command("explain", tmp_path / "t.csv", "--target", "y", "--train", "logistic", "--rows", "0")
        assert "column 'outcome' alone predicts 'y' for 100% of the rows: if it becomes known only with 'y'" in err
        assert err.count("alone") == 1


class TestSuspects:
    @pytest.mark.parametrize(
        ("name", "cells", "is_one"),
        [
            ("anything", list(range(100, 200)), True),  # a row number
            ("customer_id", [7 * (at % 70) ** 2 for at in range(100)], True),
            ("userId", [f"u{at}" for at in range(100)], True),
            ("paid", [at % 2 for at in range(100)], False),
            ("income", np.random.default_rng(0).permutation(9_999)[:100].tolist(), False),
            ("size", np.random.default_rng(0).normal(size=100).tolist(), False),
            ("job", ["clerk", "nurse"] * 50, False),
        ],
    )
    def test_identifiers(self, name, cells, is_one):
        frame = pd.DataFrame({name: cells, "y": np.random.default_rng(1).choice(["p", "q"], 100)})
        assert ["identifier" in said for said in suspects.notes(frame, "y")] == [True] * is_one

    @pytest.mark.parametrize("noise", [0.0, 0.5])
    def test_a_number_that_is_the_target(self, noise):
        random = np.random.default_rng(0)
        y = random.normal(size=200)
        frame = pd.DataFrame({"copy": 3 * y + noise * random.normal(size=200), "y": y})
        assert [said.split(":")[0] for said in suspects.notes(frame, "y")] == (
            ["column 'copy' alone predicts 'y' almost exactly (rank correlation 1.000)"] if noise == 0 else []
        )

    def test_a_strong_feature_is_no_leak(self):
        random = np.random.default_rng(0)
        a = random.normal(size=400)
        frame = pd.DataFrame({"a": a, "y": np.where(a + 0.2 * random.normal(size=400) > 0, "p", "q")})
        assert list(suspects.notes(frame, "y")) == []
