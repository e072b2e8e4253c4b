"""Weights of background rows: a weight of k means what k copies of the row would mean."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pytest

import xcid
from xcid import metrics
from xcid.errors import InvalidParameter, XcidError
from xcid.generators import Conditional, Marginal
from xcid.metrics.maskings import MarginalRows, median
from xcid.table import Constraints, FeatureSpace
from xcid.table.tables import copies
from xcid_lab.baselines import Occlusion

RANDOM = np.random.default_rng(8)
TABLE = RANDOM.normal(size=(300, 4)) @ (np.eye(4) + np.triu(np.full((4, 4), 0.3), 1))
SLOPES = np.array([3.0, -2.0, 0.5, 0.0])
SKEWED = np.exp(TABLE[:, 0] + RANDOM.normal(size=300))
COUNTS = RANDOM.integers(1, 6, 300)
ROWS = TABLE[:8]
MIXED = pd.DataFrame(
    {"a": TABLE[:, 0], "b": np.where(TABLE[:, 1] > 1, np.nan, TABLE[:, 1]), "c": np.where(TABLE[:, 2] > 0, "x", "y")}
)
MAKERS = {"recommended": xcid.Explainer, "paper": xcid.Explainer.paper}
each_setting = pytest.mark.parametrize("make", MAKERS.values(), ids=MAKERS)


def linear(X):
    return 1 / (1 + np.exp(-X @ SLOPES - 0.2))


def curved(X):
    return 1 / (1 + np.exp(-X[:, 0] * X[:, 1] - X[:, 2] ** 2 + X[:, 0]))


def of_frame(frame):
    return 1 / (1 + np.exp(-2 * frame["a"] - np.nan_to_num(frame["b"]) + (frame["c"] == "x"))).to_numpy()


def same(first, second):
    """Whether two explanations are the same to the last bit."""
    names = ("values", "importance", "base_values", "n_evaluations", "status", "outputs", "lower", "p_values")
    pairs = [(getattr(first, name), getattr(second, name)) for name in names]
    return first.details.settings == second.details.settings and all(
        np.array_equal(a, b) if a is not None else b is None for a, b in pairs
    )


class TestTheLaws:
    def test_a_linear_model_loses_what_the_weighted_mean_says(self):
        found = xcid.Explainer(linear, TABLE, weights=SKEWED)(ROWS)
        centre = np.average(TABLE, axis=0, weights=SKEWED)
        due = SLOPES * (ROWS - centre)
        assert np.allclose(found.values, due, rtol=1e-3, atol=1e-3)
        plain = SLOPES * (ROWS - TABLE.mean(axis=0))
        assert np.abs(plain - due).max() > 1

    @each_setting
    def test_equal_weights_are_no_weights(self, make):
        equal = make(of_frame, MIXED, weights=np.full(len(MIXED), 1 / 7))(MIXED[:6])
        assert same(equal, make(of_frame, MIXED)(MIXED[:6]))

    @each_setting
    @pytest.mark.parametrize("scale", [1e-300, 1 / 3, 1e300])
    def test_the_scale_makes_no_difference(self, make, scale):
        for weights in (SKEWED, COUNTS):
            first, second = (make(curved, TABLE, weights=one)(ROWS) for one in (weights, weights * scale))
            assert np.allclose(first.values, second.values, rtol=1e-9, atol=1e-12)
            assert np.array_equal(first.n_evaluations, second.n_evaluations)

    def test_copies_in_the_recommended_setting(self):
        weighted = xcid.Explainer(curved, TABLE, weights=COUNTS)(ROWS)
        repeated = xcid.Explainer(curved, np.repeat(TABLE, COUNTS, axis=0))(ROWS)
        assert np.array_equal(weighted.cloud.samples, repeated.cloud.samples)
        assert np.abs(weighted.values - repeated.values).max() < 0.02
        assert np.all((repeated.lower <= weighted.values) & (weighted.values <= repeated.upper))

    def test_copies_in_the_paper_s_setting(self):
        weighted = xcid.Explainer.paper(of_frame, MIXED, weights=COUNTS)(MIXED[:6])
        repeated = xcid.Explainer.paper(of_frame, MIXED.loc[np.repeat(MIXED.index, COUNTS)])(MIXED[:6])
        assert np.array_equal(weighted.values, repeated.values)

    def test_a_row_of_weight_0_is_not_looked_at(self):
        strange = pd.DataFrame({"a": [np.inf, 9.0], "b": [1e9, 2.0], "c": ["never", "seen"]})
        table, weights = pd.concat([strange, MIXED], ignore_index=True), np.r_[0, 0, np.ones(len(MIXED))]
        explainer = xcid.Explainer(of_frame, table, weights=weights)
        assert explainer.space.columns == xcid.Explainer(of_frame, MIXED).space.columns
        assert np.allclose(explainer(MIXED[:6]).values, xcid.Explainer(of_frame, MIXED)(MIXED[:6]).values, atol=1e-9)
        with pytest.warns(xcid.XcidWarning, match="levels or missing cells that the reference data lack"):
            explainer(table[1:2])

    def test_draws_follow_the_weights(self):
        found = xcid.Explainer(linear, TABLE, weights=SKEWED, generator=Marginal(m=200, max_evaluations=4_000))(TABLE)
        samples, there = found.cloud.samples, found.cloud.positive + found.cloud.negative > 0
        fourth = samples[..., 3][there & (samples[..., 3] != TABLE[:, None, 3])]  # the model does not use it
        error = fourth.mean() - np.average(TABLE[:, 3], weights=SKEWED)
        assert abs(error) < 0.02
        assert abs(error) < abs(fourth.mean() - TABLE[:, 3].mean()) / 5

    def test_weights_that_differ_little_leave_neighbours_as_near(self):
        first = RANDOM.normal(size=400)
        table = np.column_stack([first, first + 0.1 * RANDOM.normal(size=400), RANDOM.normal(size=400)])
        rows, far = table[:60], []
        for weights in (None, RANDOM.uniform(0.99, 1.01, 400)):
            space = FeatureSpace.of(table, weights=weights)
            member = lambda samples, owner: (samples[:, 2] > 0).astype(float)  # noqa: E731
            samples = Conditional(m=50)(rows, space.keys(rows, 0), space, member).samples
            moved = (samples[..., 0] != rows[:, None, 0]) & (samples[..., 1] == rows[:, None, 1])
            far.append(np.abs(samples[..., 0] - rows[:, None, 0])[moved].mean())
        assert 0.9 < far[1] / far[0] < 1.1

    def test_groups(self):
        limits = Constraints(groups={"both": ["x0", "x1"]})
        weighted = xcid.Explainer(linear, TABLE, weights=SKEWED, constraints=limits)(ROWS)
        single = SLOPES * (ROWS - np.average(TABLE, axis=0, weights=SKEWED))
        due = np.column_stack([single[:, :2].sum(axis=1), single[:, 2:]])
        assert np.allclose(weighted.values, due, atol=0.1)
        assert np.abs(xcid.Explainer(linear, TABLE, constraints=limits)(ROWS).values - due).max() > 1

    def test_the_usual_question_of_a_regression_has_the_weighted_spread(self):
        outcome = xcid.Explainer(lambda X: 10 * X[:, 0], TABLE, weights=COUNTS).setup.outcome
        assert np.isclose(outcome.half_width, 0.7 * np.std(10 * np.repeat(TABLE[:, 0], COUNTS)))

    def test_few_rows_stay_few(self):
        found = xcid.Explainer(linear, TABLE[:8], weights=np.arange(1, 9))(ROWS)
        assert np.all(found.p_values > 0.4)

    def test_the_model_is_asked_about_each_row_once(self):
        asked = []

        def counting(X):
            asked.append(len(X))
            return linear(X)

        xcid.Explainer(counting, TABLE)
        without = sum(asked)
        explainer = xcid.Explainer(counting, TABLE, weights=SKEWED)
        assert sum(asked) == 2 * without
        assert np.array_equal(explainer.subject.outputs[:, 1], linear(explainer.space.background))

    def test_settings_say_so(self, tmp_path):
        found = xcid.Explainer(linear, TABLE, weights=COUNTS)(ROWS)
        equal = COUNTS.sum() ** 2 / np.sum(COUNTS**2)
        assert found.details.settings["weights"] == f"of 300 reference rows, worth {equal:,.1f} equal ones"
        found.save(tmp_path / "found.npz")
        assert xcid.load(tmp_path / "found.npz").details.settings == found.details.settings
        found.report(tmp_path / "found.html")
        assert found.details.settings["weights"] in (tmp_path / "found.html").read_text(encoding="utf-8")
        assert "weights" not in xcid.Explainer(linear, TABLE)(ROWS).details.settings


class TestMetricsAndBaselines:
    @pytest.mark.parametrize(
        "masking",
        [metrics.mean, median, metrics.JointRows(30), MarginalRows(30)],
        ids=["mean", "median", "joint", "marginal"],
    )
    def test_copies(self, masking):
        settings = {"masking": masking, "seed": 3}
        scores = ROWS * SLOPES
        weighted = metrics.masking_curves(linear, ROWS, scores, TABLE, weights=COUNTS, **settings)
        repeated = metrics.masking_curves(linear, ROWS, scores, np.repeat(TABLE, COUNTS, axis=0), **settings)
        assert np.array_equal(weighted.masked, repeated.masked)
        assert np.array_equal(weighted.kept, repeated.kept)

    def test_similar_rows_stand_for_the_same_share(self):
        space = FeatureSpace.of(TABLE, weights=np.r_[np.full(150, 1.0), np.full(150, 1.0 + 1e-4)])
        kept = np.zeros((1, 1, 4), dtype=bool)
        kept[..., 0] = True
        masking, plain = metrics.SimilarRows(20), FeatureSpace.of(TABLE)
        found, due = (masking(ROWS[:1], kept, np.zeros(1, dtype=np.uint64), one)[0, 0] for one in (space, plain))
        assert len(found) == len(due) == 20
        assert len({tuple(row) for row in found} & {tuple(row) for row in due}) >= 18

    def test_comprehensiveness_takes_weights(self):
        first = metrics.comprehensiveness(linear, ROWS, ROWS * SLOPES, TABLE, weights=SKEWED)
        assert not np.allclose(first, metrics.comprehensiveness(linear, ROWS, ROWS * SLOPES, TABLE))

    def test_occlusion(self):
        found = Occlusion(lambda X: X @ SLOPES, TABLE, weights=COUNTS)(ROWS)
        assert np.allclose(found.values, SLOPES * (ROWS - np.average(TABLE, axis=0, weights=COUNTS)))
        assert "weights" in found.details.settings


class TestCopies:
    @pytest.mark.parametrize("counts", [[1, 1, 2], [3, 4, 5, 0.5], [1000, 1], [7, 14, 21]])
    def test_whole_numbers_of_a_unit_are_exact(self, counts):
        shares = np.array(counts) / np.sum(counts)
        assert np.allclose(copies(shares, 4_096) / copies(shares, 4_096).sum(), shares, rtol=1e-12)

    def test_any_run_of_rows_is_off_by_less_than_a_row(self):
        shares = SKEWED / SKEWED.sum()
        off = np.cumsum(copies(shares, 4_096)) - 4_096 * np.cumsum(shares)
        assert np.abs(off).max() <= 0.5 + 1e-6
        assert copies(shares, 4_096).sum() == 4_096

    def test_weights_that_are_worlds_apart(self):
        space = FeatureSpace.of(TABLE, weights=np.r_[1e150, np.full(299, 1e-150)])
        assert np.array_equal(np.unique(space.background, axis=0), TABLE[:1])
        assert np.array_equal(space.rows, TABLE)


class TestRefusals:
    @pytest.mark.parametrize(
        ("weights", "message"),
        [
            (np.ones(299), "one number for each of the 300 reference rows, not a ndarray of shape .299,."),
            (1.0, "one number for each"),
            (np.ones((300, 1)), "one number for each"),
            (["1"] * 300, "not text or dates"),
            ("weights", "one number for each"),
            ([object()] * 300, "one number for each"),
            (np.zeros(300), "all 300 weights are 0"),
            (np.r_[np.ones(298), -1, -2], "row 298 is -1 .2 such weights in all"),
            (np.r_[np.nan, np.ones(299)], "row 0 is nan"),
            (np.r_[np.ones(299), np.inf], "row 299 is inf"),
            (np.ma.masked_array(np.ones(300), mask=np.arange(300) == 7), "row 7 is nan"),
        ],
        ids=range(11),
    )
    def test_what_is_no_weight(self, weights, message):
        with pytest.raises(InvalidParameter, match=message):
            xcid.Explainer(linear, TABLE, weights=weights)

    def test_one_row_is_left(self):
        with pytest.raises(XcidError, match="one reference row alone"):
            xcid.Explainer(linear, TABLE, weights=np.eye(300)[4])

    def test_an_index_of_its_own(self):
        weights = pd.Series(COUNTS).sort_values()
        with pytest.raises(InvalidParameter, match="another index"):
            xcid.Explainer(of_frame, MIXED, weights=weights)
        found = xcid.Explainer(of_frame, MIXED, weights=weights.loc[MIXED.index])
        assert np.allclose(found.space.weights, COUNTS / COUNTS.sum(), rtol=1e-12)

    @pytest.mark.parametrize(
        "kind", [list, tuple, pl.Series, pd.Series, lambda counts: pd.Series(counts, dtype="Int64")]
    )
    def test_any_make_of_weights(self, kind):
        found = FeatureSpace.of(TABLE, weights=kind(COUNTS))
        assert np.allclose(found.weights, COUNTS / COUNTS.sum(), rtol=1e-12)
        assert np.array_equal(found.background, np.repeat(TABLE, COUNTS, axis=0))
