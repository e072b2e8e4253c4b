"""Odds, effects in the output's unit, and signs about a named outcome: exact where the answer is known."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import special

import xcid
import xcid.show.wording
from xcid import outcomes
from xcid.errors import EvidenceNotKept, InvalidParameter

RNG = np.random.default_rng(21)
TABLE = RNG.normal(size=(300, 5))
SLOPES = np.array([2.0, -1.0, 0.5, 0.0, 0.3])
MEAN = TABLE.mean(axis=0)


def logit(X):
    return np.asarray(X) @ SLOPES + 0.4


def two(X):
    chance = special.expit(logit(X))
    return np.column_stack([1 - chance, chance])


def bent(X):
    X = np.asarray(X)
    return special.expit(X[:, 0] * X[:, 1] + X[:, 2] ** 2 - 1 + np.abs(X[:, 3]))


def three(X):
    return special.softmax(np.column_stack([X[:, 0], X[:, 1], 0.5 * X[:, 2] + X[:, 3]]), axis=1)


class Counting:
    """A model that counts the rows that it is asked about."""

    def __init__(self, model):
        self.model, self.asked = model, 0

    def __call__(self, X):
        self.asked += len(X)
        return self.model(X)


class TestOdds:
    def test_log_odds_of_a_logistic_model_are_its_own(self):
        found = xcid.Explainer(two, TABLE)(TABLE[:20]).towards("1")
        due = SLOPES * (TABLE[:20] - MEAN)
        assert np.allclose(found.log_odds, due, atol=2e-6)
        assert np.allclose(found.odds, np.exp(due), rtol=1e-5)

    def test_limits_lie_on_both_sides(self):
        found = xcid.Explainer(bent, TABLE)(TABLE[:20])
        assert np.all(found.log_odds_lower <= found.log_odds)
        assert np.all(found.odds_upper >= found.odds)
        assert np.allclose(np.sign(found.log_odds) * (1 - np.exp(-np.abs(found.log_odds) / 2)), found.values)

    def test_no_limits(self):
        found = xcid.Explainer.paper(two, TABLE)(TABLE[:2])
        for name in ("odds", "log_odds", "odds_lower"):
            with pytest.raises(InvalidParameter, match="not about odds"):
                getattr(found, name)


class TestEffects:
    def test_those_of_a_linear_regression_are_exact(self):
        found = xcid.Explainer(lambda X: 1_000 * logit(X), TABLE)(TABLE[:20])
        due = 1_000 * SLOPES * (TABLE[:20] - MEAN)
        assert np.allclose(found.effects, due, rtol=0, atol=1e-9 * np.abs(due).max())
        assert np.allclose(found.effects_lower, found.effects_upper, rtol=0, atol=1e-8 * np.abs(due).max())

    @pytest.mark.parametrize("scale", [1e-100, 1e100])
    def test_any_unit(self, scale):
        found = xcid.Explainer(lambda X: scale * logit(X), TABLE)(TABLE[:3])
        assert np.allclose(found.effects / scale, SLOPES * (TABLE[:3] - MEAN), atol=1e-9)

    def test_they_add_up_to_the_output_less_the_mean(self):
        def model(X):
            return X[:, 0] * X[:, 1] + np.abs(X[:, 2]) + X[:, 3]

        found = xcid.Explainer(model, TABLE, generator=xcid.generators.Balanced(10_000))(TABLE[:8])
        due = model(TABLE[:8]) - model(TABLE).mean()
        assert np.allclose(found.effects.sum(axis=1), due, atol=0.1)

    def test_limits_hold_the_effects_of_an_endless_run(self):
        def model(X):
            return 5 * X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2

        truth = xcid.Explainer(model, TABLE, generator=xcid.generators.Balanced(60_000))(TABLE[:15]).effects
        explainer = xcid.Explainer(model, TABLE)
        runs = [explainer(TABLE[:15], seed=seed) for seed in range(8)]
        held = np.mean([(run.effects_lower <= truth) & (truth <= run.effects_upper) for run in runs])
        assert 0.9 < held < 0.995

    def test_those_of_classes_are_shares_of_the_probability(self):
        found = xcid.Explainer(two, TABLE, generator=xcid.generators.Balanced(10_000))(TABLE[:10])
        due = two(TABLE[:10]).max(axis=1) - np.where(logit(TABLE[:10]) > 0, *two(TABLE).mean(axis=0)[::-1])
        assert np.allclose(found.effects.sum(axis=1), due, atol=0.05)
        turned = found.towards("0").effects
        assert np.allclose(turned, found.effects * np.where(logit(TABLE[:10]) > 0, -1, 1)[:, None], atol=1e-9)

    def test_they_need_what_the_model_answered(self):
        found = xcid.Explainer(two, TABLE, max_evidence_bytes=0)(TABLE[:2])
        with pytest.raises(EvidenceNotKept, match="answers behind these scores were not kept"):
            _ = found.effects

    @pytest.mark.parametrize("ask", [lambda of: of(two).effects, lambda of: of(logit).towards("up")])
    def test_some_generators_keep_none_of_it(self, ask):
        generator = xcid.generators.Marginal(200)
        with pytest.raises(EvidenceNotKept, match=r"generator of these scores does not keep .* recommended setting"):
            ask(lambda model: xcid.Explainer(model, TABLE, generator=generator)(TABLE[:2]))

    def test_repeated_runs_have_narrower_limits(self):
        def model(X):
            return X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])

        one, many = (xcid.Explainer(model, TABLE, repeats=count)(TABLE[:6]) for count in (1, 9))
        width = [np.mean(found.effects_upper - found.effects_lower) for found in (one, many)]
        assert 0.25 < width[1] / width[0] < 0.45
        assert np.array_equal(np.sign(many.towards("up").values), np.sign(many.effects))

    def test_a_regression_keeps_its_own(self, tmp_path):
        found = xcid.Explainer(logit, TABLE, max_evidence_bytes=0)(TABLE[:3])
        found.save(tmp_path / "e.json")
        assert np.allclose(xcid.load(tmp_path / "e.json").effects, found.effects)
        assert {"effect", "effect_lower", "effect_upper"} <= set(found.to_frame().columns)


class TestTowards:
    def test_two_classes(self):
        found = xcid.Explainer(bent, TABLE)(TABLE[:20])
        turned = found.towards("1")
        sign = np.where(bent(TABLE[:20]) > 0.5, 1.0, -1.0)[:, None]
        assert np.array_equal(turned.values, sign * found.values)
        assert np.array_equal(turned.direction, sign * found.direction)
        assert np.all((turned.lower <= turned.values) & (turned.values <= turned.upper))
        assert np.array_equal(turned.p_values, found.p_values)
        assert np.array_equal(found.towards("0").values, -turned.values)
        assert (found.about, turned.about) == ("", "1")

    @pytest.mark.parametrize(
        ("names", "about"), [(["no", "yes"], "yes"), (["sick", "not sick"], "sick"), (["a", "b"], "b")]
    )
    def test_many_rows_are_about_the_class_that_people_ask_about(self, names, about):
        found = xcid.Explainer(bent, TABLE, class_names=names)(TABLE[:5])
        assert found.aggregate().about == about

    def test_up(self):
        found = xcid.Explainer(logit, TABLE)(TABLE[:20]).towards("up")
        due = SLOPES * (TABLE[:20] - MEAN)
        assert np.array_equal(np.sign(found.values[:, [0, 1, 2, 4]]), np.sign(due[:, [0, 1, 2, 4]]))
        assert np.allclose(found.log_odds, due / logit(TABLE).std(), atol=1e-6)

    def test_one_of_several_against_the_rest(self):
        model = Counting(three)
        explainer = xcid.Explainer(model, TABLE)
        found = explainer(TABLE[:20])
        before = model.asked
        turned = found.towards("1")
        assert model.asked == before
        far = np.abs(TABLE[:20] - MEAN) > 0.5
        assert np.all((np.sign(turned.values[:, 1]) == np.sign(TABLE[:20, 1] - MEAN[1]))[far[:, 1]])
        assert np.all((np.sign(turned.values[:, 0]) == -np.sign(TABLE[:20, 0] - MEAN[0]))[far[:, 0]])
        about = xcid.Explainer(lambda X: three(X)[:, 1], TABLE)(TABLE[:20]).towards("1")  # that class or not
        assert np.allclose(turned.values, about.values, atol=0.03)

    def test_another_class_than_the_one_in_question(self):
        asked = xcid.Explainer(three, TABLE, outcome=outcomes.ToClass("2"))(TABLE[:20])
        plain = xcid.Explainer(three, TABLE)(TABLE[:20])
        assert np.allclose(asked.towards("1").values, plain.towards("1").values, atol=0.05)

    def test_a_threshold_is_about_its_class(self):
        explainer = xcid.Explainer(two, TABLE, outcome=outcomes.Threshold(0.2))
        found = explainer(TABLE[:20]).towards("1")
        assert np.allclose(found.log_odds, SLOPES * (TABLE[:20] - MEAN), atol=1e-5)

    def test_refused(self):
        found = xcid.Explainer(two, TABLE)(TABLE[:2])
        with pytest.raises(InvalidParameter, match="no class 'bad'"):
            found.towards("bad")
        with pytest.raises(InvalidParameter, match="already about '1'"):
            found.towards("1").towards("0")
        with pytest.raises(InvalidParameter, match="about 'up', not '1'"):
            xcid.Explainer(logit, TABLE)(TABLE[:2]).towards("1")
        with pytest.raises(InvalidParameter, match="have no sign"):
            xcid.Explainer.paper(two, TABLE)(TABLE[:2]).towards("1")
        bare = xcid.Explainer(three, TABLE, max_evidence_bytes=0)(TABLE[:2])
        with pytest.raises(EvidenceNotKept):
            bare.towards("1")

    def test_a_file_does_not_keep_what_the_model_answered(self, tmp_path):
        found = xcid.Explainer(three, TABLE)(TABLE[:2])
        found.save(tmp_path / "e.npz")
        with pytest.raises(EvidenceNotKept, match=r"come from a file; .* after loading explain the rows again"):
            xcid.load(tmp_path / "e.npz").towards("1")
        found.towards("1").save(tmp_path / "e.npz")
        assert np.array_equal(xcid.load(tmp_path / "e.npz").values, found.towards("1").values)

    def test_it_is_kept_in_files(self, tmp_path):
        found = xcid.Explainer(bent, TABLE)(TABLE[:3]).towards("1")
        for name in ("e.npz", "e.json"):
            found.save(tmp_path / name)
            assert xcid.load(tmp_path / name).about == "1"


class TestQuestions:
    @pytest.mark.parametrize(
        ("outcome", "words"),
        [
            (outcomes.Flip(soft=True), r"Does the predicted class change\? \(soft"),
            (outcomes.Flip(), r"Does the predicted class change\? \(hard"),
            (outcomes.ToClass("1"), r"become 1, or stop being 1\? \(hard"),
            (outcomes.ToClass("1", soft=True), r"become 1, or stop being 1\? \(soft"),
            (outcomes.Threshold(0.3), r"Does the probability of 1 cross 0\.3\? \(soft"),
            (outcomes.Threshold(0.3, soft=False), r"Does the probability of 1 cross 0\.3\? \(hard"),
            (outcomes.Within(0.2, 0.6), r"enter or leave the range from 0\.2 to 0\.6"),
            (lambda outputs, reference: outputs[:, 1] > 0.5, r"change sides\? \(a question of your own: <lambda>\)"),
        ],
        ids=lambda value: value if isinstance(value, str) else type(value).__name__,
    )
    def test_in_words(self, outcome, words):
        found = xcid.Explainer(two, TABLE, outcome=outcome)(TABLE[:1])
        assert __import__("re").search(words, found.question)
        assert found.question in str(found)

    def test_documents_and_frames_say_it(self, tmp_path):
        found = xcid.Explainer(two, TABLE)(TABLE[:2])
        found.save(tmp_path / "e.json")
        assert json.loads((tmp_path / "e.json").read_text())["question"] == found.question
        assert found.to_frame().attrs == {"question": found.question, "about": "the present output"}
        assert found.towards("1").to_frame().attrs["about"] == "1"

    def test_of_a_regression(self):
        assert "a change of" in xcid.Explainer(logit, TABLE)(TABLE[:1]).question
        hard = xcid.Explainer(logit, TABLE, outcome=outcomes.Interval(half_width=2.0))(TABLE[:1])
        assert hard.question == "Does the output move by more than 2? (hard: every perturbation counts as yes or no)"

    def test_a_threshold_of_one_half_is_the_change_of_class(self):
        found = [
            xcid.Explainer(bent, TABLE, outcome=outcome)(TABLE[:20]) for outcome in (None, outcomes.Threshold(0.5))
        ]
        assert np.allclose(found[0].values, found[1].values, atol=1e-9)
        assert np.allclose(found[0].importance, found[1].importance, atol=1e-9)

    def test_further_answers_cost_no_evaluations(self):
        model = Counting(three)
        explainer = xcid.Explainer(model, TABLE)
        model.asked = 0
        found = explainer(TABLE[:4])
        once = model.asked
        asked = [
            outcomes.Flip(), outcomes.Flip(soft=True), outcomes.ToClass("1"), outcomes.ToClass("2", soft=True),
            outcomes.Threshold(0.4, target="0"), outcomes.Threshold(0.4, target="0", soft=False),
        ]  # fmt: skip
        answers = [explainer.answer(found, outcome) for outcome in asked]
        assert model.asked == once
        for outcome, answer in zip(asked, answers, strict=True):
            due = explainer.with_outcome(outcome)(TABLE[:4])
            assert np.allclose(answer.values, due.values)
            assert answer.question == due.question
            assert answer.status.tolist() == due.status.tolist()

    def test_rows_that_failed_have_no_answers_of_others(self):
        def model(X):
            if np.any(X[:, 0] > 50):
                raise RuntimeError("too large")
            return two(X)

        rows = TABLE[:3].copy()
        rows[1, 0] = 99.0
        explainer = xcid.Explainer(model, TABLE)
        with pytest.warns(xcid.XcidWarning, match="could not be explained"):
            found = explainer(rows)
        assert np.isnan(found.cloud.outputs[1]).all()
        assert np.isnan(found.effects[1]).all()
        with pytest.warns(xcid.XcidWarning, match="could not be explained"):
            answer = explainer.answer(found, outcomes.Flip())
        assert answer.status.tolist() == ["ok", "model_failed", "ok"]

    def test_repeated_runs_are_answered_by_as_many(self):
        explainer = xcid.Explainer(bent, TABLE, repeats=3)
        found = explainer.answer(explainer(TABLE[:3]), outcomes.Flip())
        due = explainer.with_outcome(outcomes.Flip())(TABLE[:3])
        assert np.array_equal(found.values, due.values)
        assert found.spread is not None

    def test_all_classes_cost_as_much_as_one(self):
        model = Counting(three)
        explainer = xcid.Explainer(model, TABLE)
        model.asked = 0
        explainer(TABLE[:4])
        once, model.asked = model.asked, 0
        assert set(explainer.per_class(TABLE[:4])) == {"0", "1", "2"}
        assert model.asked == once


class TestNames:
    def test_of_classes(self):
        found = xcid.Explainer(two, TABLE, class_names=["good", "bad"])(TABLE[:4])
        assert found.output_names == ("good", "bad")
        assert np.allclose(found.towards("bad").log_odds, SLOPES * (TABLE[:4] - MEAN), atol=2e-6)
        by_label = xcid.Explainer(lambda X: (X[:, 0] > 0).astype(int), TABLE, class_names={1: "bad"})(TABLE[:4])
        assert by_label.output_names[:2] == ("0", "bad")

    @pytest.mark.parametrize("names", [["good"], ["same", "same"], "good", {7: "bad"}])
    def test_refused(self, names):
        with pytest.raises(InvalidParameter, match="class_names"):
            xcid.Explainer(two, TABLE, class_names=names)

    def test_a_regression_has_none(self):
        with pytest.raises(InvalidParameter, match="this is a regression"):
            xcid.Explainer(logit, TABLE, class_names=["a", "b"])

    def test_rows_by_name(self):
        frame = pd.DataFrame(TABLE[:4], columns=list("abcde"), index=[553, 7, 9, 9])
        explainer = xcid.Explainer(two, pd.DataFrame(TABLE, columns=list("abcde")))
        found = explainer(frame)
        assert found.row("553").index.tolist() == found.row(553).index.tolist() == [553]
        with pytest.raises(InvalidParameter, match="no row is called 0"):
            found.row(0)
        with pytest.raises(InvalidParameter, match="2 rows are called 9"):
            found.row(9)

    def test_an_explainer_says_what_it_is(self):
        assert repr(xcid.Explainer(two, TABLE)).startswith(
            "<xcid.Explainer of a function: 300 reference rows, 5 features"
        )


class TestSentences:
    def test_odds(self):
        from xcid.show import wording

        found = xcid.Explainer(two, TABLE, class_names=["good", "bad"], feature_names=list("abcde"))(TABLE[:30])
        row = int(np.argmin(TABLE[:30, 0]))
        said = wording.word_feature(found.towards("bad")[row], 0)
        factor = np.exp(-SLOPES[0] * (TABLE[row, 0] - MEAN[0]))
        assert said.startswith(f"a {TABLE[row, 0]:.6g} divides the odds of bad by {factor:.3g} (")
        assert wording.word_feature(found[row], 3).endswith("makes no significant difference")

    def test_regressions(self):
        from xcid.show import wording

        found = xcid.Explainer(lambda X: 1e5 * logit(X), TABLE, feature_names=list("abcde"))(TABLE[:30])
        row = int(np.argmax(TABLE[:30, 0]))
        said = wording.word_feature(found[row], 0)
        assert f"raises the output by {1e5 * SLOPES[0] * (TABLE[row, 0] - MEAN[0]):,.0f} (" in said

    def test_averages(self):
        found = xcid.Explainer(bent, TABLE, class_names=["good", "bad"])(TABLE[:30])
        mean = found.aggregate()
        assert np.allclose(mean.mean, found.towards("bad").log_odds.mean(axis=0))
        assert np.all((mean.mean_lower < mean.mean) & (mean.mean < mean.mean_upper))
        assert str(mean).startswith("mean of 30 rows (30,")
        assert "%: share of rows where the feature is significant" in str(mean)
        assert "odds of" not in str(mean)  # no mean is significant

    def test_an_average_that_is_significant_is_said(self):
        found = xcid.Explainer(two, TABLE, class_names=["good", "bad"])(TABLE[TABLE[:, 0] > MEAN[0]][:30])
        mean = found.aggregate()
        is_clear = (mean.mean_lower * mean.mean_upper > 0)[0]
        assert is_clear.any()
        assert not is_clear.all()
        worths = xcid.show.wording.list_worths(mean)
        assert [bool(worth) for worth in worths] == is_clear.tolist()
        assert "odds of bad by on average" in str(mean)


class TestProgress:
    def test_steps_are_shown_to_whoever_asks(self):
        seen = []

        def progress(steps, total):
            for step in steps:
                seen.append(total)
                yield step

        explainer = xcid.Explainer(two, TABLE, memory=2**18)
        assert np.array_equal(explainer(TABLE[:9], progress=progress).values, explainer(TABLE[:9]).values)
        assert len(seen) == seen[0] > 1

    def test_scripts_are_silent_and_notebooks_are_not(self, monkeypatch):
        from xcid import _check

        assert _check.usual() is _check.silent
        monkeypatch.setitem(__import__("sys").modules, "ipykernel", object())
        pytest.importorskip("tqdm")
        assert _check.usual() is not _check.silent

    def test_the_logger_hears_of_it(self, caplog):
        with caplog.at_level("INFO", logger="xcid"):
            xcid.Explainer(two, TABLE)(TABLE[:2])
        assert "explained 1 of 1 blocks" in caplog.text


class TestWordsForUpAndDown:
    """Four settings have a direction, each with a word of its own; all of them take all words."""

    @pytest.mark.parametrize(
        ("word", "sign"),
        [(word, 1) for word in ("up", "higher", "raise", "rises", "increase")]
        + [(word, -1) for word in ("down", "lower", "falls", "decrease")],
    )
    def test_all_of_them_are_taken_everywhere(self, word, sign):
        explainer = xcid.Explainer(logit, TABLE)
        found = explainer(TABLE[:3])
        documented = {1: ("higher", "raise", "rises"), -1: ("lower", "lower", "falls")}[sign]
        assert found.reasons(against=word).equals(found.reasons(against=documented[0]))
        changed = explainer.counterfactuals(TABLE[:3], target=word).to_frame()
        assert changed.equals(explainer.counterfactuals(TABLE[:3], target=documented[1]).to_frame())
        assert set(changed["about"]) == {"higher" if sign > 0 else "lower"}
        assert xcid.Constraints(monotone={"a": word}).monotone == {"a": documented[2]}
        if sign > 0:
            assert found.towards(word).about == "up"
            assert found.towards(word).towards("up").about == "up"
        else:  # signs of a regression have one direction: below 0 is what lowers the output
            with pytest.raises(InvalidParameter, match="what lowers the output is below 0 there"):
                found.towards(word)

    def test_a_class_of_that_name_comes_first(self):
        explainer = xcid.Explainer(two, TABLE, class_names=["down", "up"])
        assert set(explainer.counterfactuals(TABLE[:3], target="up").to_frame()["about"]) == {"up"}
        assert explainer(TABLE[:3]).towards("down").about == "down"
