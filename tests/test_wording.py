"""One wording: all views of an explanation agree on what is significant, what was predicted and what is lacking."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

import xcid
import xcid.show.report
from xcid._numbers import percent
from xcid.outcomes import Threshold
from xcid.outcomes.classes import OTHER_LABEL
from xcid.records import FEATURE_STATUSES, SIGNIFICANT, STATUSES, Status
from xcid.show import wording
from xcid.show.wording import names
from xcid.show.wording.rows import find_hangs, get_share, list_hangs, say_how_far
from xcid_lab.adapters.interpret import LocalExplanation

TABLE = np.random.default_rng(0).normal(size=(120, 3)).round(2)
NAMES = ["first", "second", "third"]


@pytest.fixture(scope="module")
def one():
    """One row whose features are all significant."""
    made = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X.sum(axis=1))), TABLE, feature_names=NAMES)(TABLE[:1])
    values = np.array([[0.3, -0.2, 0.1]])
    return replace(made, values=values, p_values=np.full((1, 3), 0.001))


def page(explanation, folder):
    """The data of a report."""
    explanation.report(folder / "r.html")
    return json.loads(re.search(r'id="data">(.*?)</script>', (folder / "r.html").read_text("utf-8"), re.DOTALL)[1])


class TestSignificance:
    @pytest.mark.parametrize(
        ("p_value", "is_significant"),
        [(0.0, True), (SIGNIFICANT, True), (np.nextafter(SIGNIFICANT, 1), False), (1.0, False), (np.nan, False)],
    )
    def test_every_view_has_the_same_rule(self, one, tmp_path, p_value, is_significant):
        shown = replace(one, p_values=np.array([[p_value, 0.001, 0.001]]))
        assert shown.significant.tolist() == [[is_significant, True, True]]
        assert wording.is_faint(shown).tolist() == [[not is_significant, False, False]]
        assert ("~ not significant (adjusted p > 0.05)" in str(shown)) != is_significant
        assert ("background:transparent" in shown._repr_html_()) != is_significant
        assert any(bar.get_facecolor()[3] == 0 for bar in xcid.plots.bar(shown).patches) != is_significant
        data = page(shown, tmp_path)
        assert ("first is not significant." in data["rows"][0]["sentences"]) != is_significant
        assert data["rows"][0].get("faint", []) == ([] if is_significant else [0])
        reasons = shown.reasons(3)["feature"].tolist()
        assert ("first" in reasons) == is_significant
        assert shown.aggregate().share_significant[0].tolist() == [float(is_significant), 1.0, 1.0]

    def test_a_small_p_value_among_many_is_not_enough(self, one):
        shown = replace(one, p_values=np.array([[0.04, 0.4, 0.4]]))
        assert not shown.significant.any()
        alone = replace(shown, feature_status=np.array([["ok", "constant", "constant"]]))
        assert alone.significant.tolist() == [[True, False, False]]

    def test_what_cannot_change_is_neither(self, one):
        same = replace(one, feature_status=np.array([["constant", "ok", "ok"]]), p_values=np.ones((1, 3)))
        assert wording.is_faint(same).tolist() == [[False, True, True]]
        two = xcid.Explanation.concatenate([same, same])
        assert two._repr_html_().count(">0%<") == 3

    def test_without_p_values(self, one):
        bare = replace(one, p_values=None)
        assert bare.significant is None
        assert not wording.is_faint(bare).any()


class TestAnswers:
    def test_a_row_without_an_output(self, one, tmp_path):
        failed = replace(one, outputs=np.full((1, 2), np.nan))
        assert str(failed).startswith("row 0: no output; ")
        assert ">row 0: no output<" in failed._repr_html_()
        assert xcid.plots.bar(failed).get_title().splitlines()[0] == "row 0: no output"
        row = page(failed, tmp_path)["rows"][0]
        assert (row["answer"], row["sentences"][0]) == ("no output", "The model gives no output.")
        assert "outputs" not in row
        found = LocalExplanation("x", failed).data(0)["perf"]
        assert found["predicted"] == "no output"
        assert np.isnan(found["predicted_score"])

    def test_every_view_has_the_same_answer(self, one, tmp_path):
        said = wording.format_prediction(one.outputs[0], one.output_names)
        assert re.fullmatch(r"class [01] \(0\.\d\d\)", said)
        assert str(one).startswith(f"row 0: predicted {said};")
        assert f">row 0: predicted {said}<" in one._repr_html_()
        row = page(one, tmp_path)["rows"][0]
        assert (row["answer"], row["sentences"][0]) == (said, f"The model predicts {said}.")

    @pytest.mark.parametrize(
        ("outputs", "classes", "said"),
        [
            ([0.2, 0.8], ("no", "yes"), "yes (0.80)"),
            ([1.0, 0.0], ("no", OTHER_LABEL), "no"),
            ([-3.0, 12.3456], ("no", "yes"), "yes"),
            ([1234.567], ("output",), "1235"),
            ([-123456.0], ("output",), "-123,456"),
            ([np.nan, 0.5], ("no", "yes"), "no output"),
        ],
    )
    def test_kinds(self, outputs, classes, said):
        assert wording.format_prediction(np.array(outputs), classes) == said


class TestStatuses:
    def test_a_new_one_needs_no_other_wording(self, one, tmp_path, monkeypatch):
        monkeypatch.setitem(STATUSES, "half_known", Status("half_known", "only half of it is known", "ask again"))
        half = replace(one, status=np.array(["half_known"]))
        assert "half_known" in str(half)
        assert "(half_known)" in half._repr_html_()
        assert xcid.show.report.summary(half)[1] == "Only half of it is known."
        assert page(half, tmp_path)["statuses"] == [["half_known", "Only half of it is known. Ask again."]]

    def test_pages_know_what_features_lack(self, one, tmp_path):
        known = page(one, tmp_path)["feature_statuses"]
        assert known == {name: status.meaning for name, status in FEATURE_STATUSES.items()}


class TestWhatSignsAreAbout:
    """The second of two classes, the target of a question, or the predicted one of several."""

    def test_a_threshold_that_is_not_where_the_class_changes(self):
        def chance(X):
            return np.column_stack([1 - X[:, 0], X[:, 0]])

        table = np.column_stack([np.linspace(0.05, 0.95, 60), np.tile([0.0, 1.0], 30)])
        row = [[0.4, 0.0]]  # class 0 is predicted, and the chance of class 1 lies above the level
        default = xcid.Explainer(chance, table)(row)
        other = xcid.Explainer(chance, table, outcome=Threshold(0.3))(row)
        for one in (default, other):
            assert "contribution in log odds of class 1: + raises them" in str(one)
            assert "the odds of class 1 by" in str(one)
        assert np.allclose(default.values, other.values)

    def test_rows_of_several_classes_are_averaged_about_their_own_predictions(self):
        def three(X):
            odds = np.exp(3 * X)
            return odds / odds.sum(axis=1, keepdims=True)

        table = np.random.default_rng(0).normal(size=(80, 3))
        assert "contributions in log odds of the predicted class: from" in str(
            xcid.Explainer(three, table)(table[:6]).aggregate()
        )


def test_what_is_left_out():
    assert [wording.count_left_out(n, 12) for n in (3, 12, 13, 40)] == [
        "", "", "1 more feature has a smaller score", "28 more features have smaller scores",
    ]  # fmt: skip


@pytest.mark.parametrize("most", [1, 2, 7, 8])
def test_elided_names_are_short_and_keep_both_ends(most):
    assert len(names.elide("abcdefghij", most)) == most
    assert names.elide("abcdefghij", 7) == "abc…hij"


class TestWhatItHangsOn:
    """Sentences from counts: shares of usual values that flip the row alone."""

    def told(self, one, values, alone):
        shown = replace(one, values=np.array([values]), flips_alone=np.array([alone]))
        texts = list_hangs(shown)
        return [
            texts[kind].format(
                name=shown.feature_names[at],
                did=wording.format_score(shown, values[at]),
                share=percent(get_share(shown, at)),
            )
            for kind, at in find_hangs(shown)
        ]

    def test_counts(self, one):
        assert self.told(one, [0.3, -0.2, 0.1], [0.625, 0.0, 0.25]) == [
            f"With {share} of the usual values of {name} that were tried, nothing else changed, the decision would be "
            "different."
            for name, share in (("first", "63%"), ("third", "25%"))
        ]

    def test_little_done_and_much_decided(self, one):
        (first,) = self.told(one, [0.002, -0.2, 0.3], [0.5, 0.0, np.nan])[:1]
        assert first == (
            "first has hardly moved the output (+0.002), but with 50% of its usual values that were tried, "
            "nothing else changed, the decision would be different."
        )

    def test_little_done_needs_two_of_eight_values(self, one):
        (first,) = self.told(one, [0.002, -0.2, 0.3], [0.125, 0.0, np.nan])[:1]
        assert first == (
            "With 13% of the usual values of first that were tried, nothing else changed, the decision would be "
            "different."
        )
        (first,) = self.told(one, [0.002, -0.2, 0.3], [0.25, 0.0, np.nan])[:1]
        assert "first has hardly moved the output (+0.002), but with 25%" in first

    def test_much_done_and_nothing_decided(self, one):
        told = self.told(one, [-0.45, 0.2, 0.1], [0.0, 0.1, 0.2])
        assert told[-1] == (
            "first has done much (-0.450), but hardly any of its usual values would change the decision, "
            "nothing else changed: none of those that were tried did."
        )
        assert len(told) == 3

    def test_a_number_moves_by_how_far_counts(self):
        """Any other value of a used feature moves a number a little: what is counted is a move beyond the distance."""
        X = np.random.default_rng(0).normal(size=(80, 2))
        found = xcid.Explainer(lambda X: X @ [2.0, 0.3], X, feature_names=["first", "second"])(X[:1])
        told = self.told(found, [2.0, 0.1], [0.25, 0.0])
        far = names.format_number(found.details.outcome.half_width)
        assert told[0].endswith(f"nothing else changed, the output would move by more than {far}.")
        assert f"nothing else changed, it moves by more than {far}" in str(found)
        unknown = replace(found, details=replace(found.details, outcome=None))
        assert say_how_far(unknown) == " far enough to count"

    def test_nothing_is_said_of_what_was_not_tried(self, one):
        assert find_hangs(replace(one, flips_alone=None)) == []
        assert self.told(one, [0.3, 0.2, 0.1], [np.nan] * 3) == []

    def test_the_column_beside_it(self, one):
        shown = str(replace(one, flips_alone=np.array([[0.625, 0.0, np.nan]])))
        assert re.search(r"importance +alone", shown)
        assert " 63% " in shown
        due = "alone: of 16 usual values that were tried, the share with which, nothing else changed, it flips"
        assert due.replace("16", str(len(one.cloud.plan.alone))) in shown
        assert "alone" not in str(replace(one, flips_alone=None))
