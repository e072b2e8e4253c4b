"""The report: what it says in words, what is in the file, how large it may get, and what it must not hold."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import xcid
import xcid.show.report
import xcid_lab.baselines
from xcid import directions
from xcid.errors import InvalidData, InvalidFile, InvalidParameter
from xcid.outcomes import Interval, Threshold, ToClass, Within
from xcid.records import with_details
from xcid.show import wording
from xcid.show.report import page as page_room
from xcid.show.report import report, summary
from xcid.show.report.contents import MOST_FEATURES
from xcid.show.report.evidence import CELLS, TOP, describe_evidence
from xcid.show.report.page import HIDDEN, SHOWN, encode_json
from xcid.show.wording import colours
from xcid.show.wording.names import clean
from xcid.show.wording.rows import explain_sum

TABLE = np.random.default_rng(0).normal(size=(200, 4)).round(3)
NAMES = ["glucose", "bmi", "age", "noise"]
ROW = [1.5, 1.0, -1.2, 0.1]


def probability(X):
    return 1 / (1 + np.exp(-(1.5 * X[:, 0] + 0.8 * X[:, 1] + 0.7 * X[:, 2])))


def explainer(model=probability, make=xcid.Explainer, **settings):
    return make(model, TABLE, feature_names=NAMES, **settings)


def of_values(values, **parts):
    """An explanation of one row with given scores, all of them significant but the last."""
    one = explainer()([ROW])
    p_values = np.array([[0.001] * (len(values) - 1) + [0.6]])
    return replace(one, values=np.array([values]), p_values=p_values, **parts)


@pytest.fixture(scope="module")
def explanation():
    return explainer()(TABLE[:6])


@pytest.fixture(scope="module")
def regression():
    """Only the first feature is significant."""
    one = explainer(lambda X: 1.0 * X[:, 0] + 0.01)([ROW])
    return replace(one, values=np.array([[0.5, 0, 0, 0]]), p_values=np.array([[0.0, 1, 1, 1]]))


def make_mixed():
    random = np.random.default_rng(3)
    table = pd.DataFrame(
        {
            "age": random.integers(18, 80, 150),
            "city": random.choice(["Zwolle", "Alkmaar", "Breda", None], 150),
            "joined": pd.Timestamp("2015-01-01") + pd.to_timedelta(random.integers(0, 900, 150), unit="D"),
        },
        index=[f"person-{at}" for at in range(150)],
    )
    return table, xcid.Explainer(lambda X: (X["age"] > 40) | (X["city"] == "Breda"), table)


@pytest.fixture(scope="module")
def mixed():
    table, explainer = make_mixed()
    return explainer(table[:8])


def read(path):
    """The data of a page."""
    (data,) = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', path.read_text("utf-8"), re.DOTALL
    )
    return json.loads(data, parse_constant=pytest.fail)


class TestSentences:
    def test_what_supports_what_opposes_and_what_is_not_significant(self):
        words = summary(
            of_values([0.4, 0.2, -0.3, 0.01], output_names=("negative", "positive"), about=np.array(["positive"]))
        )
        assert words == (
            "The model predicts positive (0.90).",
            "glucose and bmi support it; age works against it.",
            "noise is not significant.",
        )

    def test_nothing_opposes(self):
        assert summary(of_values([0.4, 0.2, 0.3, 0.01]))[1] == "glucose, age and bmi support it."

    def test_nothing_supports(self):
        assert summary(of_values([-0.4, -0.2, -0.3, 0.01]))[1] == "glucose, age and bmi work against it."

    def test_nothing_is_significant(self):
        one = replace(of_values([0.4, 0.2, 0.3, 0.01]), p_values=np.full((1, 4), 0.5))
        assert summary(one)[1:] == ("No feature is significant.",)

    def test_a_p_value_that_is_missing_tells_nothing(self):
        one = replace(of_values([0.4, 0.2, 0.3, 0.01]), p_values=np.array([[np.nan, 0.01, 0.01, 0.5]]))
        assert summary(one)[1:] == ("age and bmi support it.", "glucose and noise are not significant.")

    def test_many_names_are_counted(self):
        values = np.linspace(1, 0.1, 9)
        wide = np.random.default_rng(1).normal(size=(100, 9))
        one = xcid.Explainer(lambda X: X[:, 0] > 0, wide, feature_names=list("abcdefghi"))(wide[:1])
        one = replace(one, values=values[None], p_values=np.full((1, 9), 0.01))
        assert summary(one)[1] == "a, b, c and 6 more support it."
        noise = np.array([[0.01] * 4 + [0.9] * 5])
        said = summary(replace(one, p_values=noise))
        assert said[1:] == ("a, b, c and d support it.", "5 of the 9 features are not significant.")

    def test_paper_has_no_sign_and_no_p_values(self):
        words = summary(explainer(make=xcid.Explainer.paper)([ROW]))
        assert words[1].startswith("Perturbations that flip it differ most from those that do not in glucose (0.")
        assert words[2:] == ("Scores have no signs and no p-values in this setting.",)

    def test_signs_without_p_values(self):
        words = summary(replace(of_values([0.4, 0.2, -0.3, 0.01]), p_values=None))
        assert words[1] == "glucose, bmi and noise support it; age works against it."
        assert words[2] == "These scores have no p-values: small ones may be noise."

    def test_all_scores_0(self):
        one = replace(of_values([0.0, 0.0, 0.0, 0.0], status=np.array(["insufficient_flips"])), p_values=None)
        assert summary(one)[1:] == (
            "Fewer perturbations flip the output than were asked for: read the scores with care.",
            "All scores are 0.",
        )

    @pytest.mark.parametrize(
        ("status", "said"),
        [
            ("no_flips", "No perturbation flips the output: the scores rest on probabilities alone."),
            ("rare_flips", "Flips are so rare that a directed search had to find them."),
            ("some_day_new", "Status: some_day_new."),
        ],
    )
    def test_statuses(self, status, said):
        assert summary(of_values([0.4, 0.2, -0.3, 0.01], status=np.array([status])))[1] == said

    def test_frozen(self):
        limits = xcid.Constraints(frozen=["age"])
        assert summary(explainer(constraints=limits)([ROW]))[-1] == "age could not change here."

    def test_one_value_in_all_reference_rows(self):
        table = pd.DataFrame(TABLE, columns=NAMES).assign(country="NL", age=50.0)
        made = xcid.Explainer(lambda X: X["glucose"].to_numpy() > 0, table)(table[:1])
        assert summary(made)[-1] == "age and country have one value in all reference rows."
        table = table.drop(columns="country")
        alone = xcid.Explainer(lambda X: X["glucose"].to_numpy() > 0, table)(table[:1])
        assert summary(alone)[-1] == "age has the same value in all reference rows."

    def test_what_a_rule_holds_is_not_laid_to_the_reference_data(self):
        limits = xcid.Constraints(monotone={"age": "rises"})
        top = np.array([*ROW[:2], 99.0, *ROW[3:]])
        assert summary(explainer(constraints=limits)([top]))[-1] == "age could not change here."

    def test_labels_have_no_probability(self):
        assert summary(explainer(lambda X: X[:, 0] > 0)([ROW]))[0] == "The model predicts True."

    def test_three_classes(self):
        def three(X):
            odds = np.exp(np.column_stack([X[:, 0], X[:, 1], X[:, 2]]))
            return odds / odds.sum(axis=1, keepdims=True)

        assert re.fullmatch(r"The model predicts class 0 \(0\.\d\d\)\.", summary(explainer(three)([ROW]))[0])

    def test_regression(self):
        one = explainer(lambda X: 50 * X[:, 0] - 7, outcome=Interval(20.0))([ROW])
        one = replace(one, values=np.array([[0.5, 0, 0, 0]]), p_values=np.array([[0.0, 1, 1, 1]]))
        assert summary(one)[:2] == ("The model predicts 68.", "glucose raises it.")  # as on the page and in a terminal
        assert summary(one, 0, HIDDEN)[:2] == ("The model predicts a hidden number.", "glucose raises it.")

    @pytest.mark.parametrize(
        ("outcome", "said"),
        [
            (ToClass(1), "keep it in class 1"),
            (ToClass(0), "keep it out of class 0"),
            (ToClass(np.int64(0)), "keep it out of class 0"),
            (Threshold(0.3), "keep the probability of class 1 above 0.3"),
            (lambda outputs, reference: (outputs[:, 1] > 0.2) * 1.0, "keep it on its side of the question"),
        ],
    )
    def test_other_questions(self, outcome, said):
        one = explainer(outcome=outcome)([ROW])
        supports = np.abs(one.values) * directions.sides(one)[:, None]
        assert said in summary(replace(one, values=supports, p_values=np.zeros((1, 4))))[1]

    @pytest.mark.parametrize(
        ("outcome", "said"),
        [
            (Threshold(2.0), "keeps it below 2."),
            (Threshold(1.0), "keeps it above 1."),
            (Within(1.0, 2.0), "keeps it in the range from 1 to 2."),
            (Within(7.0, 8.0), "keeps it out of the range from 7 to 8."),
            (Within(low=1.0), "keeps it above 1."),
            (Within(low=7.0), "keeps it below 7."),
            (Within(high=2.0), "keeps it below 2."),
            (Within(high=1.0), "keeps it above 1."),
        ],
    )
    def test_other_questions_of_a_regression(self, regression, outcome, said):
        asked = with_details(regression, outcome=outcome)
        asked = replace(asked, values=asked.values * directions.sides(asked)[:, None])
        assert summary(asked)[:2] == ("The model predicts 1.51.", f"glucose {said}")

    def test_an_outcome_that_a_file_did_not_keep(self, explanation):
        assert "on its side of the question" in " ".join(summary(with_details(explanation, outcome=None)))

    def test_another_method(self):
        words = summary(xcid_lab.baselines.Occlusion(probability, TABLE)([ROW]))
        assert "support" in words[1]
        assert "no p-values" in words[2]


class TestPictures:
    def test_curves_and_stems_have_mass_1(self, explanation):
        for feature in range(4):
            drawn = describe_evidence(explanation, 0, feature, SHOWN)
            width = (drawn["range"][1] - drawn["range"][0]) / CELLS
            for curve, atom in ((drawn["p"], 1), (drawn["q"], 2)):
                mass = sum(curve) / TOP * drawn["peak"] * width + sum(stem[atom] for stem in drawn["atoms"]) / 1000
                assert mass == pytest.approx(1, abs=0.01)

    def test_d1_can_be_seen(self, explanation):
        """What is drawn has the d1 that is printed."""
        drawn = describe_evidence(explanation, 0, 0, SHOWN)
        width = (drawn["range"][1] - drawn["range"][0]) / CELLS
        p = np.array(drawn["p"]) / TOP * drawn["peak"] * width
        q = np.array(drawn["q"]) / TOP * drawn["peak"] * width
        stems = np.array(drawn["atoms"])[:, 1:] / 1000
        both = np.minimum(p, q).sum() + stems.min(axis=1).sum()
        either = np.maximum(p, q).sum() + stems.max(axis=1).sum()
        assert 1 - both / either == pytest.approx(explanation.importance[0, 0], abs=0.02)

    def test_own_value_lies_in_range(self, explanation):
        drawn = describe_evidence(explanation, 2, 0, SHOWN)
        assert drawn["range"][0] < drawn["own"] < drawn["range"][1]
        assert drawn["own"] == pytest.approx(TABLE[2, 0])

    def test_levels(self, mixed):
        drawn = describe_evidence(mixed, 0, 1, SHOWN)
        assert drawn["names"] == ["Alkmaar", "Breda", "Zwolle", "missing"]
        assert sum(drawn["p"]) == pytest.approx(1000, abs=3)
        assert drawn["names"][drawn["own"]] == mixed.shown(0, "city")

    def test_many_levels_are_joined(self):
        random = np.random.default_rng(0)
        table = pd.DataFrame({"a": random.normal(size=300), "b": [f"level {at % 60:02d}" for at in range(300)]})
        explanation = xcid.Explainer(lambda X: X["a"] > 0, table)(table[:1])
        drawn = describe_evidence(explanation, 0, 1, SHOWN)
        assert drawn["names"][-1].endswith(" others")
        assert "level 00" in drawn["names"]
        assert sum(drawn["q"]) == pytest.approx(1000, abs=10)

    def test_missing_value_of_its_own(self):
        table = TABLE.copy()
        table[::5, 0] = np.nan
        explanation = xcid.Explainer(lambda X: np.nan_to_num(X[:, 0]) > 0.2, table, feature_names=NAMES)(table[:1])
        drawn = describe_evidence(explanation, 0, 0, SHOWN)
        assert drawn["own"] is None
        assert max(drawn["missing"]) > 0

    def test_group(self):
        limits = xcid.Constraints(groups={"both": ["glucose", "bmi"]})
        explanation = explainer(constraints=limits)([ROW])
        drawn = describe_evidence(explanation, 0, explanation.position("both"), SHOWN)
        assert drawn["kind"] == "shares"
        assert sum(drawn["p"]) == pytest.approx(1000, abs=10)


class TestFile:
    def test_the_same_numbers(self, explanation, tmp_path):
        explanation.report(tmp_path / "r.html", title="A title", notes=["something to know"])
        data = read(tmp_path / "r.html")
        assert (data["title"], data["notes"], data["features"]) == ("A title", ["something to know"], NAMES)
        assert len(data["rows"]) == 6
        for at, row in enumerate(data["rows"]):
            assert np.allclose(np.array(row["score"]) * data["unit"], explanation.values[at], atol=5.1e-4)
            assert np.allclose(np.array(row["lower"]) * data["unit"], explanation.lower[at], atol=5.1e-4)
            assert [p > 50 for p in row["p"]] == (explanation.p_values[at] > 0.05).tolist()
            assert row["sentences"] == list(summary(explanation, at))
        mean = explanation.aggregate()
        for name, due in (("score", mean.size), ("mean", mean.values), ("lower", mean.lower), ("upper", mean.upper)):
            assert np.allclose(np.array(data["overview"][name]) * data["unit"], due[0], atol=5.1e-4)
        assert np.allclose(np.array(data["overview"]["d1"]) / 100, mean.importance[0], atol=5.1e-3)
        assert dict(data["settings"])["seed"] == "0"

    def test_counterfactuals_are_those_of_the_explanation(self, mixed, tmp_path):
        mixed.report(tmp_path / "r.html")
        first = read(tmp_path / "r.html")["rows"][0]["counterfactuals"][0]
        due = mixed.sampled_flips(0, nearest=1, diverse=0)["changes"][0]
        assert sorted(f"{name} {old} -> {new}" for name, old, new in first["changes"]) == sorted(due.split(", "))

    def test_what_comes_of_a_sample_is_said(self, explanation, tmp_path):
        explanation.report(tmp_path / "r.html")
        for at, row in enumerate(read(tmp_path / "r.html")["rows"]):
            for one in row["counterfactuals"]:
                about = one["about"].removeprefix("class ")
                assert about != explanation.output_names[explanation.outputs[at].argmax()]
                own = explanation.outputs[at, explanation.output_names.index(about)]
                assert one["was"] == pytest.approx(own, rel=1e-3)
                assert one["output"] > 0.5 > one["was"]

    @pytest.mark.parametrize(
        "rules", [{"steps": {"bmi": 0.5}}, {"relations": ["bmi >= age - 9"]}], ids=["steps", "relations"]
    )
    def test_samples_that_may_break_a_rule_are_left_out(self, rules, tmp_path, approved):
        explainer(constraints=xcid.Constraints(frozen=["noise"]))([ROW]).report(tmp_path / "free.html")
        assert read(tmp_path / "free.html")["rows"][0]["counterfactuals"]
        made = explainer(constraints=xcid.Constraints(frozen=["noise"], **rules))
        made([ROW]).report(tmp_path / "ruled.html")
        page = read(tmp_path / "ruled.html")
        assert "counterfactuals" not in page["rows"][0]
        (said,) = page["left_out"]
        approved(said)
        made([ROW]).report(tmp_path / "given.html", counterfactuals=made.counterfactuals([ROW]))
        page = read(tmp_path / "given.html")
        assert page["rows"][0]["counterfactuals"]
        assert page["left_out"] == []

    def test_counterfactuals_of_a_search(self, tmp_path):
        table, explainer = make_mixed()
        found = explainer.counterfactuals(table[:8])
        explainer(table[:8]).report(tmp_path / "r.html", counterfactuals=found)
        rows = read(tmp_path / "r.html")["rows"]
        lines = [(at, one) for at, row in enumerate(rows) for one in row["counterfactuals"]]
        assert [at for at, _ in lines] == found.row.tolist()
        for line, (_, one) in enumerate(lines):
            assert (one["kind"], one["likeness"]) == (found.kind[line], found.likeness[line])
            assert (one["was"], one["output"]) == (found.was[line], found.output[line])
            assert [tuple(change) for change in one["changes"]] == [tuple(change) for change in found.changes(line)]

    def test_a_change_says_which_reasons_it_is_about(self, tmp_path):
        table, explainer = make_mixed()
        found, explanation = explainer.counterfactuals(table[:8]), explainer(table[:8])
        explanation.report(tmp_path / "r.html", counterfactuals=found, reasons=xcid.Reasons(1))
        frame = explanation.reasons(1)
        lines = [one["cited"] for row in read(tmp_path / "r.html")["rows"] for one in row["counterfactuals"]]
        for line, said in enumerate(lines):
            mine = frame[(frame["row"] == found.index[found.row[line]]) & (frame["rank"] > 0)]
            changed = {change.feature for change in found.changes(line)}
            ranks = sorted(mine["rank"][mine["feature"].isin(changed)])
            assert re.findall(r"\d+", said) == [str(rank) for rank in ranks]
            assert said.startswith("changes reason") == bool(ranks)
        assert any(lines)
        assert not all(lines)

    def test_derived_columns_follow(self, tmp_path):
        table, _ = make_mixed()
        table["double"] = 2 * table["age"]
        limits = xcid.Constraints(derived={"double": "2 * age"})
        explainer = xcid.Explainer(lambda X: X["age"] > 40, table, constraints=limits)
        explainer(table[:3]).report(tmp_path / "r.html", counterfactuals=explainer.counterfactuals(table[:3], k=1))
        for row in read(tmp_path / "r.html")["rows"]:
            (age, double) = row["counterfactuals"][0]["changes"]
            assert (age[0], double[0]) == ("age", "double")
            assert 2 * float(age[2]) == float(double[2])
            assert double[3] is double[4] is None

    def test_counterfactuals_without_samples(self, tmp_path):
        table, explainer = make_mixed()
        bare = replace(explainer(table[:8]), cloud=None)
        bare.report(tmp_path / "r.html", counterfactuals=explainer.counterfactuals(table[:8]))
        assert all(row["counterfactuals"] for row in read(tmp_path / "r.html")["rows"])

    def test_counterfactuals_of_other_rows(self, tmp_path):
        table, explainer = make_mixed()
        with pytest.raises(InvalidParameter, match="not those of these rows"):
            explainer(table[:8]).report(tmp_path / "r.html", counterfactuals=explainer.counterfactuals(table[1:9]))

    def test_pieces_make_no_difference(self, explanation, tmp_path):
        explanation.report(tmp_path / "whole.html")
        report([explanation[:2], explanation[2:]], tmp_path / "pieces.html")
        assert (tmp_path / "whole.html").read_bytes() == (tmp_path / "pieces.html").read_bytes()

    def test_scores_above_1(self, tmp_path):
        values = np.array([[1234.5, -3.0, 0.0, 1.0]])
        one = replace(of_values([0.4, 0.2, 0.1, 0.0]), values=values, lower=None, upper=None, p_values=None)
        one.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        assert np.allclose(np.array(data["rows"][0]["score"]) * data["unit"], values, atol=0.6)

    def test_without_evidence(self, explanation, tmp_path):
        replace(explanation, cloud=None).report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        assert "evidence" not in data["rows"][0]
        assert data["left_out"] == ["The samples behind 6 rows were not kept: there is no evidence for them here."]

    def test_a_density_that_a_file_does_not_keep(self, explanation, tmp_path):
        with_details(explanation, density=None).report(tmp_path / "r.html")
        assert read(tmp_path / "r.html")["rows"][0]["counterfactuals"]

    def test_an_average_can_be_reported(self, explanation, tmp_path):
        explanation.aggregate().report(tmp_path / "r.html")
        assert len(read(tmp_path / "r.html")["rows"]) == 1

    def test_needs_no_data_frames(self, explanation, tmp_path, monkeypatch):
        for name in ("pandas", "polars", "pyarrow", "matplotlib"):
            monkeypatch.setitem(__import__("sys").modules, name, None)
        explanation.report(tmp_path / "r.html")

    def test_policy_names_the_script_and_the_style(self, explanation, tmp_path):
        explanation.report(tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text("utf-8")
        (policy,) = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
        assert policy.startswith("default-src 'none'; ")
        assert "unsafe" not in policy
        for pattern, directive in ((r"<script>(.*?)</script>", "script-src"), (r"<style>(.*?)</style>", "style-src")):
            (body,) = re.findall(pattern, text, re.DOTALL)
            digest = base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()
            assert f"{directive} 'sha256-{digest}';" in policy

    def test_nothing_is_asked_for(self, explanation, tmp_path):
        explanation.report(tmp_path / "r.html")
        text = (tmp_path / "r.html").read_text("utf-8")
        assert not re.findall(r"\b(?:src|srcset|action|data|poster)=|@import|url\(|<link|<iframe|<object|fetch\(", text)
        assert not re.findall(r"\son\w+=", text)
        assert set(re.findall(r"https?://[^\s\"']+", text)) == {"http://www.w3.org/2000/svg"}
        assert set(re.findall(r'href="([^"]*)"', text)) == {"#summary"}

    def test_no_markup_is_made_from_text(self):
        for name in (*page_room.SHARED, "report.js"):
            assert not re.search(
                r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(", page_room.read_asset(name)
            )

    def test_colours_are_those_of_the_plots(self):
        style = page_room.read_asset("look.css")
        for name in ("positive", "negative", "overlap", "supports", "opposes", "ink"):
            assert f"--{name}: {getattr(colours, name.upper())};" in style

    def test_wrong_settings(self, explanation, tmp_path):
        with pytest.raises(InvalidParameter, match="values are 'shown' or 'hidden', not 'some'"):
            explanation.report(tmp_path / "r.html", values="some")
        with pytest.raises(InvalidData, match="no rows"):
            explanation[[]].report(tmp_path / "r.html")
        with pytest.raises(InvalidFile, match="cannot be written"):
            explanation.report(tmp_path / "none" / "r.html")
        assert list(tmp_path.iterdir()) == []

    def test_the_old_file_stays_until_the_new_one_is_complete(self, explanation, tmp_path, monkeypatch):
        path = tmp_path / "r.html"
        path.write_text("old")

        def fail(self, *arguments, **settings):
            self.write_bytes(b"half of")
            raise OSError(28, "No space left on device")

        with monkeypatch.context() as patch:
            patch.setattr("pathlib.Path.write_text", fail)
            with pytest.raises(InvalidFile, match="No space left"):
                explanation.report(path)
        assert path.read_text() == "old"
        assert [one.name for one in tmp_path.iterdir()] == ["r.html"]
        explanation.report(str(path))
        assert path.read_text().startswith("<!doctype html>")


class TestWords:
    def test_the_question_and_what_present_values_are_worth(self, explanation, tmp_path):
        explanation.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        assert data["question"] == explanation.question
        one, row = explanation[0], data["rows"][0]
        strongest = int(np.abs(one.values[0]).argmax())
        assert row["effects"][0] == f"{wording.word_feature(one, strongest)}."
        assert dict(row["worth"])[strongest] == wording.format_worth(one, strongest)
        assert len(row["worth"]) == int((one.p_values[0] <= 0.05).sum())

    def test_all_rows_are_about_one_class(self, explanation, tmp_path):
        explanation.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        mean = explanation.towards(explanation.output_names[1]).values.mean(axis=0)
        assert np.allclose(np.array(data["overview"]["mean"]) * data["unit"], mean, atol=5.1e-4)
        assert data["phrases"]["unit"] == f"log odds of class {explanation.output_names[1]}"
        said = data["phrases"]["sum"].format(
            exact="",
            unit=data["phrases"]["unit"],
            here="here",
            **dict(zip(("start", "end"), data["rows"][0]["sum"], strict=True)),
        )
        assert said == explain_sum(explanation[0])

    def test_a_regression_is_about_its_output(self, tmp_path):
        made = explainer(lambda X: 50 * X[:, 0] - 7)([[-1.5, 0.3, 0.2, 0.1]])
        made.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        (row,) = data["rows"]
        assert np.array(row["score"]) * data["unit"] == pytest.approx(made.values[0], abs=data["unit"])
        assert row["score"][0] < 0
        assert row["sentences"][1] == "glucose lowers it."
        assert row["effects"] == [f"{wording.word_feature(made, 0)}."]
        assert row["effects"][0].startswith("glucose -1.5 lowers the output by ")
        assert data["phrases"]["supports"] == "raises the output"
        made.report(tmp_path / "r.html", values="hidden")
        data = read(tmp_path / "r.html")
        (row,) = data["rows"]
        assert not {"effects", "worth", "sum"} & set(row)
        assert row["score"][0] * data["unit"] == pytest.approx(-1)  # a share of the largest
        assert data["phrases"]["unit"] == "shares of the largest"

    def test_hidden_values_are_in_no_sentence(self, explanation, tmp_path):
        explanation.report(tmp_path / "r.html", values="hidden")
        row = read(tmp_path / "r.html")["rows"][0]
        name = NAMES[int(np.abs(explanation.values[0]).argmax())]
        assert row["effects"][0].startswith((f"{name} multiplies the odds of", f"{name} divides the odds of"))
        assert " keep its value; " in row["evidence"][0]["why"]


class TestSize:
    def test_a_thousand_rows_of_thirty_features(self, tmp_path):
        random = np.random.default_rng(0)
        table = random.normal(size=(300, 30))
        block = xcid.Explainer(lambda X: X[:, 0] + X[:, 1] > 0, table, memory=2**30)(table[:100])
        report((block for _ in range(10)), tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        size = (tmp_path / "r.html").stat().st_size
        assert 1_000_000 < size < 2_000_000
        assert len(data["rows"]) == 1000
        assert all(data["rows"][at]["evidence"][0] for at in range(12))
        assert re.match(
            r"To keep the file small, the evidence of [\d,]+ of 30,000 scores is left out", data["left_out"][0]
        )

    def test_too_many_rows_are_counted(self, explanation, tmp_path, monkeypatch):
        monkeypatch.setattr("xcid.show.report.contents.BUDGET", 4_500)
        explanation.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        n_rows = len(data["rows"])
        assert 1 <= n_rows < 6
        assert data["left_out"][0].startswith(f"To keep the file small, the last {6 - n_rows} of 6 rows are not listed")
        assert np.allclose(
            np.array(data["overview"]["score"]) * data["unit"], explanation.aggregate().size[0], atol=5.1e-4
        )

    def test_more_features_than_there_is_room_for(self, tmp_path):
        table = np.random.default_rng(0).normal(size=(60, MOST_FEATURES + 40))
        one = xcid.Explainer(lambda X: X[:, 539] > 0, table, generator=xcid.generators.Marginal(m=20))(table[:2])
        one.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        assert len(data["features"]) == MOST_FEATURES
        assert one.feature_names[539] in data["features"]
        at = data["features"].index(one.feature_names[539])
        assert data["rows"][0]["cells"][at] == f"{table[0, 539]:.6g}"
        assert data["rows"][0]["evidence"][at]["own"] == pytest.approx(table[0, 539])
        assert data["left_out"][0] == "The page shows 500 of 540 features: those with the largest mean scores."
        assert (tmp_path / "r.html").stat().st_size < 2_000_000

    def test_names_of_any_length(self, explanation, tmp_path):
        long = replace(explanation, feature_names=tuple(f"{at}{'<' * 10**6}" for at in range(4)))
        long.report(tmp_path / "r.html", title="t" * 10**6, notes=["n" * 10**6] * 100)
        assert (tmp_path / "r.html").stat().st_size < 400_000


class TestHidden:
    def test_no_value_of_a_search_is_in_the_file(self, tmp_path):
        table, _ = make_mixed()
        number = xcid.Explainer(lambda X: 7777.5 + X["age"] / 3, table, outcome=xcid.outcomes.Interval(4))
        for explainer in (make_mixed()[1], number):
            explanation, found = explainer(table[:8]), explainer.counterfactuals(table[:8])
            explanation.report(tmp_path / "r.html", values="hidden", counterfactuals=found)
            text = (tmp_path / "r.html").read_text("utf-8")
            for word in ("Zwolle", "Alkmaar", "Breda", "person-", "2015", "2016", "2017"):
                assert word not in text
            lines = [one for row in read(tmp_path / "r.html")["rows"] for one in row["counterfactuals"]]
            assert {cell for one in lines for change in one["changes"] for cell in change[1:3]} == {"hidden"}
            is_number = explainer is number
            assert {"output" in one for one in lines} == {"was" in one for one in lines} == {not is_number}
            assert {len(change) for one in lines for change in one["changes"]} == {3 if is_number else 5}

    def test_no_value_is_in_the_file(self, mixed, tmp_path):
        mixed.report(tmp_path / "r.html", values="hidden")
        text = (tmp_path / "r.html").read_text("utf-8")
        for word in ("Zwolle", "Alkmaar", "Breda", "person-", "2015", "2016", "2017"):
            assert word not in text
        data = read(tmp_path / "r.html")
        for row in data["rows"]:
            assert set(row["cells"]) == {"hidden"}
            assert {cell for flip in row["counterfactuals"] for change in flip["changes"] for cell in change[1:]} == {
                "hidden"
            }
            for drawn in row["evidence"]:
                if drawn["kind"] == "number":
                    assert drawn["range"] == [0, 1]
                    assert "peak" not in drawn
                    assert "unit" not in drawn
                    assert all(0 <= stem[0] <= 1 for stem in drawn["atoms"])
                else:
                    assert all(re.fullmatch(r"value \d+|missing", name) for name in drawn["names"])

    def test_scores_stay(self, mixed, tmp_path):
        mixed.report(tmp_path / "shown.html")
        mixed.report(tmp_path / "hidden.html", values="hidden")
        shown, hidden = read(tmp_path / "shown.html"), read(tmp_path / "hidden.html")
        assert [row["score"] for row in shown["rows"]] == [row["score"] for row in hidden["rows"]]
        assert shown["features"] == hidden["features"]

    def test_numbers_of_a_regression_and_samples_in_settings(self, tmp_path):
        one = explainer(lambda X: 7919.0 * X[:, 0])([ROW])
        settings = {**one.details.settings, "generator": "Own(samples=[123.456])", "note": "123.456"}
        one = with_details(one, settings=settings)
        one.report(tmp_path / "r.html", values="hidden")
        text = (tmp_path / "r.html").read_text("utf-8")
        assert "123.4" not in text
        assert f"{one.outputs[0, 0]:.4g}" not in text
        assert ["generator", "Own(…)"] in read(tmp_path / "r.html")["settings"]


class TestText:
    @pytest.mark.parametrize("letter", ["<", ">", "&", "\u2028", "\u2029"])
    def test_json_has_no_letter_of_html(self, letter):
        text = encode_json({f"a{letter}b": [letter]})
        assert letter not in text
        assert json.loads(text) == {f"a{letter}b": [letter]}

    def test_letters_that_act_on_others_are_written_out(self):
        assert clean("a\u202eb\u2066c\x00d\ud800e") == "a⟨U+202E⟩b⟨U+2066⟩c⟨U+0000⟩d⟨U+D800⟩e"
        assert clean("line\nbreak\ttab") == "line break tab"
        assert clean("naïve 名前 👩‍🔬 عمر") == "naïve 名前 👩‍🔬 عمر"

    def test_long_text_is_cut(self):
        assert clean("x" * 500) == "x" * 159 + "…"
        assert len(clean("\u202e" * 500)) == 160


class TestNotExplained:
    """A row for which the model failed says so, and has no scores anywhere."""

    @pytest.fixture
    def found(self):
        table = pd.DataFrame(TABLE, columns=NAMES).assign(city=np.where(TABLE[:, 0] > 0, "Breda", "Zwolle"))

        def model(X):
            if not X["city"].isin(["Breda", "Zwolle"]).all():
                raise ValueError("what city is that?")
            return X["glucose"].to_numpy() > 0

        rows = table[:3].copy()
        rows.loc[0, "city"] = "Alkmaar"
        with pytest.warns(UserWarning, match="1 of 3 rows could not be explained"):
            return xcid.Explainer(model, table)(rows)

    WHY = (
        "not explained: the row holds a level or a missing cell that the reference data do not have, and the model "
        "cannot take it"
    )

    def test_text_and_notebook(self, found):
        assert str(found[0]) == f"row 0: {self.WHY}"
        assert found[0]._repr_html_() == f"<p>row 0: {self.WHY}</p>"
        assert "significant" in str(found[1])
        mean = np.abs(found.values[1:]).mean(axis=0)
        assert f"{mean.max():.3f}" in found._repr_html_()  # and not two thirds of it

    def test_summary(self, found):
        assert summary(found, 0) == ("The model gives no output.", f"The row is {self.WHY}.")

    def test_page(self, found, tmp_path):
        found.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        assert not {"score", "p", "worth", "flips", "effects", "evidence", "counterfactuals"} & set(data["rows"][0])
        assert {"score", "p", "flips", "evidence", "counterfactuals"} <= set(data["rows"][1])
        mean = np.abs(found.values[1:]).mean(axis=0)
        assert np.allclose(np.array(data["overview"]["score"]) * data["unit"], mean, atol=5.1e-4)

    def test_a_page_of_nothing_else(self, found, tmp_path):
        found[[0]].report(tmp_path / "r.html")
        assert read(tmp_path / "r.html")["rows"][0]["sentences"][1] == f"The row is {self.WHY}."


class TestNumbers:
    """Where the outcome is a number, nothing flips."""

    def test_words(self, tmp_path):
        one = explainer(lambda X: 5e5 + 1e5 * X[:, 0])([ROW])
        assert " changed copies of the row move it (" in str(one).splitlines()[0]
        one.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        assert data["what_would"] == "What would change it"
        assert data["phrases"]["verb"] == "move"
        assert data["phrases"]["flips"] == "perturbations that move the output (C+)"
        assert "; among those that move, " in data["rows"][0]["evidence"][0]["why"]
        assert not re.search(r"flip(?!s\": )", json.dumps(data))  # but for the names of parts

    def test_a_level_is_crossed_or_not(self):
        one = explainer(lambda X: 5e5 + 1e5 * X[:, 0], outcome=Threshold(5e5))([ROW])
        assert " changed copies of the row flip it (" in str(one).splitlines()[0]

    def test_one_rounding(self, tmp_path):
        one = explainer(lambda X: 718148.4 + 1e5 * (X[:, 0] - ROW[0]))([ROW])
        one.report(tmp_path / "r.html")
        (row,) = read(tmp_path / "r.html")["rows"]
        assert row["answer"] == "718,148.40"
        assert {flip["was"] for flip in row["counterfactuals"]} == {718148.4}

    def test_contributions_keep_their_whole_part(self, tmp_path):
        one = explainer(lambda X: 718148.4 + 1e5 * X[:, 0])([ROW])
        one.report(tmp_path / "r.html")
        data = read(tmp_path / "r.html")
        largest = np.abs(one.values).argmax()
        assert data["unit"] == 1.0
        assert data["rows"][0]["score"][largest] == round(one.values[0, largest])  # as sentences beside it have it
