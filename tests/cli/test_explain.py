"""``xcid explain``: the same scores as the library, in every format, or a clear line."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import xcid
from xcid._check import warn
from xcid.cid.densities.bandwidths import SHAPES
from xcid.cli import _wanted, explain
from xcid.errors import ModelError
from xcid.io import tables, training, trial
from xcid.io.writers import original
from xcid.show.reasons import Reasons

READ = {
    ".csv": lambda path: pd.read_csv(path, keep_default_na=False, na_values=[""]),
    ".parquet": pd.read_parquet,
    ".feather": pd.read_feather,
    ".arrow": pd.read_feather,
    ".json": lambda path: pd.DataFrame(json.loads(path.read_text(encoding="utf-8"))),
    ".jsonl": lambda path: pd.DataFrame([json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]),
}
each_format = pytest.mark.parametrize("suffix", READ)


@pytest.fixture
def options(csv):
    return ("explain", "--background", csv, "--target", "y", "--train", "logistic")


def expected(csv, rows, make=xcid.Explainer):
    table = pd.read_csv(csv)
    model = training.train(table, "y", "logistic", 0).model
    background = table.drop(columns="y")
    return make(model, background)(background.iloc[rows])


@each_format
def test_the_same_scores_in_every_format(command, options, csv, tmp_path, suffix):
    out = tmp_path / f"scores{suffix}"
    status, printed, err = command(*options, "--rows", "2:7", "--out", out)
    assert status == 0
    found = READ[suffix](out)
    due = expected(csv, slice(2, 7)).to_frame()
    assert list(found.columns) == list(due.columns)
    assert found["row"].tolist() == due["row"].tolist() == np.repeat(np.arange(2, 7), 3).tolist()
    assert found["feature"].tolist() == due["feature"].tolist()
    assert found["shown"].astype(str).tolist() == due["shown"].tolist()
    assert np.allclose(found["value"], due["value"], atol=1e-9)
    assert np.allclose(found["p_value"], due["p_value"], atol=1e-9)
    assert "and 2 more rows: all of them are in" in printed
    assert "5 of 5 rows" in err
    assert "LogisticRegression trained on 90 rows for 2 classes of 'y'" in err


def test_pieces_make_no_difference(command, options, tmp_path, monkeypatch):
    for size in (64, 7):
        monkeypatch.setattr(explain, "ROWS_AT_A_TIME", size)
        assert command(*options, "--rows", ":20", "--out", tmp_path / f"{size}.parquet")[0] == 0
    whole, pieces = (pd.read_parquet(tmp_path / f"{size}.parquet") for size in (64, 7))
    assert np.allclose(whole["value"], pieces["value"], atol=1e-9)
    assert whole["row"].tolist() == pieces["row"].tolist()


def test_json_on_stdout(command, options):
    status, out, err = command(*options, "--rows", "3", "--json", "--quiet")
    assert (status, err) == (0, "")
    lines = json.loads(out, parse_constant=pytest.fail)
    assert [line["feature"] for line in lines] == ["first", "second", "level"]
    assert lines[1]["data"] is None  # a missing cell is no NaN, which is not JSON
    assert lines[1]["shown"] == "missing"


def test_quiet(command, options):
    status, out, err = command(*options, "--rows", "0", "--quiet")
    assert (status, err) == (0, "")
    assert "█" in out


def test_paper(command, options, csv, tmp_path):
    assert command(*options, "--rows", ":2", "--paper", "--out", tmp_path / "s.csv")[0] == 0
    found = pd.read_csv(tmp_path / "s.csv")
    due = expected(csv, slice(0, 2), xcid.Explainer.paper)
    assert np.allclose(found["value"], due.values.ravel(), atol=1e-9)
    assert "p_value" not in found


def test_cid_with_its_settings(command, options, csv, tmp_path):
    settings = {"m": 20, "repeats": 2, "kernel": "epanechnikov", "generator": "genetic"}
    typed = [part for name, value in settings.items() for part in (f"--{name}", value)]
    assert command(*options, "--rows", ":2", "--method", "cid", *typed, "--out", tmp_path / "s.csv")[0] == 0
    due = expected(csv, slice(0, 2), partial(xcid.CID, **settings))
    assert np.allclose(pd.read_csv(tmp_path / "s.csv")["value"], due.values.ravel(), atol=1e-9)


@pytest.mark.parametrize("kind", ["logistic", "network"])
def test_contributions_alone(command, options, csv, tmp_path, kind):
    typed, out = (*options[:-1], kind, "--rows", "2:7", "--out", tmp_path / "scores.parquet"), tmp_path / "run.parquet"
    status, printed, _ = command(*typed, "--only", "contributions")
    assert status == 0
    assert "importance" not in printed
    found = pd.read_parquet(tmp_path / "scores.parquet")
    table = pd.read_csv(csv)
    background = table.drop(columns="y")
    explainer = xcid.Explainer(training.train(table, "y", kind, 0).model, background)
    due = explainer.contributions(background.iloc[2:7]).to_frame()
    assert np.allclose(found["value"], due["value"], atol=1e-9)
    assert found["importance"].isna().all()
    assert np.array_equal(found["n_evaluations"] == 1, found["exact"])
    assert set(found["exact"]) == {kind == "logistic"}
    assert set(found["status"]) == {"ok"}
    assert command(*typed[:-1], out, "--only", "contributions", "--run", tmp_path / "folder")[0] == 0
    assert np.allclose(pd.read_parquet(out)["value"], due["value"], atol=1e-9)
    status, _, err = command(*typed[:-1], out, "--run", tmp_path / "folder")  # another question than what is kept
    assert status == 2
    assert "only" in err


def test_contributions_alone_are_not_the_paper(command, options):
    status, _, err = command(*options, "--only", "contributions", "--method", "cid")
    assert status == 2
    assert "leave out --only" in err


def test_settings_of_cid_need_it(command, options):
    status, _, err = command(*options, "--m", "20", "--kernel", "cosine")
    assert status == 2
    assert "--m and --kernel needs --method cid" in err


def test_kernels_are_all_that_there_are():
    assert set(_wanted.KERNELS) == set(SHAPES)


def test_seed(command, options):
    first, second, again = (command(*options, "--rows", "0", "--json", "--seed", seed)[1] for seed in (1, 2, 1))
    assert first == again
    assert first != second


@pytest.mark.parametrize(
    ("typed", "rows"),
    [(["0:3"], [0, 1, 2]), (["5"], [5]), ([":2"], [0, 1]), (["-2:"], [88, 89]), (["-1"], [89]), (["0:9:4"], [0, 4, 8])],
)
def test_rows(command, options, typed, rows):
    status, out, _ = command(*options, "--rows", *typed, "--json")
    assert status == 0
    assert sorted({line["row"] for line in json.loads(out)}) == rows


@pytest.mark.parametrize("typed", ["90", "90:", "5:5", "-200", "200:300"])
def test_rows_that_are_not_there(command, options, typed):
    status, _, err = command(*options, "--rows", typed)
    assert status == 2
    assert "selects none of the 90 rows" in err


@pytest.mark.parametrize("kind", ["logistic", "forest", "boosting", "network"])
def test_every_model(command, csv, kind, table):
    rows = ("--rows", "0:3", "--json", "--quiet")
    status, out, err = command("explain", "--background", csv, "--target", "y", "--train", kind, *rows)
    assert status == 0, err
    scores = pd.DataFrame(json.loads(out))
    strongest = scores.loc[scores.groupby("row")["value"].apply(lambda one: one.abs().idxmax())]
    assert (strongest["feature"] == "first").sum() >= 2


def test_regression(command, tmp_path, table):
    table.assign(y=2 * table["first"]).to_csv(tmp_path / "t.csv", index=False)
    status, out, err = command(
        "explain", "--background", tmp_path / "t.csv", "--target", "y", "--train", "logistic", "--rows", "0"
    )
    assert status == 0
    assert "Ridge trained on 90 rows for the number 'y'" in err
    lines = out.splitlines()
    assert lines[2].strip().startswith("exact contributions in the output: from ")
    assert lines[4].split()[0] == "first"


def test_classes_of_text_dates_and_booleans(command, tmp_path, table):
    rich = table.assign(
        y=np.where(table["first"] > 0, "high", "low"),
        when=pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(90), "D"),
        flag=np.arange(90) % 2 == 0,
    )
    rich.loc[4, "when"] = pd.NaT
    rich.to_parquet(tmp_path / "t.parquet")
    arguments = ("--background", tmp_path / "t.parquet", "--target", "y", "--train", "boosting", "--rows", "3:6")
    status, out, err = command("explain", *arguments)
    assert status == 0, err
    assert "predicted high" in out or "predicted low" in out
    assert "2020-01-04" in out


def test_the_data_may_have_the_target_or_not(command, options, table, tmp_path):
    table.head(4).to_parquet(tmp_path / "with.parquet")
    table.head(4).drop(columns="y").to_parquet(tmp_path / "without.parquet")
    outputs = [command(*options, "--data", tmp_path / f"{name}.parquet", "--json") for name in ("with", "without")]
    assert outputs[0][0] == 0
    assert outputs[0][1] == outputs[1][1]


@pytest.fixture
def weighted(tmp_path, table):
    path = tmp_path / "weighted.csv"
    table.assign(w=np.arange(len(table)) % 4).to_csv(path, index=False)
    return path


@pytest.mark.parametrize("data", ["train.csv", "weighted.csv"])
def test_weights_of_a_column(command, csv, weighted, table, tmp_path, data):
    """The rows to explain may have that column or not; the model is trained on all rows, without it."""
    out = tmp_path / "scores.csv"
    options = ("explain", "--background", weighted, "--target", "y", "--weights", "w", "--train", "logistic")
    status, _, err = command(*options, "--data", tmp_path / data, "--rows", "6:9", "--out", out)
    assert status == 0, err
    known = pd.read_csv(csv)
    model = training.train(known, "y", "logistic", 0).model
    features = known.drop(columns="y")
    due = xcid.Explainer(model, features, weights=np.arange(len(table)) % 4)(features.iloc[6:9]).to_frame()
    assert np.allclose(pd.read_csv(out)["value"], due["value"], atol=1e-9)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("z", "there is no weights column 'z'"),
        ("y", "both the weights and the target"),
        ("level", "one number for each of the 90 reference rows"),
        ("second", "finite numbers from 0 up"),
    ],
)
def test_weights_that_are_none(command, options, column, message):
    status, _, err = command(*options, "--weights", column)
    assert status == 2
    assert message in err


@pytest.mark.parametrize("backend", ["polars", "pyarrow"])
def test_other_libraries_of_frames(command, csv, options, tmp_path, monkeypatch, backend):
    due = expected(csv, slice(2, 5))
    monkeypatch.setattr(tables, "library", lambda: backend)
    monkeypatch.setattr(explain, "ROWS_AT_A_TIME", 2)
    status, out, err = command(*options, "--rows", "2:5", "--json")
    assert status == 0, err
    assert [line["row"] for line in json.loads(out)] == np.repeat([2, 3, 4], 3).tolist()
    assert np.allclose([line["value"] for line in json.loads(out)], due.values.ravel(), atol=1e-6)


ODD = ["a b", 'x,"y"', "ünï", "</script>", "=1+1", "two\nlines", "\x1b[31mred"]


@each_format
def test_odd_names(command, tmp_path, suffix):
    random = np.random.default_rng(0)
    odd = pd.DataFrame(random.normal(size=(60, len(ODD))), columns=ODD)
    odd.assign(**{"the target!": odd["a b"] > 0}).to_csv(tmp_path / "odd.csv", index=False)
    out = tmp_path / f"odd scores{suffix}"
    arguments = ("--background", tmp_path / "odd.csv", "--target", "the target!", "--train", "forest", "--rows", "0:2")
    status, printed, err = command("explain", *arguments, "--out", out)
    assert status == 0, err
    found = READ[suffix](out)["feature"].tolist()
    assert (list(map(original, found)) if suffix == ".csv" else found) == ODD * 2
    assert "\x1b" not in printed


class TestFailures:
    def test_no_target_column(self, command, csv):
        status, _, err = command("explain", "--background", csv, "--target", "z", "--train", "forest")
        assert status == 2
        assert "no target column 'z'; the columns are ['first', 'second', 'level', 'y']" in err

    def test_unknown_columns(self, command, options, table, tmp_path):
        table.rename(columns={"second": "other"}).to_csv(tmp_path / "rows.csv", index=False)
        status, _, err = command(*options, "--data", tmp_path / "rows.csv")
        assert status == 2
        assert "missing ['second'], unknown ['other']" in err

    @pytest.mark.parametrize(
        ("target", "message"),
        [
            (1, "has the one value"),
            (None, "no row of "),
            (
                [f"C{at}" for at in range(90)],
                "the target 'y' has 90 different values in 90 rows, too many to be learnt",
            ),
        ],
    )
    def test_target_that_cannot_be_learned(self, command, table, tmp_path, target, message):
        table.assign(y=target).to_csv(tmp_path / "t.csv", index=False)
        status, _, err = command("explain", "--background", tmp_path / "t.csv", "--target", "y", "--train", "forest")
        assert status == 2
        assert message in err

    def test_nothing_but_the_target(self, command, tmp_path):
        (tmp_path / "t.csv").write_text("y\n0\n1\n")
        status, _, err = command("explain", "--background", tmp_path / "t.csv", "--target", "y", "--train", "forest")
        assert status == 2
        assert "no feature is left in" in err

    @pytest.mark.parametrize("name", ["scores.xls", "scores", "no/such/folder/scores.csv"])
    def test_out_that_cannot_be(self, command, options, tmp_path, name):
        status, _, err = command(*options, "--out", tmp_path / name)
        assert status == 2
        assert "cannot be written" in err
        assert "rows for" not in err  # said before anything is trained

    def test_out_is_never_an_input(self, command, options, csv):
        before = csv.read_bytes()
        status, _, err = command(*options, "--out", csv)
        assert status == 2
        assert "read from" in err
        assert csv.read_bytes() == before

    @each_format
    @pytest.mark.parametrize("error", [ModelError("it broke"), OSError(28, "No space left"), KeyboardInterrupt()])
    def test_a_good_file_survives(self, command, options, tmp_path, monkeypatch, suffix, error):
        out = tmp_path / f"scores{suffix}"
        out.write_text("precious")
        calls = iter([xcid.frames.to_columns])

        def failing(explanation):
            columns = next(calls, None)
            if columns is None:
                raise error
            return columns(explanation)

        monkeypatch.setattr("xcid.frames.to_columns", failing)
        monkeypatch.setattr(explain, "ROWS_AT_A_TIME", 2)
        status, _, _ = command(*options, "--rows", ":6", "--out", out)
        assert status == {KeyboardInterrupt: 130, ModelError: 1}.get(type(error), 2)
        assert out.read_text() == "precious"
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted([out.name, "train.csv"])

    def test_rows_without_flips_are_counted_over_all_pieces(self, command, options, monkeypatch):
        monkeypatch.setattr(explain, "ROWS_AT_A_TIME", 2)
        real = xcid.Explainer.__call__

        def poor(self, rows, **settings):
            warn("row 0 has few flips")
            return replace(real(self, rows, **settings), status=np.array(["insufficient_flips", "ok"]))

        monkeypatch.setattr(xcid.Explainer, "__call__", poor)
        status, _, err = command(*options, "--rows", ":4", "--quiet")
        assert status == 0
        assert err == "xcid: note: 2 of 4 rows do not have the status ok (insufficient_flips: 2)\n"


@pytest.mark.parametrize("kind", ["U5", "S5", object])
def test_text_of_any_width_is_a_class(table, kind):
    """Arrays of a fixed width too; of labels, none takes the room of the longest."""
    words = np.where(table["y"] == 1, "yes", "no").astype(kind)
    answers = pl.Series("y", words.tolist())
    features = pl.from_pandas(table[["first"]])
    trained = training.train(features.with_columns(answers), "y", "logistic", 0)
    assert list(trained.model.classes_) == ["no", "yes"]
    assert "2 classes" in trained.description


def test_one_long_label_takes_its_own_room():
    names = nw.new_series("y", ["x" * 2**20, *["no"] * 4_000], nw.String, backend="polars")
    assert training.labels(names).nbytes < 2**20


class TestReasons:
    def test_columns_and_lines(self, command, options, csv, tmp_path):
        texts, out = tmp_path / "texts.toml", tmp_path / "scores.csv"
        texts.write_text('first = "The first is {value}"\n', encoding="utf-8")
        typed = (*options, "--rows", "2:7", "--reasons", "2", "--texts", texts, "--against", "1", "--out", out)
        status, printed, err = command(*typed)
        assert status == 0, err
        due = Reasons(2, {"first": "The first is {value}"}, "1")
        explanation = expected(csv, slice(2, 7))
        explanation = replace(explanation, index=np.arange(2, 7))
        found = pd.read_csv(out, keep_default_na=False)
        wanted = due.columns(explanation)
        for name in ("reason_rank", "reason", "reason_tied_with"):
            assert found[name].tolist() == wanted[name].tolist()
        assert found["reason"].str.startswith("The first is").any()
        for said in list(due.sentences(explanation))[:3]:
            assert said in printed

    @pytest.mark.parametrize(
        ("more", "said"),
        [
            (("--texts", "t.json"), "need --reasons"),
            (("--against", "1"), "need --reasons"),
            (("--just-above", "0.5"), "needs --reasons K --against OUTCOME"),
            (("--reasons", "2", "--just-above", "0.5"), "needs --against OUTCOME"),
            (("--reasons", "2", "--against", "1", "--just-above", "1.5"), "a probability of class 1 of at least 1.5"),
            (("--reasons", "2", "--method", "cid"), "which cid does not have"),
            (("--reasons", "2", "--out", "a.npz"), "another extension"),
            (("--reasons", "0"), "a whole number of at least 1"),
            (("--reasons", "2", "--against", "7"), "the model has no class '7'"),
            (("--reasons", "2", "--texts", "none.json"), "none.json cannot be found in"),
            (("--reasons", "2", "--texts", "t.csv"), ".json or .toml"),
        ],
    )
    def test_what_is_refused(self, command, options, more, said):
        status, _, err = command(*options, *more)
        assert status != 0
        assert said in " ".join(err.split())

    def test_they_compare_with_rows_just_above_the_cut_off(self, command, options, csv, tmp_path):
        table = pd.read_csv(csv).assign(weight=lambda table: 1 + np.arange(len(table)) % 3)
        table.to_csv(csv, index=False)
        features = table.drop(columns=["y", "weight"])
        model = training.train(table.drop(columns="weight"), "y", "logistic", 0).model
        rows = xcid.Explainer(model, features).just_above(features, "1", 0.5)
        assert len(rows) < len(table)
        above = xcid.Explainer(model, features.iloc[rows], weights=table["weight"].iloc[rows])
        due = above.contributions(features.iloc[2:7])
        typed = (*options, "--weights", "weight", "--rows", "2:7", "--reasons", "2", "--against", "1")
        typed = (*typed, "--just-above", "0.5", "--only", "contributions")
        for more in ((), ("--run", tmp_path / "run")):
            out = tmp_path / f"scores{len(more)}.csv"
            status, _, err = command(*typed, "--out", out, *more)
            assert status == 0, err
            assert pd.read_csv(out)["value"].to_numpy() == pytest.approx(due.values.ravel(), abs=1e-9)
        status, _, err = command(*typed, "--just-above", "0.6", "--out", tmp_path / "b.csv", "--run", tmp_path / "run")
        assert status == 2
        assert "just_above" in err

    @pytest.mark.parametrize(("name", "is_far"), [("forest", True), ("logistic", False)])
    def test_it_says_which_rows_are_just_above_and_whether_they_are_far(self, command, tmp_path, name, is_far):
        table = pd.DataFrame(np.random.default_rng(0).normal(size=(800, 3)), columns=[*"abc"])  # c is noise
        csv = tmp_path / "many.csv"
        table.assign(y=(table["a"] + table["b"] + table.pop("c") > 0).astype(int)).to_csv(csv, index=False)
        given = ("--target", "y", "--train", name, "--only", "contributions", "--rows", "0:2")
        given = (*given, "--reasons", "2", "--against", "1", "--just-above", "0.5")
        status, out, err = command("explain", "--reference", csv, *given)
        assert status == 0, err
        rows = r"\d+ rows just above the cut-off"
        (said,) = re.findall(rf"compared with {rows}: probabilities of class 1 from (\S+) to (\S+), mean (\S+)", err)
        low, high, mean = map(float, said)
        assert 0.5 <= low < mean < high <= 1
        assert len(re.findall(rf" on average over {rows} to ", out)) == 2
        assert "over the reference data" not in out
        assert ("these are far from the cut-off" in err) is is_far
        page = tmp_path / "r.html"
        typed = [one for one in given if one not in ("--only", "contributions")]
        assert command("report", "--reference", csv, *typed, "--out", page)[0] == 0
        assert re.search(rf"on average over {rows} to {{end}}", page.read_text("utf-8"))

    @pytest.mark.parametrize("verb", ["explain", "report"])
    @pytest.mark.parametrize(
        ("target", "more", "said"),
        [
            ("first", (), "add --against higher or --against lower to --reasons"),
            ("first", ("--against", "yes"), "--against yes: the target is a number"),
            ("y", ("--against", "7"), "--against 7: the model has no class '7'"),
            ("y", ("--against", "hihg", "--class-names", "low,high"), "did you mean 'high'?"),
        ],
    )
    def test_an_outcome_is_looked_at_before_a_model_is_trained(
        self, command, csv, tmp_path, monkeypatch, verb, target, more, said
    ):
        monkeypatch.setattr(training, "train", lambda *what: pytest.fail("trained"))
        out = ("--out", tmp_path / "page.html") if verb == "report" else ()
        status, _, err = command(verb, csv, "--target", target, "--reasons", "2", *more, *out)
        assert status == 2
        assert said in " ".join(err.split())

    @pytest.mark.parametrize(
        ("content", "said"),
        [
            ('{"salary": "too low"}', "texts names ['salary']"),
            ('{"first": 3}', "one text for each name"),
            ('["first"]', "one text for each name"),
            ("{", "cannot be read"),
        ],
    )
    def test_texts_that_are_none(self, command, options, tmp_path, content, said):
        path = tmp_path / "texts.json"
        path.write_text(content, encoding="utf-8")
        status, _, err = command(*options, "--rows", "0:2", "--reasons", "2", "--texts", path)
        assert status == 2
        assert said in " ".join(err.split())


@pytest.mark.parametrize(("n_rows", "kind"), [(10_000, "forest"), (10_001, "boosting")])
def test_the_model_that_is_trained_fits_the_length_of_the_table(n_rows, kind):
    assert training.choose_family("auto", n_rows) == training.choose_family(kind, 2)


def test_a_long_table_gets_a_model_that_is_read_exactly(command, tmp_path):
    draws = np.random.default_rng(0).normal(size=(10_001, 2))
    pd.DataFrame(draws, columns=["a", "b"]).assign(y=draws[:, 0] > 0).to_csv(tmp_path / "long.csv", index=False)
    status, _, err = command("explain", tmp_path / "long.csv", "--target", "y", "--rows", "0:1")
    assert status == 0
    assert "HistGradientBoostingClassifier trained on 10,001 rows" in err


def test_limits_over_trainings_are_those_of_the_library(command, csv, tmp_path):
    """The models are trained again on the reference data, whoever trained the first one."""
    asked = ("explain", "--reference", csv, "--target", "y", "--rows", "2:7", "--refits", "4", "--limits", "training")
    status, printed, _ = command(*asked, "--train", "forest", "--only", "contributions", "--out", tmp_path / "a.csv")
    assert status == 0
    assert "over trainings" in printed
    table = pd.read_csv(csv)
    model, background = training.train(table, "y", "forest", 0).model, table.drop(columns="y")
    models = xcid.refits(model, background, table.y, n=4)
    explainer = xcid.Explainer(model, background, refits=models, limits="training")
    due = explainer.contributions(background.iloc[2:7]).to_frame()
    found = pd.read_csv(tmp_path / "a.csv")
    for name in ("lower", "upper", "sd_training"):
        np.testing.assert_allclose(found[name], due[name], atol=1e-9)
    assert set(found["limits"]) == {"training"}
    assert "limits" not in explainer.replace(sources=None).contributions(background.iloc[2:3]).to_frame()


def test_refits_may_be_files_that_are_loaded_as_safely_as_any_model(command, csv, tmp_path, monkeypatch):
    tried, try_file = [], trial.try_file
    monkeypatch.setattr(trial, "try_file", lambda path, trusted: tried.append(path) or try_file(path, trusted))
    skops = pytest.importorskip("skops.io")
    pickle = pytest.importorskip("joblib")
    numbers = pd.read_csv(csv)[["first", "y"]]
    X, y = numbers[["first"]], numbers.y
    model = LogisticRegression().fit(X, y)
    models = xcid.refits(model, X, y, n=2)
    for at, one in enumerate([model, *models]):
        skops.dump(one, tmp_path / f"{at}.skops")
    X.to_csv(tmp_path / "x.csv", index=False)
    files = [tmp_path / "1.skops", tmp_path / "2.skops"]
    typed = ("explain", "--model", tmp_path / "0.skops", "--limits", "training", "--only", "contributions")
    more = ("--rows", "2:7", "--out", tmp_path / "a.csv")
    status, _, err = command(*typed, "--refits", *files, "--reference", tmp_path / "x.csv", *more)
    assert status == 0, err
    assert tried == [tmp_path / "0.skops", *files]  # each in a process of its own first
    explainer = xcid.Explainer(model, X, refits=models, limits="training")
    due = explainer.contributions(X.iloc[2:7]).to_frame()
    found = pd.read_csv(tmp_path / "a.csv")
    for name in ("lower", "upper", "sd_training"):
        np.testing.assert_allclose(found[name], due[name], atol=1e-9)
    pickle.dump(models[0], tmp_path / "3.pkl")
    for wrong, said in (("3.pkl", "is a pickle"), ("4.skops", "4.skops"), ("x.csv", "not a model")):
        status, _, err = command(*typed, "--refits", files[0], tmp_path / wrong, "--reference", tmp_path / "x.csv")
        assert status == 2
        assert said in " ".join(err.split())


def test_a_table_may_follow_the_number_of_refits(command, csv, tmp_path):
    typed = ("explain", "--target", "y", "--train", "logistic", "--only", "contributions", "--rows", "2:4")
    assert command(*typed, "--refits", "3", csv)[0] == 0
    for wrong in (("1",), ("3", csv, csv), (tmp_path / "a.skops",), ("many",)):
        status, _, err = command(*typed, "--reference", csv, "--refits", *wrong)
        assert status == 2
        assert f"--refits {wrong[0]}" in err


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--limits", "training"), "--limits training needs --refits 20"),
        (("--refits", "4", "--paper"), "which cid does not have"),
        (("--refits", "4", "--run", "folder", "--out", "a.csv"), "go without --run"),
    ],
)
def test_refits_and_limits_that_do_not_go_with_other_options(command, options, more, said):
    status, _, err = command(*options, *more)
    assert status == 2
    assert said in " ".join(err.split())


def test_refits_need_a_target(command, csv):
    status, _, err = command("explain", "--reference", csv, "--model", "model.skops", "--refits", "4")
    assert status == 2
    assert "--refits needs --target" in err


def test_signs_are_about_the_class_that_is_named(command, options, csv, tmp_path, approved):
    out = tmp_path / "scores.csv"
    due = expected(csv, slice(2, 7))
    names = due.output_names
    for name in names:
        status, _, _ = command(*options, "--rows", "2:7", "--towards", name, "--out", out)
        assert status == 0
        assert np.allclose(pd.read_csv(out)["value"], due.towards(name).values.ravel(), atol=1e-9)
    assert np.allclose(due.towards(names[0]).values, -due.values)
    status, _, err = command(*options, "--rows", "2:7", "--towards", "nobody")
    assert status == 2
    approved(err.splitlines()[-1])
    for clash in (["--method", "cid"], ["--run", tmp_path / "run", "--out", out]):
        status, _, err = command(*options, "--towards", names[0], *clash)
        assert status == 2
        assert "--towards turns signs" in err
