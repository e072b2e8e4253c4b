"""Reasons: the strongest significant features against an outcome, in the user's texts, with ties said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

import xcid
from xcid.errors import EvidenceNotKept, InvalidParameter
from xcid.outcomes import Threshold
from xcid.records import SIGNIFICANT, benjamini_hochberg
from xcid.show.reasons import COLUMNS, NOT_DECIDED, Reasons

TABLE = np.random.default_rng(21).normal(size=(300, 5))
SLOPES = np.array([2.0, -1.0, 0.5, 0.0, 0.3])
NAMES = ["a", "b", "c", "ignored", "e"]


def logit(X):
    return np.asarray(X) @ SLOPES + 0.4


def bent(X):
    X = np.asarray(X)
    chance = special.expit(X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1 + np.abs(X[:, 4]))
    return np.column_stack([1 - chance, chance])


def two(X):
    chance = special.expit(logit(X))
    return np.column_stack([1 - chance, chance])


def three(X):
    return special.softmax(np.column_stack([X[:, 0], X[:, 1], 0.5 * X[:, 2] + X[:, 4]]), axis=1)


def explained(model, rows=TABLE[:30], **more):
    return xcid.Explainer(model, TABLE, feature_names=NAMES, **more)(rows)


GOOD = {"class_names": ["refused", "approved"]}
BENT, LINEAR = explained(bent, **GOOD), explained(two, **GOOD)


def of_scores(values, half=0.01, p_values=None):
    """One row with given scores and limits; all are significant unless p-values are given."""
    values = np.array([values], dtype=np.float64)
    one = BENT[:1]
    p_values = np.full(values.shape, 0.001) if p_values is None else np.array([p_values])
    limits = {"lower": values - half, "upper": values + half, "p_values": p_values}
    return replace(one, values=values, **limits)


class TestChoice:
    @pytest.mark.parametrize("against", ["approved", "refused"])
    def test_the_truth_of_a_logistic_model(self, against):
        """The contributions of a linear logit are known: the reasons are the largest of the right sign, in order."""
        found = LINEAR.reasons(2, against=against)
        due = SLOPES * (TABLE[:30] - TABLE.mean(axis=0)) * (1 if against == "refused" else -1)
        for row in range(30):
            order = [at for at in np.argsort(-due[row]) if due[row, at] > 1e-5][:2]
            lines = found[(found["row"] == row) & (found["rank"] > 0)]
            assert lines["feature"].tolist() == [NAMES[at] for at in order]
            assert lines["rank"].tolist() == list(range(1, len(order) + 1))

    @pytest.mark.parametrize("explanation", [BENT, explained(three)], ids=["two classes", "three classes"])
    def test_by_default_they_support_the_prediction(self, explanation):
        found, corrected = explanation.reasons(5), explanation.adjusted_p_values()
        score = dict(zip(found["row"].astype(str) + found["feature"], found["rank"], strict=True))
        supports = np.where(
            explanation.about == np.array(explanation.output_names)[explanation.outputs.argmax(1)], 1, -1
        )
        for row in range(len(explanation)):
            for at, name in enumerate(NAMES):
                is_reason = supports[row] * explanation.values[row, at] > 0 and corrected[row, at] <= SIGNIFICANT
                assert (f"{row}{name}" in score) == is_reason

    def test_reasons_of_a_refusal_are_those_against_the_other_class(self):
        refused = BENT[BENT.outputs[:, 0] > 0.5]
        first, second = refused.reasons(3), refused.reasons(3, against="approved")
        pd.testing.assert_frame_equal(first, second)

    def test_several_classes(self):
        explanation = explained(three)
        found = explanation.reasons(4, against="1")
        turned = explanation.towards("1")
        for row, feature in found.loc[found["rank"] > 0, ["row", "feature"]].itertuples(index=False):
            at = NAMES.index(feature)
            assert turned.values[row, at] < 0
            assert turned.p_values[row, at] <= SIGNIFICANT
        assert (found["rank"] > 0).sum() > 20

    @pytest.mark.parametrize(("against", "sign"), [("higher", -1), ("lower", 1)])
    def test_a_regression(self, against, sign):
        explanation = explained(lambda X: 1_000 * logit(X))
        found = explanation.reasons(4, against=against)
        lines = found[found["rank"] > 0]
        effects = [
            explanation.values[row, NAMES.index(name)] for row, name in zip(lines["row"], lines["feature"], strict=True)
        ]
        assert len(lines) > 40
        assert np.all(sign * np.array(effects) > 0)
        assert lines["worth"].str.startswith("-" if against == "higher" else "+").all()

    def test_another_question_about_a_number_has_sides_of_its_own(self):
        explanation = explained(logit, outcome=Threshold(0.5))
        found = explanation.reasons(2)
        assert {*found["feature"]} - {"", *NAMES} == set()
        assert np.all(found["rank"] <= 2)

    def test_the_same_features_whatever_signs_are_about(self):
        kept = [name for name in COLUMNS if name != "worth"]
        pd.testing.assert_frame_equal(BENT.towards("refused").reasons(3)[kept], BENT.reasons(3)[kept])

    def test_groups_have_reasons_under_their_own_names(self):
        made = {"constraints": xcid.Constraints(groups={"pair": ["a", "b"]})}
        found = explained(two, **made).reasons(3, {"pair": lambda pair: f"{pair[0]:.2f} and {pair[1]:.2f}"})
        one = found[found["feature"] == "pair"].iloc[0]
        assert one["text"] == "{:.2f} and {:.2f}".format(*TABLE[one["row"], :2])
        assert one["value"] == "{!r}, {!r}".format(*TABLE[one["row"], :2].tolist())

    def test_a_feature_that_must_not_change_has_contributed_all_the_same(self):
        found = explained(two, constraints=xcid.Constraints(frozen=["a"])).reasons(5)
        kept = ["row", "rank", "feature"]
        pd.testing.assert_frame_equal(found[kept], LINEAR.reasons(5)[kept])

    @settings(max_examples=60, deadline=None)
    @given(
        values=st.lists(st.sampled_from([-0.5, -0.2, 0.1, 0.2, 0.3, 0.5]), min_size=5, max_size=5),
        p_values=st.lists(st.sampled_from([0.0, 0.049, 0.05, 0.051, 0.9, np.nan]), min_size=5, max_size=5),
        k=st.integers(1, 6),
    )
    def test_only_significant_ones_and_the_largest_of_them(self, values, p_values, k):
        one = of_scores(values, p_values=p_values)
        found, corrected = one.reasons(k), one.adjusted_p_values()[0]
        due = [at for at in range(5) if values[at] > 0 and corrected[at] <= SIGNIFICANT]
        due = sorted(due, key=lambda at: -values[at])[:k]  # equal ones stay in the order of the columns
        assert found.loc[found["rank"] > 0, "feature"].tolist() == [NAMES[at] for at in due]
        assert len(found) == max(1, len(due))
        assert found.loc[found["rank"] > 0, "p_value"].tolist() == corrected[due].tolist()

    def test_columns_that_cannot_change_take_no_reason_away(self):
        table = np.random.default_rng(5).normal(size=(200, 2))
        wide = np.column_stack([table, np.zeros((200, 20))])

        def model(X):
            return 1 / (1 + np.exp(-X[:, 0] * (1 + X[:, 1] ** 2)))

        found = xcid.Explainer(model, wide)(wide[:20])
        due = np.column_stack([benjamini_hochberg(found.p_values[:, :2]), np.ones((20, 20))])
        assert np.array_equal(found.adjusted_p_values(), due)
        assert (benjamini_hochberg(found.p_values)[:, :2] > due[:, :2]).any()

    @pytest.mark.parametrize("model", [two, bent], ids=["exact", "sampled"])
    @pytest.mark.parametrize(
        "rules",
        [{"frozen": ["a", "b"]}, {"frozen": [*NAMES[:-1]]}, {"ranges": {"a": (0, 1)}}, {"monotone": {"b": "rises"}}],
    )
    def test_what_may_not_change_stays_a_reason(self, model, rules):
        """Constraints say what perturbations and counterfactuals may do; a frozen value has done what it did."""
        free, ruled = (explained(model, constraints=some, **GOOD) for some in (None, xcid.Constraints(**rules)))
        due, found = free.reasons(5, against="approved"), ruled.reasons(5, against="approved")
        same = ["row", "rank", "feature", "worth"]
        assert found[same].equals(due[same])
        is_frozen = found["feature"].isin(rules.get("frozen", []))
        assert (found["note"] == np.where(is_frozen, "cannot be changed", "")).all()
        told = " ".join(Reasons(5, against="approved").sentences(ruled))
        assert told.count("(cannot be changed)") == is_frozen.sum()

    def test_columns_that_the_model_ignores_are_hardly_ever_cited(self):
        """Of 15 columns the model uses three; by single p-values, one row in six cited another one."""
        table = np.random.default_rng(0).normal(size=(1_000, 15))
        explanation = xcid.Explainer(lambda X: X[:, :3] @ [2.0, -1.5, 1.0] > 0, table)(table[:300])
        found = explanation.reasons()
        ignored = found[~found["feature"].isin(["x0", "x1", "x2", ""])]
        assert ignored["row"].nunique() <= 0.05 * 300
        by_single = (explanation.p_values[:, 3:] <= SIGNIFICANT) & (explanation.values[:, 3:] > 0)
        assert by_single.any(axis=1).sum() > 3 * ignored["row"].nunique()
        assert (found["rank"] > 0).sum() > 1.8 * 300

    @settings(max_examples=20, deadline=None)
    @given(order=st.permutations(range(12)))
    def test_the_order_of_rows_makes_no_difference(self, order):
        straight, turned = BENT[:12].reasons(3), BENT[list(order)].reasons(3)
        pd.testing.assert_frame_equal(turned.sort_values(["row", "rank"]).reset_index(drop=True), straight)
        assert turned["row"].drop_duplicates().tolist() == list(order)


class TestTies:
    def test_overlapping_limits_are_ties(self):
        found = of_scores([0.5, 0.48, 0.3, 0.2, -0.49], half=0.015).reasons(4)
        assert found["tied_with"].tolist() == ["b", "a", "", ""]

    def test_so_are_those_with_features_that_are_not_listed(self):
        found = of_scores([0.5, 0.3, 0.29, 0.1, -0.3], half=0.015).reasons(2)
        assert found["tied_with"].tolist() == ["", "c"]

    def test_equal_scores_without_noise_are_tied_too(self):
        found = of_scores([0.3, 0.5, 0.3, 0.1, 0.0], half=0.0).reasons(3)
        assert found["feature"].tolist() == ["b", "a", "c"]
        assert found["tied_with"].tolist() == ["", "c", "a"]

    def test_what_is_not_significant_ties_with_nothing(self):
        found = of_scores([0.5, 0.49, 0.1, 0.1, 0.1], half=0.1, p_values=[0.01, 0.2, 1.0, 1.0, 1.0]).reasons(3)
        assert found["tied_with"].tolist() == [""]

    @pytest.mark.parametrize(
        ("values", "k", "due"),
        [
            ([0.5, 0.3, 0.1, 0.0, 0.0], 3, ""),
            ([0.5, 0.3, 0.29, 0.0, 0.0], 3, " The order of 2 and 3 is not decided."),
            (
                [0.5, 0.49, 0.3, 0.29, 0.0],
                4,
                " The order of 1 and 2 is not decided. The order of 3 and 4 is not decided.",
            ),
            ([0.5, 0.49, 0.48, 0.29, 0.0], 3, " The order of 1, 2 and 3 is not decided."),
            ([0.5, 0.3, 0.29, 0.0, 0.0], 2, " Features that are not listed may be as strong as 2."),
        ],
    )
    def test_in_words(self, values, k, due):
        (said,) = Reasons(k, {name: name for name in NAMES}).sentences(of_scores(values, half=0.006))
        listed = "; ".join(f"{place}. {name}" for place, name in enumerate(NAMES[:k], start=1))
        assert said == f"Reasons for approved: {listed}.{due}"

    def test_whom_they_are_for_or_against(self):
        one = of_scores([0.5, 0.0, 0.0, 0.0, 0.0])
        assert next(Reasons(1).sentences(one)).startswith("Reasons for approved: 1. a ")
        assert next(Reasons(1, against="refused").sentences(one)).startswith("Reasons against refused: 1. a ")
        assert next(Reasons(1).sentences(one.towards("refused"))).startswith("Reasons for approved: 1. a ")
        number, question = explained(logit, TABLE[:1]), explained(logit, TABLE[:1], outcome=Threshold(0.5))
        assert next(Reasons(1, against="raise").sentences(number)).startswith("Reasons against a higher output: 1. ")
        assert next(Reasons(1).sentences(question)).startswith("Reasons for the present answer: 1. ")

    def test_reasons_that_are_not_tied_come_out_the_same_with_other_seeds(self):
        """What is said to be decided is: a rank that two seeds disagree on is nearly always marked."""
        explainer = xcid.Explainer(bent, TABLE)
        first, second = (explainer(TABLE[:60], seed=seed).reasons(3) for seed in (0, 1))
        both = first.merge(second, on=["row", "rank"])
        decided = both[(both["rank"] > 0) & (both["tied_with_x"] == "") & (both["tied_with_y"] == "")]
        assert len(decided) > 30
        assert (decided["feature_x"] == decided["feature_y"]).mean() > 0.97


class TestNone:
    def test_not_decided(self):
        found = of_scores([0.5, 0.2, 0.1, 0.1, 0.1], p_values=[0.2] * 5).reasons(3)
        assert found["text"].tolist() == [NOT_DECIDED]
        assert found["rank"].tolist() == [0]
        assert found["p_value"].isna().all()

    def test_nothing_works_against_it(self):
        found = of_scores([-0.5, -0.2, 0.1, 0.1, 0.1], p_values=[0.0, 0.0, 0.2, 0.2, 0.2]).reasons(3)
        assert found["text"].tolist() == ["no significant feature supports the prediction"]
        found = of_scores([-0.5, -0.2, -0.1, -0.1, -0.1]).reasons(3, against="refused")
        own = "refused" if BENT.outputs[0, 0] > 0.5 else "approved"
        assert (found["text"].iloc[0] == "no significant feature works against refused") == (own == "approved")

    def test_what_hardly_moves_the_output_is_no_reason(self):
        one = of_scores([-0.9, -0.5, -0.012, 0.0, 0.013], half=0.001)
        found = one.reasons(5, against="approved")
        assert found["feature"].tolist() == ["a", "b"]
        (line,) = Reasons(5, against="approved").sentences(one)
        assert line.endswith("No reason, as less than 1% of the output's distance from the average: c.")
        assert one.reasons(2, against="approved")["feature"].tolist() == ["a", "b"]
        nothing = one.reasons(5, against="refused")
        due = "no significant feature works against refused by 1% of the output's distance from the average"
        assert nothing["text"].tolist() == [due]
        larger = of_scores([-0.9, -0.5, -0.015, 0.0, 0.0], half=0.001)
        assert larger.reasons(5, against="approved")["feature"].tolist() == ["a", "b", "c"]

    def test_a_feature_without_a_text_is_noted_where_others_have_one(self):
        one, texts = of_scores([-0.9, -0.5, -0.3, 0.0, 0.0]), {"a": "A is {value}"}
        found = one.reasons(3, texts, against="approved")
        assert found["note"].tolist() == ["", "no text was given", "no text was given"]
        (line,) = Reasons(2, texts, against="approved").sentences(one)
        assert line.count("(no text was given)") == 1
        assert set(one.reasons(3, against="approved")["note"]) == {""}

    def test_a_row_that_failed(self):
        one = replace(of_scores([0.0] * 5, p_values=[1.0] * 5), status=np.array(["model_failed"]))
        for against in (None, "approved"):
            assert "not explained: the model failed" in one.reasons(2, against=against)["text"].iloc[0]

    def test_no_rows(self):
        assert list(BENT[[]].reasons(3).columns) == list(COLUMNS)

    def test_settings_that_have_none(self, approved):
        with approved.raises(InvalidParameter):
            xcid.Explainer.paper(two, TABLE)(TABLE[:2]).reasons(2)
        with approved.raises(InvalidParameter):
            BENT.aggregate().reasons(2)
        with approved.raises(InvalidParameter):
            explained(logit).reasons(2)
        with pytest.raises(EvidenceNotKept):
            explained(three, max_evidence_bytes=0).reasons(2, against="1")


class TestTexts:
    def test_texts_templates_and_functions(self):
        texts = {"a": "A is off", "b": "B is {value}, which is {value}", "c": lambda value: f"C {value * 100:.0f}%"}
        found = of_scores([0.5, 0.4, 0.3, 0.2, 0.0]).reasons(4, texts)
        shown = [repr(cell) for cell in TABLE[0].tolist()]
        assert found["text"].tolist() == [
            "A is off",
            f"B is {shown[1]}, which is {shown[1]}",
            f"C {TABLE[0, 2] * 100:.0f}%",
            f"ignored {shown[3]}",
        ]

    def test_levels_dates_and_missing_cells(self):
        random = np.random.default_rng(3)
        table = pd.DataFrame(
            {
                "level": random.choice(["low", "high"], 200),
                "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(random.integers(0, 900, 200), unit="D"),
                "number": np.where(random.random(200) < 0.3, np.nan, random.normal(size=200)),
            }
        )

        def model(frame):
            return special.expit(
                3.0 * (frame["level"] == "high")
                + 3.0 * (frame["day"] > "2021-01-01")
                + 3.0 * frame["number"].isna()
                - 4
            )

        seen = {}
        texts = {name: lambda value, name=name: str(seen.setdefault(name, value)) for name in table}
        xcid.Explainer(model, table)(table).reasons(3, texts)
        assert seen["level"] in ("low", "high")
        assert seen["day"].startswith("202")
        assert isinstance(seen["number"], float)

    @pytest.mark.parametrize(
        ("texts", "match"),
        [
            ({"a": "x", "income": "y"}, r"texts names \['income'\], which the table does not have"),
            ({"A": "x"}, r"texts names \['A'\] \(did you mean 'a'\?\)"),
            ({"a": 3}, "the text of 'a' must be a text or a function"),
            ("too little", "texts must be a dict"),
            ({"a": lambda value: 1 / 0}, "the text of 'a' cannot be made for row 0: ZeroDivisionError"),
            ({"a": lambda value: None}, "the text of 'a' for row 0 is None"),
        ],
    )
    def test_errors_name_the_feature(self, texts, match):
        with pytest.raises(InvalidParameter, match=match):
            of_scores([0.5, 0.4, 0.3, 0.2, 0.1]).reasons(3, texts)

    @pytest.mark.parametrize("k", [0, -1, 1.5, True])
    def test_k_is_a_whole_number(self, approved, k):
        with approved.raises(InvalidParameter):
            BENT.reasons(k)

    @pytest.mark.parametrize(
        ("cell", "due"),
        [(82929.47, "82929.47"), (1234567.0, "1234567"), (-0.0, "0"), (float(np.float32(0.1)), "0.1"), (0.1, "0.1")],
    )
    def test_a_number_is_quoted_as_the_table_has_it(self, cell, due):
        one = of_scores([0.5, 0.0, 0.0, 0.0, 0.0])
        data = one.data.copy()
        data[0, 0] = cell
        found = replace(one, data=data).reasons(1)
        assert found["value"].tolist() == [due]
        assert found["text"].tolist() == [f"a {due}"]

    def test_unknown_outcomes(self, approved):
        with approved.raises(InvalidParameter):
            BENT.reasons(2, against="granted")
        with approved.raises(InvalidParameter):
            explained(logit).reasons(2, against="sideways")

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_any_library(self, backend):
        pytest.importorskip(backend)
        frame = BENT.reasons(2, backend=backend)
        names = frame.column_names if backend == "pyarrow" else list(frame.columns)
        assert names == list(COLUMNS)


class TestElsewhere:
    def test_columns_beside_scores(self):
        columns, found = Reasons(2).columns(BENT), BENT.reasons(2)
        frame = pd.DataFrame(columns)
        given = frame[frame["reason_rank"] > 0].sort_values(["row", "reason_rank"])
        due = found[found["rank"] > 0]
        for ours, theirs in (("row", "row"), ("reason_rank", "rank"), ("feature", "feature"), ("reason", "text")):
            assert given[ours].tolist() == due[theirs].tolist()
        assert given["reason_tied_with"].tolist() == due["tied_with"].tolist()
        assert frame.loc[frame["row"].isin(due["row"]) & (frame["reason_rank"] == 0), "reason"].eq("").all()

    def test_a_row_without_reasons_says_why_on_all_its_lines(self):
        columns = Reasons(2).columns(of_scores([0.5, 0.2, 0.1, 0.1, 0.1], p_values=[0.2] * 5))
        assert {*columns["reason"].tolist()} == {NOT_DECIDED}

    def test_a_line_in_the_report(self, tmp_path):
        texts = {"a": "a is {value}", "b": lambda value: f"b is {value:.3f}"}
        path = tmp_path / "report.html"
        BENT[:4].report(path, reasons=Reasons(3, texts, against="approved"))
        page = path.read_text(encoding="utf-8")
        for said in Reasons(3, texts, against="approved").sentences(BENT[:4]):
            assert said in page
        BENT[:4].report(path)
        assert "Reasons against" not in path.read_text(encoding="utf-8")

    def test_hidden_values_are_not_in_the_report(self, tmp_path):
        texts = {"a": "a is {value}", "b": lambda value: f"b is {value!r}"}
        path = tmp_path / "report.html"
        BENT[:10].report(path, values="hidden", reasons=Reasons(5, texts))
        page = path.read_text(encoding="utf-8")
        assert "a is hidden" in page
        assert "b is" not in page
        assert not any(f"{cell:.6g}" in page for cell in TABLE[:10].ravel())

    def test_a_regression_is_about_what_was_asked(self, approved, tmp_path):
        explanation, path = explained(logit, TABLE[:3]), tmp_path / "report.html"
        explanation.report(path, reasons=Reasons(2, against="lower"))
        for said in Reasons(2, against="lower").sentences(explanation):
            assert said in path.read_text(encoding="utf-8")
        with approved.raises(InvalidParameter):
            explanation.report(path, reasons=Reasons(2))


class TestOtherReferenceRows:
    LEVEL = pd.DataFrame({"size": TABLE[:, 0], "kind": np.where(TABLE[:, 1] > 0.5, "z", "b")})

    @staticmethod
    def predict(frame):
        return 2 * frame["size"] + (frame["kind"] == "z") - 0.4

    def explain(self, reference, rows=None):
        explainer = xcid.Explainer(self.predict, reference)
        return explainer(self.LEVEL[:40] if rows is None else rows)

    def test_each_reason_has_its_rank_against_those(self):
        large = self.LEVEL[self.LEVEL["size"] > 0.8]
        usual, other = self.explain(self.LEVEL), self.explain(large)
        frame = usual.reasons(2, against="higher", reference=other)
        there = other.reasons(2, against="higher").set_index(["row", "feature"])["rank"]
        due = [int(there.get((line.row, line.feature), 0)) for line in frame.itertuples()]
        assert frame["other_rank"].tolist() == due
        assert {0, 1, 2} == set(due)
        assert list(frame.drop(columns="other_rank")) == list(COLUMNS)
        alone = usual.reasons(2, against="higher", reference=usual)
        assert alone["other_rank"].tolist() == alone["rank"].tolist()

    @pytest.mark.filterwarnings("ignore:24 of 40 rows")
    def test_levels_that_those_rows_lack_are_the_same_rows_all_the_same(self):
        only = self.explain(self.LEVEL[self.LEVEL["kind"] == "z"])
        usual = self.explain(self.LEVEL)
        assert not np.array_equal(only.data, usual.data)
        assert usual.reasons(2, against="higher", reference=only)["other_rank"].max() == 2

    def test_other_rows_are_refused(self, approved):
        usual = self.explain(self.LEVEL)
        for wrong in (usual[:39], self.explain(self.LEVEL, self.LEVEL[40:80]), LINEAR):
            with approved.raises(InvalidParameter):
                usual.reasons(2, against="higher", reference=wrong)


class TestJustAbove:
    def test_it_finds_the_rows_that_pass_with_the_least_to_spare(self):
        explainer = xcid.Explainer(two, TABLE, feature_names=NAMES, **GOOD)
        chance = two(TABLE)[:, 1]
        passed = sorted(np.flatnonzero(chance >= 0.6), key=lambda row: chance[row])
        found = explainer.just_above(TABLE, "approved", 0.6, n=20)
        assert found.tolist() == sorted(passed[:20])
        assert explainer.just_above(TABLE, "approved", 0.6, n=999).tolist() == sorted(passed)
        refused = explainer.just_above(TABLE, "refused", 0.5, n=1)
        assert chance[refused] == chance[chance <= 0.5].max()

    def test_of_a_number_either_side_may_pass(self):
        explainer, outputs = xcid.Explainer(logit, TABLE, feature_names=NAMES), logit(TABLE)
        above, below = (explainer.just_above(TABLE, side, 0.5, n=7) for side in ("higher", "lower"))
        assert sorted(outputs[above]) == sorted(outputs[outputs >= 0.5])[:7]
        assert sorted(outputs[below]) == sorted(outputs[outputs <= 0.5])[-7:]

    def test_of_equal_rows_it_takes_the_first(self):
        explainer = xcid.Explainer(lambda X: X[:, 0] > 0, TABLE, **GOOD)
        found = explainer.just_above(TABLE, "approved", 0.5, n=5)
        assert found.tolist() == np.flatnonzero(TABLE[:, 0] > 0)[:5].tolist()

    def test_what_it_cannot_find_is_said(self, approved):
        explainer, number = xcid.Explainer(two, TABLE, **GOOD), xcid.Explainer(logit, TABLE)
        with approved.raises(InvalidParameter):
            explainer.just_above(TABLE, "approved", 1.5)
        with approved.raises(InvalidParameter):
            explainer.just_above(TABLE, "approve", 0.5)
        with approved.raises(InvalidParameter):
            number.just_above(TABLE, "approved", 0.5)
        with approved.raises(InvalidParameter):
            number.just_above(TABLE, "lower", -99)
