"""What a feature that makes no difference must never look like, and other promises of the recommended setting."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import xcid
from xcid.calibration import Decided
from xcid.cid.per_feature import unsigned
from xcid.contributions import sampled
from xcid.errors import NotEnoughFlips
from xcid.generators import Balanced, Marginal
from xcid.outcomes import ToClass
from xcid.scores import PerFeature, Resampled
from xcid_lab.generators import Complements

TABLE = np.random.default_rng(0).normal(size=(300, 4))


def model(X):
    """The last two features make no difference."""
    return 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1])))


def test_averaged_distances_do_not_make_noise_significant():
    score, generator = Resampled(PerFeature(direction=unsigned)), Marginal(m=60, max_evaluations=2_000)
    joined = xcid.Explainer(model, TABLE, generator=generator, score=score, repeats=6)(TABLE[:20])
    assert np.mean(joined.p_values[:, 2:] < 0.05) < 0.2
    assert np.mean(joined.p_values[np.abs(TABLE[:20, 0]) > 1, 0] < 0.05) > 0.9


def test_flips_are_counted_and_a_class_that_never_changes_is_an_error():
    def never(X):
        return 0.25 + 0 * X[:, 0]

    with pytest.raises(NotEnoughFlips, match="one class only"):
        xcid.Explainer(never, TABLE)(TABLE[:2])
    deep = xcid.Explainer(lambda X: 0.25 - 0.1 * np.tanh(X[:, 0]), TABLE)(TABLE[:2])  # its log odds differ
    assert deep.status.tolist() == ["no_flips"] * 2
    assert np.all(deep.p_values[:, 0] < 0.05)
    explanation = xcid.Explainer(model, TABLE)(TABLE[:5])
    flips = (explanation.cloud.positive > 0.5).sum(axis=1)
    assert np.array_equal(explanation.n_flips, flips)
    assert f"{flips[0]:,} of {explanation.cloud.positive.shape[1]:,} changed copies of the row flip it" in str(
        explanation
    )
    frozen = xcid.Constraints(frozen=["x0"])
    weak = xcid.Explainer(lambda X: 1 / (1 + np.exp(-(3 * X[:, 0] + 0.3 * X[:, 1]))), TABLE, constraints=frozen)
    sure = TABLE[(TABLE[:, 0] > 0.8) & (TABLE[:, 0] < 1.0)][:4]
    assert weak(sure).status.tolist() == ["no_flips"] * 4


@pytest.mark.parametrize("size", [2, 3, 5, 8])
def test_few_background_rows_do_not_make_noise_significant(size):
    runs = [xcid.Explainer(model, TABLE[at : at + size])(TABLE[200:210]) for at in range(0, 40, 8)]
    assert np.mean([run.p_values[:, 2:] < 0.05 for run in runs]) < 0.15


def test_wide_tables_keep_their_p_values():
    wide = np.random.default_rng(1).normal(size=(200, 300))
    explanation = xcid.Explainer(lambda X: 1 / (1 + np.exp(-(4 * X[:, 0] + 2 * X[:, 1]))), wide)(wide[:2])
    assert np.all(explanation.p_values[:, 0] < 0.01)
    assert np.mean(explanation.p_values[:, 2:] < 0.05) < 0.1


def test_more_features_than_rows_can_tell_apart_are_noise():
    wide = np.random.default_rng(1).normal(size=(40, 100))
    explanation = xcid.Explainer(lambda X: 1 / (1 + np.exp(-4 * X[:, 0])), wide)(wide[:2])
    assert np.all(explanation.p_values == 1)
    assert np.all((explanation.lower == -np.inf) & (explanation.upper == np.inf))
    assert np.all(np.abs(explanation.values).argmax(axis=1) == 0)
    assert explanation.in_top(4) == pytest.approx(np.full((2, 100), 0.04), abs=0.05)  # any order is as likely


def test_a_limit_on_one_column_leaves_the_others_alone():
    rng = np.random.default_rng(2)
    common = np.where(rng.random(400) < 0.6, "l29", np.array([f"l{i:02}" for i in rng.integers(0, 30, 400)]))
    frame = pd.DataFrame({"c": common, "x": rng.normal(size=400), "y": rng.normal(size=400)})

    def by_level(X):
        return 1 / (1 + np.exp(-(3.0 * (X["c"] == "l29") - 3.0 * (X["c"] == "l28") + X["x"]).to_numpy()))

    row = frame[frame["c"] == "l05"][:1]
    free = xcid.Explainer(by_level, frame)(row)
    limited = xcid.Explainer(by_level, frame, constraints=xcid.Constraints(ranges={"y": (-9, 2.5)}))(row)
    assert limited.values[0, :2] == pytest.approx(free.values[0, :2], abs=0.01)


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**-1000, 2.0**520, 2.0**900])
def test_scale_makes_no_difference(scale):
    plain = xcid.Explainer(model, TABLE, generator=Complements(200))(TABLE[:3])
    cloud, numbers = plain.cloud, ("values", "alone", "rest", "background")

    def stretched(scale):
        plans = (replace(plan, **{part: scale * getattr(plan, part) for part in numbers}) for plan in cloud.plans)
        parts = {"origin": cloud.origin * scale, "given": cloud.samples * scale, "plans": tuple(plans)}
        return replace(cloud, **parts)

    score = xcid.scores.Adjusted()
    assert score(stretched(scale)).importance == pytest.approx(score(stretched(1.0)).importance, abs=1e-9)
    odds = np.log(cloud.outputs[..., 1] / cloud.outputs[..., 0])
    found = sampled.contributions(stretched(scale), odds, plain.values.sum(axis=1))
    assert found.value == pytest.approx(plain.values, abs=1e-9)


class TestSubgroups:
    def test_missing_and_mixed_labels(self):
        explanation = xcid.Explainer(model, TABLE)(TABLE[:6])
        assert explanation.aggregate(["b", None, "a", "b", "a", None]).index.tolist() == ["a", "b", "missing"]
        assert explanation.aggregate([1.0, np.nan, 2.0, 10.0, 1.0, 2.0]).index.tolist() == [
            "1.0", "2.0", "10.0", "missing",
        ]  # fmt: skip
        assert explanation.aggregate([1, "a", 1, "a", 1, 2]).index.tolist() == ["1", "2", "a"]

    def test_spread_of_rows_that_stop_at_once(self):
        products = lambda X: 1 / (1 + np.exp(-(X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3])))  # noqa: E731
        explainer = xcid.Explainer(products, TABLE, generator=Balanced(100), stop=Decided(k=2, max_evaluations=2_000))
        together = explainer(TABLE[:20])
        once = together.n_evaluations == together.n_evaluations.min()
        assert 0 < once.sum() < 20
        assert np.array_equal(np.isnan(together.spread).all(axis=1), once)


def test_names_of_dicts_are_their_own():
    frame = pd.DataFrame(TABLE, columns=list("abcd"))
    fitted = LogisticRegression().fit(frame, TABLE[:, 0] > 0)
    turned = frame[list("dcba")].to_dict("records")
    explanation = xcid.Explainer(lambda X: fitted.predict_proba(pd.DataFrame(X)[list("abcd")]), turned)(turned[:2])
    assert explanation.feature_names == ("d", "c", "b", "a")
    assert xcid.models.names_for(fitted, turned) is None


def test_stable_asks_for_no_more_features_than_there_are():
    narrow = xcid.Explainer(lambda X: X[:, 0] > 0, TABLE[:, :2])(TABLE[:3, :2])
    assert narrow.stable().shape == (3,)


def test_classes_are_asked_for_by_the_hard_question():
    by_class = xcid.Explainer(model, TABLE).per_class(TABLE[:2])
    assert "ToClass" in by_class["1"].details.settings["outcome"]
    assert repr(ToClass("1")) in by_class["1"].details.settings["outcome"]


def test_values_next_to_each_other_at_the_end_of_the_range():
    """Densities of the narrowest cells end somewhere; their masses are what they are."""
    assert 0 <= xcid.d1([0.0, 5e-324, 1e-323], [1.5e-323, 2e-323, 0.0]) <= 1
