"""Two explanations compared: false positives, planted differences, known answers, signs, refusals, words."""

from __future__ import annotations

import html
import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression

import xcid
from xcid._kernels.permutations import deal_out
from xcid.errors import InvalidData, InvalidParameter
from xcid.show.wording import differences

WEIGHTS = np.array([1.0, -0.7, 0.4, 0.0])
NAMES = ("January", "March")


def logistic(weights):
    """Log odds that add up."""

    def model(X):
        chance = 1 / (1 + np.exp(-(np.asarray(X) @ weights)))
        return np.column_stack([1 - chance, chance])

    return model


BACKGROUND = np.random.default_rng(0).normal(size=(300, 4))
LINEAR = xcid.Explainer(logistic(WEIGHTS), BACKGROUND, class_names=["no", "yes"], max_evidence_bytes=0)


@pytest.fixture(scope="module")
def forest():
    """A model that leaves something to chance, and rows that it does not know."""
    random = np.random.default_rng(1)
    X, rows = random.normal(size=(2, 300, 5))
    y = X[:, 0] * X[:, 1] + X[:, 2] + 0.5 * random.normal(size=300) > 0
    model = RandomForestClassifier(20, min_samples_leaf=5, random_state=0).fit(X, y)
    return xcid.Explainer(model, X, max_evidence_bytes=0), rows


@pytest.fixture(scope="module")
def explanation():
    return LINEAR(BACKGROUND[:6])


@pytest.fixture(scope="module")
def found():
    """A shift of one feature."""
    first, second = np.random.default_rng(5).normal(size=(2, 100, 4))
    first[:, 1] += 0.5
    second[:, 1] += 1.5
    return LINEAR(first).compare(LINEAR(second), NAMES)


class TestFalsePositives:
    def test_halves_of_the_same_rows(self, forest):
        explainer, rows = forest
        random, found = np.random.default_rng(2), []
        for seed in range(3):
            explanation = explainer(rows, seed=seed)
            for _ in range(60):
                order = random.permutation(len(rows))
                found.append(explanation[order[:150]].compare(explanation[order[150:]]).p_values < 0.05)
        assert 0.03 < np.mean(found) < 0.07

    @pytest.mark.parametrize("sizes", [(10, 10), (10, 390), (20, 200)])
    def test_small_groups_of_rare_levels_and_skewed_numbers(self, sizes):
        """Welch's t, which a group without a rare level leaves without an error, finds 20 to 60% of them."""
        random = np.random.default_rng(6)
        n, m = sum(sizes), sizes[0]
        found = []
        for _ in range(40):
            rare = random.random((n, 30)) < 0.04
            values = np.column_stack([rare, np.exp(random.normal(size=(n, 30)))]).astype(float)
            found.append(deal_out(values[:m], values[m:], np.zeros(60)).p_values < 0.05)
        by_column = np.mean(found, axis=0)
        assert by_column[:30].mean() < 0.06
        assert 0.03 < by_column[30:].mean() < 0.07

    def test_groups_that_vary_differently(self):
        random = np.random.default_rng(7)
        found = []
        for _ in range(60):
            first, second = random.normal(size=(15, 30)) * 3, random.normal(size=(300, 30))
            found.append(deal_out(first, second, np.zeros(30)).p_values < 0.05)
        assert 0.03 < np.mean(found) < 0.08

    def test_one_model_with_other_seeds_row_by_row(self, forest):
        """Rows of a plan share what chance does: a paired t alone finds about half of these features different."""
        explainer, rows = forest
        runs = [explainer(rows[:100], seed=seed) for seed in range(12)]
        pairs = [first.compare(second) for at, first in enumerate(runs) for second in runs[:at]]
        assert {pair.kind for pair in pairs} == {"pairs"}
        assert np.mean([pair.p_values < 0.05 for pair in pairs]) < 0.05
        assert all(np.all(pair.lower <= pair.upper) for pair in pairs)

    def test_rows_in_the_mean_of_many_seeds(self, forest):
        explainer, rows = forest
        runs = [explainer(rows[:40], seed=seed) for seed in range(24)]
        true = np.mean([run.towards("True").values for run in runs], axis=0)
        held = []
        for run in runs:
            for first, second in np.random.default_rng(3).integers(40, size=(8, 2)):
                pair = run[int(first)].compare(run[int(second)])
                due = true[second] - true[first]
                held.append((pair.lower <= due + 1e-9) & (due - 1e-9 <= pair.upper))
        assert np.mean(held) > 0.93


class TestKnownAnswers:
    def test_every_way_to_deal_out_a_few_rows(self):
        random = np.random.default_rng(8)
        first, second = random.normal(size=(4, 3)) + np.array([0, 1, 5]), random.normal(size=(5, 3))
        pooled, seen = np.concatenate([first, second]), []
        for members in itertools.combinations(range(9), 4):
            there = np.isin(np.arange(9), members)
            error = np.sqrt(pooled[there].var(axis=0, ddof=1) / 4 + pooled[~there].var(axis=0, ddof=1) / 5)
            seen.append((pooled[there].mean(axis=0) - pooled[~there].mean(axis=0)) / error)
        above = np.mean(np.array(seen) > seen[0], axis=0) + 0.5 / len(seen)  # those that equal it count one half
        due = np.maximum(2 * np.minimum(above, 1 - above), 1 / len(seen))
        assert np.allclose(deal_out(first, second, np.zeros(3)).p_values, due)

    def test_the_order_of_rows_makes_no_difference(self):
        explanation = LINEAR(BACKGROUND[:60])
        once, again = (explanation[rows].compare(explanation[20:]) for rows in (np.arange(20), np.arange(20)[::-1]))
        assert np.array_equal(once.p_values, again.p_values)
        assert np.allclose(once.lower, again.lower, rtol=0, atol=1e-12)  # sums add up in another order

    def test_what_counts_double_is_found_in_sizes(self, approved):
        """Contributions that are twice as large in one group, up and down: their mean is 0 in both."""
        random = np.random.default_rng(9)
        first, second = random.normal(size=(2, 150, 4))
        second[:, 0] *= 2
        found = LINEAR(first).compare(LINEAR(second), NAMES)
        assert found.sizes is not None
        assert not found.significant[0]
        assert found.sizes.significant.tolist() == [True, False, False, False]
        assert np.isclose(found.sizes.difference[0], 2 / np.sqrt(np.pi / 2) - 1 / np.sqrt(np.pi / 2), atol=0.2)
        assert found.sizes.lower[0] < np.sqrt(2 / np.pi) < found.sizes.upper[0]
        approved(str(found).splitlines()[-1])

    def test_two_rows_of_linear_log_odds(self):
        explanation = LINEAR(BACKGROUND[:2])
        pair = explanation[0].compare(explanation[1])
        due = WEIGHTS * (BACKGROUND[1] - BACKGROUND[0])
        assert (pair.kind, pair.n_rows, pair.about, pair.unit) == ("rows", (1, 1), "yes", "log odds of yes")
        assert np.allclose(pair.difference, due, atol=1e-6)
        assert np.all((pair.lower <= due + 1e-9) & (due - 1e-9 <= pair.upper))
        assert np.all(pair.upper - pair.lower < 1e-4)
        assert pair.shown[0] == (f"{BACKGROUND[0, 0]:.6g}", f"{BACKGROUND[1, 0]:.6g}")

    def test_limits_hold_the_difference_of_two_groups(self):
        random, held = np.random.default_rng(4), []
        shift = np.array([0.5, 0.0, 1.0, 0.3])
        explanation = LINEAR(np.concatenate([random.normal(size=(400, 4)), random.normal(size=(400, 4)) + shift]))
        every = explanation[:400].towards("yes").values, explanation[400:].towards("yes").values
        due = every[1].mean(axis=0) - every[0].mean(axis=0)
        for _ in range(200):
            first, second = random.integers(400, size=(2, 30))
            found = explanation[first].compare(explanation[400 + second])
            held.append((found.lower <= due) & (due <= found.upper))
        assert 0.92 < np.mean(held) < 0.98

    def test_a_planted_shift_is_found(self):
        random = np.random.default_rng(5)
        first, second = random.normal(size=(2, 100, 4))
        second[:, 1] += 1.0
        found = LINEAR(first).compare(LINEAR(second), NAMES)
        assert found.kind == "groups"
        assert found.p_values[1] < 1e-4
        assert found.lower[1] < -0.7 < found.upper[1]
        assert found.difference[3] == 0
        assert found.p_values[3] == 1

    def test_a_planted_term_of_a_second_model_is_found(self):
        rows = np.random.default_rng(6).normal(size=(60, 4)) + 0.5
        more = WEIGHTS + np.array([0, 0, 0, 0.3])
        other = xcid.Explainer(logistic(more), BACKGROUND, class_names=["no", "yes"])
        found = LINEAR(rows).compare(other(rows))
        assert found.kind == "pairs"
        assert (found.p_values < 0.05).tolist() == [False, False, False, True]
        assert np.isclose(found.difference[3], 0.3 * (rows[:, 3].mean() - BACKGROUND[:, 3].mean()), atol=1e-6)

    def test_pairs_are_sharper_than_groups(self, forest):
        explainer, rows = forest
        first, second = explainer(rows[:50], seed=0), explainer(rows[:50], seed=1)
        apart = replace(second, index=np.arange(50) + 1000)
        pairs, groups = first.compare(second), first.compare(apart)
        assert (pairs.kind, groups.kind) == ("pairs", "groups")
        assert np.allclose(pairs.difference, groups.difference)
        assert np.all(pairs.upper - pairs.lower < groups.upper - groups.lower)

    def test_a_regression_is_compared_in_its_own_unit(self):
        slopes = np.array([3.0, 0.0, -2.0, 10.0])
        model = LinearRegression().fit(BACKGROUND, BACKGROUND @ slopes)
        explanation = xcid.Explainer(model, BACKGROUND)(BACKGROUND[:2])
        pair = explanation[0].compare(explanation[1])
        assert (pair.about, pair.unit) == ("", "output")
        assert np.allclose(pair.difference, slopes * (BACKGROUND[1] - BACKGROUND[0]), atol=1e-9)

    def test_a_row_against_a_group(self):
        explanation = LINEAR(BACKGROUND[:30])
        found = explanation[0].compare(explanation[1:])
        assert (found.kind, found.n_rows) == ("groups", (1, 29))
        assert np.all(np.isfinite(found.lower) & (found.lower <= found.upper))


class TestSigns:
    @pytest.mark.parametrize("cut", [1, 20])
    def test_the_order_flips_them(self, cut):
        explanation = LINEAR(BACKGROUND[:40])
        one, other = explanation[:cut], explanation[cut : 2 * cut]
        there, back = one.compare(other, NAMES), other.compare(one, NAMES[::-1])
        assert np.allclose(there.difference, -back.difference)
        assert np.allclose(there.lower, -back.upper)
        assert np.allclose(there.p_values, back.p_values)
        assert np.array_equal(there.first, back.second)

    def test_towards_the_other_class(self):
        explanation = LINEAR(BACKGROUND[:40])
        usual, turned = (explanation[:20].compare(explanation[20:], towards=name) for name in ("yes", "no"))
        assert np.allclose(usual.difference, -turned.difference)
        assert turned.about == "no"

    def test_signs_are_about_the_class_of_the_first(self):
        explanation = LINEAR(BACKGROUND[:40])
        found = explanation[:20].compare(explanation[20:].towards("no"))
        assert found.about == "yes"

    def test_of_several_classes_one_is_named(self, approved):
        def model(X):
            powers = np.exp(np.column_stack([X[:, 0], X[:, 1], X[:, 2]]))
            return powers / powers.sum(axis=1, keepdims=True)

        explanation = xcid.Explainer(model, BACKGROUND, class_names=["a", "b", "c"])(BACKGROUND[:20])
        with approved.raises(InvalidParameter):
            explanation[:10].compare(explanation[10:])
        assert explanation[:10].compare(explanation[10:], towards="b").about == "b"


class TestRowsThatFailed:
    def test_they_are_left_out(self):
        explanation = LINEAR(BACKGROUND[:40])
        status = explanation.status.astype("<U20")
        status[3] = "model_failed"
        found = replace(explanation, status=status)[:20].compare(explanation[20:])
        due = explanation[[*range(3), *range(4, 20)]].compare(explanation[20:])
        assert found.n_rows == (19, 20)
        assert np.array_equal(found.difference, due.difference)

    def test_nothing_is_left(self):
        explanation = LINEAR(BACKGROUND[:4])
        failed = replace(explanation, status=np.full(4, "too_slow"))
        with pytest.raises(InvalidData, match="no row is explained in March"):
            explanation.compare(failed[[0, 1]], NAMES)


class TestRefused:
    def test_other_features(self, explanation):
        names = ("x0", "x1", "x2", "other")
        with pytest.raises(InvalidParameter, match=r"different features.*'other'"):
            explanation.compare(replace(explanation, feature_names=names))

    def test_scores_without_signs(self, explanation):
        paper = xcid.Explainer.paper(logistic(WEIGHTS), BACKGROUND, class_names=["no", "yes"])(BACKGROUND[:6])
        for pair in ((explanation, paper), (paper, explanation)):
            with pytest.raises(InvalidParameter, match="no sign"):
                pair[0].compare(pair[1])

    def test_a_regression_against_classes(self, explanation, approved):
        regression = xcid.Explainer(lambda X: X @ WEIGHTS, BACKGROUND)(BACKGROUND[:6])
        with approved.raises(InvalidParameter):
            explanation.compare(regression)

    def test_other_classes(self, explanation, approved):
        other = xcid.Explainer(logistic(WEIGHTS), BACKGROUND, class_names=["no", "maybe"])(BACKGROUND[:6])
        with approved.raises(InvalidParameter):
            explanation.compare(other)

    def test_other_questions(self, explanation):
        hard = xcid.Explainer(
            logistic(WEIGHTS), BACKGROUND, class_names=["no", "yes"], outcome=xcid.outcomes.Flip()
        )(BACKGROUND[:6])  # fmt: skip
        with pytest.raises(InvalidParameter, match="different questions"):
            explanation.compare(hard)

    def test_averages(self, explanation):
        with pytest.raises(InvalidParameter, match="averages"):
            explanation.aggregate().compare(explanation)

    def test_no_rows(self, explanation):
        with pytest.raises(InvalidData, match="no rows"):
            explanation.compare(explanation[[]])

    @pytest.mark.parametrize("names", [("a",), ("a", "a")])
    def test_names_that_are_not_two(self, explanation, names):
        with pytest.raises(InvalidParameter, match="two different names"):
            explanation.compare(explanation[:3], names)


class TestShown:
    def test_text(self, found):
        lines = str(found).splitlines()
        assert lines[0] == "March compared with January: the mean of 100 rows against that of 100"
        assert lines[1].strip() == found.question
        assert " ".join(lines[2].split()[3:]) == "difference (95% limits over rows) p adjusted p"
        assert any(line.split()[:2] == ["~", "x3"] for line in lines)
        assert repr(found) == "<xcid.Comparison: 4 features, 100 and 100 rows, compared as groups>"

    def test_sentences(self, found):
        ends = np.exp(-found.upper[1]), np.exp(-found.lower[1])
        assert differences.word_difference(found, 1) == (
            f"x1: divides the odds of yes by {np.exp(-found.first[1]):.2f} in January and by "
            f"{np.exp(-found.second[1]):.2f} in March: a ratio of {np.exp(-found.difference[1]):.2f} "
            f"({ends[0]:.2f} to {ends[1]:.2f})"
        )
        assert differences.word_difference(found, 3) == "x3: no significant difference"

    def test_what_is_found_heeds_the_number_of_features(self, found):
        """One of 20 features with p < 0.05 is what chance gives: the table has it, and no sentence does."""
        parts = {name: np.tile(getattr(found, name), 5) for name in ("first", "second", "difference", "lower", "upper")}
        names, p_values = tuple(f"x{at}" for at in range(20)), np.array([0.04, *[0.9] * 19])
        many = replace(found, **parts, feature_names=names, p_values=p_values, sizes=None)
        assert not many.significant.any()
        said = str(many)
        assert "  No difference is significant, with p-values adjusted for 20 features." in said.splitlines()
        assert differences.list_cells(many, 0)[-2:] == ["0.040", "0.800"]
        assert "~ not significant (adjusted p > 0.05)" in said
        few = replace(many, p_values=np.r_[0.002, np.full(19, 0.9)])
        assert np.flatnonzero(few.significant).tolist() == [0]
        assert "x0: " in str(few).splitlines()[-1]

    def test_a_sentence_of_opposite_signs(self):
        explanation = LINEAR(np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]]) + BACKGROUND.mean(axis=0))
        told = differences.word_difference(explanation[0].compare(explanation[1], ("Ann", "Bob")), 0)
        assert told == (
            "x0: multiplies the odds of yes by 2.72 in Ann and divides them by 2.72 in Bob: a ratio of 7.39"
        )

    def test_a_sentence_of_a_regression(self):
        model = LinearRegression().fit(BACKGROUND, BACKGROUND @ WEIGHTS)
        rows = np.array([[1.0, 0, 0, 0], [3.0, 0, 0, 0]]) + BACKGROUND.mean(axis=0)
        explanation = xcid.Explainer(model, BACKGROUND)(rows)
        pair = explanation[0].compare(explanation[1])
        assert differences.word_difference(pair, 0) == (
            "x0: raises the output by 1 in the first and by 3 in the second: a difference of 2"
        )
        assert pair.significant.tolist() == [True, False, False, False]  # the others differ by rounding
        assert "x0" in str(pair)

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_frame(self, found, backend):
        frame = found.to_frame(backend)
        columns = ["feature", "first", "second", "difference", "lower", "upper", "p_value", "about", "unit"]
        columns += ["size_first", "size_second", "size_difference", "size_p_value"]
        assert list(frame.column_names if backend == "pyarrow" else frame.columns) == columns
        assert np.allclose(np.asarray(frame["difference"]), found.difference)

    def test_notebook(self, found):
        html = replace(found, names=("<b>", "March"))._repr_html_()
        assert html.count("<tr>") == 5
        assert "&lt;b&gt;" in html
        assert "<b>" not in html

    def test_adjusted(self, found):
        assert np.all(found.adjusted_p_values() >= found.p_values)

    def test_plot(self, found):
        ax = xcid.plots.comparison(found, most=3)
        assert [label.get_text() for label in ax.get_yticklabels()][-1] == "x1"
        assert "hollow: not significant" in ax.get_xlabel()
        assert "1 more feature has a smaller difference" in ax.get_xlabel()
        ticks = dict(zip([label.get_text() for label in ax.get_xticklabels()], ax.get_xticks(), strict=True))
        assert ticks["×1"] == 0
        assert np.isclose(ticks["÷2"], -np.log(2))

    def test_plot_of_an_output(self, found):
        ax = xcid.plots.comparison(replace(found, scale="number", unit="output", about=""))
        assert "do to the output,\nMarch against January" in ax.get_xlabel()


def test_a_page(tmp_path):
    """It runs nothing, escapes names, and says what the text says."""
    table = np.random.default_rng(4).normal(size=(200, 3))
    explainer = xcid.Explainer(
        lambda X: 1 / (1 + np.exp(-3 * X[:, 0])), table, feature_names=["a<b>", "b", "c"], class_names=["no", "<i>yes"]
    )
    low, high = (explainer(table[rows][:20]) for rows in (table[:, 0] < 0, table[:, 0] > 0))
    found = low.compare(high, ("low", "high"))
    found.report(tmp_path / "c.html", title="Low & high")
    text = (tmp_path / "c.html").read_text(encoding="utf-8")
    assert "<script" not in text
    assert "<b>" not in text
    assert "<i>" not in text
    assert "<h1>Low &amp; high</h1>" in text
    assert text.count("high compared with low") == 1
    assert "a&lt;b&gt;" in text
    assert "data:image/png;base64," in text
    found.report(tmp_path / "c.html")
    text = (tmp_path / "c.html").read_text(encoding="utf-8")
    title = html.escape(differences.title_comparison(found))
    assert re.findall(r"<(\w+)[^>]*>high compared", text) == ["title", "h1"]  # once, and the case of names stays
    assert f"<h1>{title}</h1>" in text
    assert f"<li>{html.escape(differences.word_difference(found, 0))}.</li>" in text
    assert "No difference is significant" in _page(low.compare(explainer(table[table[:, 0] < 0][20:40])))


def _page(found):
    from xcid.show.report import comparison

    return comparison.page(found)
