"""Contributions in the output's unit, and signs about a named class: exact where the answer is known."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy import special
from sklearn.ensemble import HistGradientBoostingClassifier

import xcid
from xcid import outcomes
from xcid.errors import EvidenceNotKept, InvalidParameter
from xcid.models.predictor import FEW

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
        found = xcid.Explainer(two, TABLE)(TABLE[:20])
        due = SLOPES * (TABLE[:20] - MEAN)
        assert found.unit == "log odds of 1"
        assert np.allclose(found.values, due, atol=2e-6)
        assert np.allclose(found.odds, np.exp(due), rtol=1e-5)
        assert np.allclose(found.base_values, logit(TABLE).mean())

    def test_limits_lie_on_both_sides(self):
        found = xcid.Explainer(bent, TABLE)(TABLE[:20])
        assert np.all((found.lower <= found.values) & (found.values <= found.upper))

    @pytest.mark.parametrize(
        "make", [xcid.Explainer.paper, lambda *given: xcid.Explainer(*given, scale="probability")], ids=["d1", "points"]
    )
    def test_there_are_none_on_other_scales(self, make):
        with pytest.raises(InvalidParameter, match="not log odds"):
            _ = make(two, TABLE)(TABLE[:2]).odds


class TestNumbers:
    def test_those_of_a_linear_regression_are_exact(self):
        found = xcid.Explainer(lambda X: 1_000 * logit(X), TABLE)(TABLE[:20])
        due = 1_000 * SLOPES * (TABLE[:20] - MEAN)
        assert (found.scale, found.unit, {*found.about}) == ("number", "output", {""})
        assert np.allclose(found.values, due, rtol=0, atol=1e-9 * np.abs(due).max())
        assert np.allclose(found.lower, found.upper, rtol=0, atol=1e-8 * np.abs(due).max())

    @pytest.mark.parametrize("scale", [1e-100, 1e100])
    def test_any_unit(self, scale):
        found = xcid.Explainer(lambda X: scale * logit(X), TABLE)(TABLE[:3])
        assert np.allclose(found.values / scale, SLOPES * (TABLE[:3] - MEAN), atol=1e-9)

    def test_limits_hold_the_contributions_of_an_endless_run(self):
        def model(X):
            return 5 * X[:, 0] * X[:, 1] + np.sin(2 * X[:, 2]) + X[:, 3] ** 2

        truth = xcid.Explainer(model, TABLE, generator=xcid.generators.Balanced(60_000))(TABLE[:15]).values
        explainer = xcid.Explainer(model, TABLE)
        runs = [explainer(TABLE[:15], seed=seed) for seed in range(8)]
        held = np.mean([(run.lower <= truth) & (truth <= run.upper) for run in runs])
        assert 0.9 < held < 0.995

    def test_repeated_runs_have_narrower_limits(self):
        def model(X):
            return X[:, 0] * X[:, 1] + np.sin(3 * X[:, 2])

        one, many = (xcid.Explainer(model, TABLE, repeats=count)(TABLE[:6]) for count in (1, 9))
        width = [np.mean(found.upper - found.lower) for found in (one, many)]
        assert 0.25 < width[1] / width[0] < 0.45

    @pytest.mark.parametrize("scale", ["log_odds", "probability"])
    def test_they_have_no_other_scale(self, scale, approved):
        with approved.raises(InvalidParameter):
            xcid.Explainer(logit, TABLE)(TABLE[:2]).on(scale)


class TestScales:
    def test_one_is_made_of_the_other_by_the_same_evaluations(self):
        model = Counting(bent)
        found = xcid.Explainer(model, TABLE)(TABLE[:10])
        before = model.asked
        points = found.on("probability")
        assert model.asked == before
        due = xcid.Explainer(bent, TABLE, scale="probability")(TABLE[:10])
        for name in ("values", "lower", "upper", "p_values", "base_values"):
            assert np.allclose(getattr(points, name), getattr(due, name), rtol=0, atol=1e-12), name
        assert points.unit == due.unit == "probability of 1"
        assert np.array_equal(points.on("log_odds").values, found.values)
        assert np.array_equal(points.importance, found.importance)

    def test_they_need_what_the_model_answered(self, approved):
        found = xcid.Explainer(two, TABLE, max_evidence_bytes=0)(TABLE[:2])
        with approved.raises(EvidenceNotKept):
            found.on("probability")

    def test_some_generators_keep_none_of_it(self, approved):
        found = xcid.Explainer(two, TABLE, generator=xcid.generators.Marginal(200))(TABLE[:2])
        assert np.allclose(found.values, SLOPES * (TABLE[:2] - MEAN), atol=2e-6)  # by a plan of their own
        with approved.raises(EvidenceNotKept):
            found.on("probability")

    def test_refused(self, approved):
        with approved.raises(InvalidParameter):
            xcid.Explainer(two, TABLE)(TABLE[:2]).on("odds")
        with pytest.raises(InvalidParameter, match="not 'odds'"):
            xcid.Explainer(two, TABLE, scale="odds")
        with pytest.raises(InvalidParameter, match="is for probabilities"):
            xcid.Explainer(logit, TABLE, scale="log_odds")


class TestTowards:
    @pytest.mark.parametrize("scale", ["log_odds", "probability"])
    def test_two_classes(self, scale):
        found = xcid.Explainer(bent, TABLE, scale=scale)(TABLE[:20])
        assert set(found.about) == {"1"}
        assert found.towards("1") is found
        turned = found.towards("0")
        assert np.array_equal(turned.values, -found.values)
        assert np.array_equal(turned.lower, -found.upper)
        assert np.array_equal(turned.p_values, found.p_values)
        assert np.allclose(turned.base_values, -found.base_values if scale == "log_odds" else 1 - found.base_values)
        assert set(turned.about) == {"0"}
        assert np.array_equal(turned.towards("1").values, found.values)

    @pytest.mark.parametrize("names", [["no", "yes"], ["sick", "not sick"], ["a", "b"]])
    def test_all_rows_are_about_the_second_class(self, names):
        found = xcid.Explainer(bent, TABLE, class_names=names)(TABLE[:5])
        assert found.about.tolist() == names[1:] * 5
        assert found.aggregate().about.tolist() == names[1:]

    def test_several_are_about_the_predicted_one(self):
        found = xcid.Explainer(three, TABLE)(TABLE[:20])
        assert found.about.tolist() == [str(at) for at in three(TABLE[:20]).argmax(axis=1)]
        assert found.unit == "log odds of the predicted class"
        assert found.aggregate().about.tolist() == ["the predicted class"]

    def test_up(self):
        found = xcid.Explainer(logit, TABLE)(TABLE[:20])
        assert found.towards("up") is found

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

    def test_rows_that_are_about_the_class_keep_their_numbers(self):
        """Exact margins of boosted trees help to sample log odds when rows are explained, and are gone later."""
        model = HistGradientBoostingClassifier(max_iter=5, random_state=0).fit(TABLE, three(TABLE).argmax(axis=1))
        found = xcid.Explainer(model, TABLE, scale="log_odds")(TABLE[:20])
        turned, kept = found.towards("1"), found.about == "1"
        assert 0 < kept.sum() < 20
        for part in ("values", "lower", "upper", "p_values", "base_values", "exact"):
            assert np.array_equal(getattr(turned, part)[kept], getattr(found, part)[kept])
        odds = np.log(turned.outputs[:, 1] / (1 - turned.outputs[:, 1]))
        assert np.allclose(turned.base_values + turned.values.sum(axis=1), odds, atol=1e-9)

    def test_another_class_than_the_one_in_question(self):
        asked = xcid.Explainer(three, TABLE, outcome=outcomes.ToClass("2"))(TABLE[:20])
        plain = xcid.Explainer(three, TABLE)(TABLE[:20])
        assert np.allclose(asked.towards("1").values, plain.towards("1").values, atol=0.05)

    def test_a_threshold_is_about_its_class(self):
        explainer = xcid.Explainer(two, TABLE, outcome=outcomes.Threshold(0.2))
        found = explainer(TABLE[:20])
        assert set(found.about) == {"1"}
        assert np.allclose(found.values, SLOPES * (TABLE[:20] - MEAN), atol=1e-5)

    def test_refused(self):
        found = xcid.Explainer(two, TABLE)(TABLE[:2])
        with pytest.raises(InvalidParameter, match="no class 'bad'"):
            found.towards("bad")
        with pytest.raises(InvalidParameter, match="about 'up', not '1'"):
            xcid.Explainer(logit, TABLE)(TABLE[:2]).towards("1")
        with pytest.raises(InvalidParameter, match="have no sign"):
            xcid.Explainer.paper(two, TABLE)(TABLE[:2]).towards("1")
        bare = xcid.Explainer(three, TABLE, max_evidence_bytes=0)(TABLE[:2])
        with pytest.raises(EvidenceNotKept):
            bare.towards("1")

    def test_a_file_does_not_keep_what_the_model_answered(self, tmp_path, approved):
        found = xcid.Explainer(three, TABLE)(TABLE[:2])
        found.save(tmp_path / "e.npz")
        with approved.raises(EvidenceNotKept):
            xcid.load(tmp_path / "e.npz").towards("1").towards("0")
        found.towards("1").save(tmp_path / "e.npz")
        assert np.array_equal(xcid.load(tmp_path / "e.npz").values, found.towards("1").values)

    def test_it_is_kept_in_files(self, tmp_path):
        found = xcid.Explainer(bent, TABLE)(TABLE[:3]).towards("0")
        for name in ("e.npz", "e.json"):
            found.save(tmp_path / name)
            assert xcid.load(tmp_path / name).about.tolist() == ["0"] * 3


class TestQuestions:
    @pytest.mark.parametrize(
        ("outcome", "words"),
        [
            (outcomes.Flip(soft=True), r"Does the predicted class change\? \(counted by"),
            (outcomes.Flip(), r"Does the predicted class change\? \(counted as"),
            (outcomes.ToClass("1"), r"become class 1, or stop being class 1\? \(counted as"),
            (outcomes.ToClass("1", soft=True), r"become class 1, or stop being class 1\? \(counted by"),
            (outcomes.Threshold(0.3), r"Does the probability of class 1 cross 0\.3\? \(counted by"),
            (outcomes.Threshold(0.3, soft=False), r"Does the probability of class 1 cross 0\.3\? \(counted as"),
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
        told = {"question": found.question, "unit": "log odds of 1", "limits": "computation"}
        told |= {"estimand": "Shapley", "settings": dict(found.details.settings)}
        assert found.to_frame().attrs == told
        assert found.towards("0").to_frame().attrs["unit"] == "log odds of 0"

    def test_of_a_regression(self):
        assert "a change of" in xcid.Explainer(logit, TABLE)(TABLE[:1]).question
        hard = xcid.Explainer(logit, TABLE, outcome=outcomes.Interval(half_width=2.0))(TABLE[:1])
        assert hard.question == "Does the output move by more than 2? (counted as yes or no)"

    def test_a_threshold_of_one_half_is_the_change_of_class(self):
        found = [
            xcid.Explainer(bent, TABLE, outcome=outcome)(TABLE[:20]) for outcome in (None, outcomes.Threshold(0.5))
        ]
        assert np.allclose(found[0].values, found[1].values, atol=1e-9)
        assert np.allclose(found[0].importance, found[1].importance, atol=1e-9)

    def test_further_answers_need_no_samples(self):
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
        compared = FEW + 4 + FEW  # reference rows, rows and samples: whether the model is still the same
        assert model.asked == once + compared * len(asked)
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
        assert np.isnan(found.on("probability").values[1]).all()
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
        assert model.asked == once + FEW


class TestNames:
    def test_of_classes(self):
        found = xcid.Explainer(two, TABLE, class_names=["good", "bad"])(TABLE[:4])
        assert found.output_names == ("good", "bad")
        assert np.allclose(found.values, SLOPES * (TABLE[:4] - MEAN), atol=2e-6)
        by_label = xcid.Explainer(lambda X: (X[:, 0] > 0).astype(int), TABLE, class_names={1: "bad"})(TABLE[:4])
        assert by_label.output_names[:2] == ("0", "bad")

    @pytest.mark.parametrize("names", [["good"], ["same", "same"], "good", {7: "bad"}])
    def test_refused(self, names):
        with pytest.raises(InvalidParameter, match="class_names"):
            xcid.Explainer(two, TABLE, class_names=names)

    def test_a_regression_has_none(self):
        with pytest.raises(InvalidParameter, match="this is a regression"):
            xcid.Explainer(logit, TABLE, class_names=["a", "b", "c"])

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


class TestAverages:
    def test_they_are_means_with_limits(self):
        found = xcid.Explainer(bent, TABLE, class_names=["good", "bad"])(TABLE[:30])
        mean = found.aggregate()
        assert np.allclose(mean.values, found.values.mean(axis=0))
        assert np.allclose(mean.size, np.abs(found.values).mean(axis=0))
        assert np.all((mean.lower < mean.values) & (mean.values < mean.upper))
        assert np.allclose(mean.base_values, found.base_values.mean())

    def test_they_are_sure_where_all_rows_say_the_same(self):
        found = xcid.Explainer(two, TABLE)(TABLE[TABLE[:, 0] > MEAN[0]][:30]).aggregate()
        assert found.lower[0, 0] > 0
        assert (found.lower * found.upper < 0).any()


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

        assert _check.choose_progress() is _check.silent
        monkeypatch.setitem(__import__("sys").modules, "ipykernel", object())
        pytest.importorskip("tqdm")
        assert _check.choose_progress() is not _check.silent

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
    def test_all_of_them_are_taken_everywhere(self, word, sign, approved):
        explainer = xcid.Explainer(logit, TABLE)
        found = explainer(TABLE[:3])
        documented = {1: ("higher", "raise", "rises"), -1: ("lower", "lower", "falls")}[sign]
        assert found.reasons(against=word).equals(found.reasons(against=documented[0]))
        changed = explainer.counterfactuals(TABLE[:3], target=word).to_frame()
        assert changed.equals(explainer.counterfactuals(TABLE[:3], target=documented[1]).to_frame())
        assert set(changed["about"]) == {"higher" if sign > 0 else "lower"}
        assert xcid.Constraints(monotone={"a": word}).monotone == {"a": documented[2]}
        if sign > 0:
            assert found.towards(word) is found
        else:  # signs of a regression have one direction: below 0 is what lowers the output
            with approved.raises(InvalidParameter):
                found.towards(word)

    def test_a_class_of_that_name_comes_first(self):
        explainer = xcid.Explainer(two, TABLE, class_names=["down", "up"])
        assert set(explainer.counterfactuals(TABLE[:3], target="up").to_frame()["about"]) == {"up"}
        assert explainer(TABLE[:3]).towards("down").about.tolist() == ["down"] * 3


def test_samples_under_constraints_give_no_other_scale():
    explainer = xcid.Explainer(lambda X: special.expit(logit(X)), TABLE, constraints=xcid.Constraints(frozen=["x0"]))
    found = explainer(TABLE[:3])
    assert np.all(found.values[:, 0] != 0)  # what a frozen value did
    with pytest.raises(xcid.errors.EvidenceNotKept, match="obey constraints"):
        found.on("probability")
