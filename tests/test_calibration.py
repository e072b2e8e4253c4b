"""Top sets, corrected p-values, repeated runs, stopping, averages over rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.linear_model import LogisticRegression

import xcid
from xcid import calibration
from xcid.calibration import Decided, Precise, Repeats
from xcid.cid.per_feature import held_in_place
from xcid.densities import Mixed
from xcid.errors import InvalidData, InvalidParameter
from xcid.generators import Balanced, Marginal, Random
from xcid.outcomes import Flip
from xcid.scores import PerFeature, Resampled

RNG = np.random.default_rng(31)
TABLE = RNG.normal(size=(300, 6))


def model(X):
    return 1 / (1 + np.exp(-(X @ np.array([2.0, 1.0, 0.5, 0.25, 0.0, 0.0]) + X[:, 0] * X[:, 4])))


@pytest.fixture(scope="module")
def explanation():
    return xcid.Explainer(model, TABLE)(TABLE[:30])


def test_corrected_p_values_are_those_of_scipy(explanation):
    expected = stats.false_discovery_control(explanation.p_values, axis=1)
    assert np.allclose(explanation.adjusted_p_values(), expected)
    assert np.all(explanation.adjusted_p_values() >= explanation.p_values * (1 - 1e-12))
    assert np.array_equal(explanation.significant, expected <= 0.05)
    assert 0 < explanation.significant.sum() < (explanation.p_values <= 0.05).sum()


class TestTop:
    def test_probabilities_sum_to_k(self, explanation):
        for k in (1, 3, 6):
            assert explanation.in_top(k).sum(axis=1) == pytest.approx([k] * 30)

    def test_sure_and_unsure(self, explanation):
        values = np.tile([0.9, 0.5, 0.1, 0.1, 0.0, 0.0], (1, 1))
        sure = replace(explanation[0], values=values, lower=values - 1e-6, upper=values + 1e-6)
        assert sure.in_top(2).tolist() == [[1, 1, 0, 0, 0, 0]]
        assert sure.stable(2).tolist() == [True]
        tied = replace(sure, lower=values - 0.05, upper=values + 0.05)
        assert tied.in_top(3)[0, 2:4] == pytest.approx([0.5, 0.5], abs=0.1)
        assert tied.stable(3).tolist() == [False]

    def test_is_calibrated(self):
        """The share of the top set that is expected to be there is there, on average."""
        explainer = xcid.Explainer(model, TABLE, generator=Balanced(200))
        rows = TABLE[:40]
        truth = xcid.Explainer(model, TABLE, generator=Balanced(20_000))(rows).values
        expected, found = [], []
        for seed in range(5):
            run = explainer(rows, seed=seed)
            expected.append(calibration.top_agreement(run, 3))
            found.append(xcid.metrics.feature_agreement(run.values, truth, 3))
        assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.05)

    def test_refused(self, approved, explanation):
        with approved.raises(InvalidParameter):
            explanation.in_top(7)
        paper = xcid.Explainer.paper(model, TABLE)(TABLE[:1])
        with approved.raises(InvalidParameter):
            paper.in_top(2)
        with approved.raises(InvalidParameter):
            paper.adjusted_p_values()


class TestRepeats:
    def test_the_mean_of_independent_runs(self):
        explainer = xcid.Explainer(model, TABLE, generator=Balanced(200), repeats=4)
        joined = explainer(TABLE[:10])
        once = xcid.Explainer(model, TABLE, generator=Balanced(200))(TABLE[:10])
        assert np.all(joined.n_evaluations == 4 * 201)
        assert not np.allclose(joined.values, once.values)
        assert np.all(joined.spread > 0)
        width, width_once = joined.upper - joined.lower, once.upper - once.lower
        assert np.mean(width) == pytest.approx(np.mean(width_once) / 2, rel=0.15)
        assert once.spread is None

    def test_of_the_paper(self):
        """As in its section 4.2: the mean of ten runs is steadier than one."""
        one, ten = (
            [xcid.Explainer.paper(model, TABLE, m=20, repeats=r)(TABLE[:10], seed=s) for s in (0, 1)] for r in (1, 10)
        )
        gap = lambda pair: np.abs(pair[0].values - pair[1].values).mean()  # noqa: E731
        assert gap(ten) < 0.6 * gap(one)
        assert ten[0].lower is None
        assert np.all(ten[0].spread > 0)
        assert ten[0].base_values is None

    def test_limits_and_p_values_still_hold(self):
        explainer = xcid.Explainer(model, TABLE, generator=Balanced(400), repeats=5)
        runs = [explainer(TABLE[:15], seed=seed) for seed in range(12)]
        truth = np.mean([run.values for run in runs], axis=0)
        assert 0.88 <= np.mean([(run.lower <= truth) & (truth <= run.upper) for run in runs]) <= 0.995
        assert np.mean([run.p_values[:, 5] < 0.05 for run in runs]) < 0.12

    def test_refused(self, approved):
        with approved.raises(InvalidParameter):
            xcid.Explainer(model, TABLE, repeats=0)
        with approved.raises(InvalidParameter):
            xcid.Explainer(model, TABLE, repeats=2, stop=Decided())


class TestStopping:
    def test_goes_on_where_the_top_is_undecided(self):
        stop = Decided(k=3, confidence=0.97, max_evaluations=4_000)
        explainer = xcid.Explainer(model, TABLE, generator=Balanced(200), stop=stop)
        explanation = explainer(TABLE[:30])
        once = xcid.Explainer(model, TABLE, generator=Balanced(200))(TABLE[:30])
        more = explanation.n_evaluations > 201
        assert 0 < more.sum() < 30
        assert np.array_equal(more, ~once.stable(3, 0.97))
        assert np.all(explanation.n_evaluations <= 4_000)
        undecided = ~explanation.stable(3, 0.97)
        assert np.all(explanation.n_evaluations[undecided] > 4_000 - 201)
        assert np.allclose(explanation.values[~more], once.values[~more])

    def test_a_row_stops_by_itself(self):
        explainer = xcid.Explainer(model, TABLE, generator=Balanced(200), stop=Decided(k=3, max_evaluations=2_000))
        together = explainer(TABLE[:12])
        for row in (0, 5, 11):
            alone = explainer(TABLE[row])
            assert np.allclose(alone.values[0], together.values[row], atol=1e-9)
            assert alone.n_evaluations[0] == together.n_evaluations[row]

    def test_needs_limits(self, approved):
        with approved.raises(InvalidParameter):
            xcid.Explainer.paper(model, TABLE, stop=Decided())(TABLE[:1])

    @pytest.mark.parametrize("settings", [{"k": 0}, {"confidence": 1.0}, {"max_evaluations": 0}])
    def test_bad_settings(self, settings):
        with pytest.raises(InvalidParameter):
            Decided(**settings)

    def test_a_plain_function_will_do(self):
        explainer = xcid.Explainer(model, TABLE, stop=lambda first, more: more(np.arange(len(first)), 7))
        assert not np.allclose(explainer(TABLE[:2]).values, xcid.Explainer(model, TABLE)(TABLE[:2]).values)


class TestAggregate:
    def test_all_rows(self, explanation):
        overall = explanation.aggregate()
        assert len(overall) == 1
        assert np.allclose(overall.values[0], explanation.values.mean(axis=0))
        assert np.allclose(overall.size[0], np.abs(explanation.values).mean(axis=0))
        assert np.allclose(overall.share_significant[0], explanation.significant.mean(axis=0))
        assert np.all((overall.lower <= overall.values) & (overall.values <= overall.upper))
        assert overall.index.tolist() == ["all"]
        assert overall.n_evaluations[0] == explanation.n_evaluations.sum()
        assert overall.feature_names[int(overall.size[0].argmax())] == "x0"
        assert "x0" in str(overall)

    def test_subgroups(self, explanation):
        by = np.where(TABLE[:30, 0] > 0, "up", "down")
        groups = explanation.aggregate(by)
        assert groups.index.tolist() == ["down", "up"]
        assert np.allclose(groups.values[1], explanation.values[by == "up"].mean(axis=0))
        frame = groups.to_frame()
        assert frame["row"].tolist() == ["down"] * 6 + ["up"] * 6

    def test_levels_and_missing_cells(self):
        frame = pd.DataFrame({"a": ["p", "q", "q"] * 20, "b": [np.nan, 1.0, 3.0] * 20, "c": RNG.normal(size=60)})
        explanation = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X["c"].to_numpy())), frame)(frame[:30])
        overall = explanation.aggregate()
        assert overall.shown(0, "a") == "q"
        assert overall.shown(0, "b") == "2"

    def test_one_row_and_files(self, explanation, tmp_path):
        one = explanation[:1].aggregate()
        data = np.where(np.arange(6) == 2, np.nan, explanation.data[:1])
        assert np.array_equal(replace(explanation[:1], data=data).aggregate().data, data, equal_nan=True)  # no warning
        assert np.all((one.lower < one.values) & (one.values < one.upper))
        one.save(tmp_path / "one")
        assert np.array_equal(xcid.load(tmp_path / "one").share_significant, one.share_significant)
        one.save(tmp_path / "one.json")
        earlier = (tmp_path / "one.json").read_text("utf-8").replace("share_significant", "significant")
        (tmp_path / "one.json").write_text(earlier, "utf-8")
        assert np.array_equal(xcid.load(tmp_path / "one.json").share_significant, one.share_significant)

    def test_refused(self, approved, explanation):
        with approved.raises(InvalidData):
            explanation.aggregate(["a"])
        with approved.raises(InvalidData):
            explanation[[]].aggregate()


def test_repeats_is_a_stop():
    explainer = xcid.Explainer(model, TABLE, generator=Random(m=5), stop=Repeats(2))
    assert np.all(explainer(TABLE[:2]).n_evaluations > 20)


class TestResampled:
    """The null and the limits of the d1 of single features."""

    explainer = xcid.Explainer(model, TABLE, generator=Marginal(m=60), score=Resampled(), outcome=Flip())

    def test_level_and_power(self):
        runs = [self.explainer(TABLE[:20], seed=seed) for seed in range(6)]
        idle = np.array([run.p_values[:, 5] for run in runs])
        assert np.mean(idle < 0.05) < 0.11
        assert 0.35 < np.mean(idle) < 0.65
        strong = np.abs(TABLE[:20, 0]) > 1
        assert np.mean([run.p_values[strong, 0] < 0.05 for run in runs]) > 0.9

    def test_few_flips_and_soft_weights_keep_the_level(self):
        few = xcid.Explainer(model, TABLE, generator=Marginal(m=8), score=Resampled(), outcome=Flip())
        soft = xcid.Explainer(model, TABLE, generator=Marginal(m=60), score=Resampled())
        for explainer in (few, soft):
            idle = np.array([explainer(TABLE[:20], seed=seed).p_values[:, 5] for seed in range(6)])
            assert np.mean(idle < 0.05) < 0.11

    def test_limits(self):
        explanation = self.explainer(TABLE[:10])
        assert np.all(explanation.lower <= explanation.upper)
        assert np.all((explanation.lower >= -1) & (explanation.upper <= 1))
        open_ = explanation.p_values > 0.05
        assert np.all((explanation.lower <= 0) & (explanation.upper >= 0) | ~open_)
        truth = xcid.Explainer(model, TABLE, generator=Marginal(m=3_000, max_evaluations=90_000), outcome=Flip(),
                               score=PerFeature(Mixed(), direction=held_in_place))(TABLE[:10])  # fmt: skip
        runs = [self.explainer(TABLE[:10], seed=seed) for seed in range(5)]
        covered = np.mean([(run.lower <= truth.values) & (truth.values <= run.upper) for run in runs])
        assert covered > 0.75  # of d1 itself; of d1 at their own smoothing they hold more

    def test_the_same_every_time(self):
        first, second = (self.explainer(TABLE[:3]) for _ in range(2))
        assert np.array_equal(first.p_values, second.p_values)
        assert np.array_equal(self.explainer(TABLE[1]).p_values[0], first.p_values[1])

    def test_levels_missing_cells_and_empty_sets(self):
        frame = pd.DataFrame(
            {"a": RNG.choice(["p", "q"], 100), "b": [np.nan, 1.0, 2.5, 4.0] * 25, "c": RNG.random(100)}
        )
        explainer = xcid.Explainer(
            lambda X: (X["a"] == "p").to_numpy(), frame, generator=Marginal(m=40), score=Resampled()
        )
        found = explainer(frame[:5])
        assert np.all(found.p_values[:, 0] < 0.01)
        assert np.all(np.isfinite(found.lower))
        limits = xcid.Constraints(frozen=["a"])
        never = xcid.Explainer(
            lambda X: (X["a"] == "p").to_numpy(), frame, generator=Marginal(m=40), score=Resampled(), constraints=limits
        )
        with pytest.warns(xcid.XcidWarning, match="too few perturbations"):
            none = never(frame[:2])
        assert np.all(none.p_values == 1)

    def test_bad_settings(self):
        for settings in ({"permutations": 5}, {"resamples": 1}):
            with pytest.raises(InvalidParameter):
                Resampled(**settings)


class TestPrecision:
    def widest(self, found):
        return (found.upper - found.lower).max(axis=1) / np.abs(found.values).max(axis=1)

    def test_runs_are_added_until_limits_are_narrow(self):
        once = xcid.Explainer(bent, TABLE)(TABLE[:6])
        found = xcid.Explainer(bent, TABLE, precision=0.6 * float(self.widest(once).min()))(TABLE[:6])
        assert (self.widest(found) <= 0.6 * self.widest(once).min()).all()
        assert (found.n_evaluations > once.n_evaluations).all()
        sums = found.base_values + found.values.sum(axis=1)
        assert np.allclose(sums, once.base_values + once.values.sum(axis=1), atol=1e-9)

    def test_the_budget_is_an_end(self):
        found = xcid.Explainer(bent, TABLE, stop=Precise(1e-6, max_evaluations=4_000))(TABLE[:3])
        assert (found.n_evaluations <= 4_000).all()
        assert (found.n_evaluations > 2_000).all()

    def test_what_is_exact_or_wide_enough_runs_once(self):
        once, wide = (xcid.Explainer(bent, TABLE, **how)(TABLE[:3]) for how in ({}, {"precision": 50.0}))
        assert np.array_equal(once.n_evaluations, wide.n_evaluations)
        assert np.array_equal(once.values, wide.values)
        linear = LogisticRegression().fit(TABLE, TABLE[:, 0] > 0)
        exact = xcid.Explainer(linear, TABLE, precision=1e-9).contributions(TABLE[:3])
        assert (exact.n_evaluations == 1).all()

    @pytest.mark.parametrize("settings", [{"precision": 0.0}, {"precision": 0.1, "repeats": 2}])
    def test_settings_that_are_none(self, settings):
        with pytest.raises(InvalidParameter, match="precision"):
            xcid.Explainer(bent, TABLE, **settings)


def bent(X):
    odds = np.exp(np.clip(X[:, 0] * X[:, 1] + X[:, 2], -9, 9))
    return np.column_stack([1 / (1 + odds), odds / (1 + odds)])
