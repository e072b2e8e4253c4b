"""Figures of merit: laws that hold for every ranking, hand examples, and what is refused."""

from __future__ import annotations

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import xcid
from xcid import directions, metrics
from xcid.errors import InvalidData, InvalidParameter
from xcid.metrics.agreement import kendall_tau, sparsity
from xcid.metrics.maskings import MarginalRows, median
from xcid.models.predictor import FEW
from xcid_lab import metrics as lab_metrics

TABLE = np.random.default_rng(11).normal([0.0, 1.0, -1.0, 3.0], [1.0, 2.0, 0.3, 1.0], size=(120, 4))
ROWS = TABLE[:6]
SLOPES = np.array([1.5, -0.7, 1.0, 0.2])
MASKINGS = {
    "mean": metrics.mean,
    "median": median,
    "joint": metrics.JointRows(15),
    "marginal": MarginalRows(15),
    "similar": metrics.SimilarRows(10),
}
each_masking = pytest.mark.parametrize("masking", MASKINGS.values(), ids=MASKINGS.keys())


def crossed(X):
    """Probability of the second class, with an interaction."""
    return 1 / (1 + np.exp(-(X[:, 0] * X[:, 1] + X[:, 2] - 0.3 * X[:, 3])))


def additive(X):
    """Probability that is a sum: no sigmoid, and inside [0, 1] on this table."""
    return 0.5 + 0.03 * (X - TABLE.mean(axis=0)) @ SLOPES


def additive_away(X):
    return 10 * X[:, 0] + X[:, 1]


def difference(model, rows, scores, masking=metrics.mean, background=TABLE):
    made = {"masking": masking}
    return metrics.comprehensiveness(model, rows, scores, background, **made) - metrics.sufficiency(
        model, rows, scores, background, **made
    )


class Seen:
    """A model that keeps what it is asked, and spoils it afterwards."""

    def __init__(self, model):
        self.model, self.calls = model, []

    def __call__(self, X):
        answers = self.model(X)
        self.calls.append(X.copy())
        X[:] = -1e9
        return answers


class TestFaithfulness:
    @each_masking
    @pytest.mark.parametrize("model", [crossed, additive_away], ids=["classes", "regression"])
    def test_the_reversed_ranking_swaps_the_two(self, masking, model):
        for ranking in permutations([4.0, 3.0, 2.0, 1.0]):
            scores = np.tile(ranking, (len(ROWS), 1))
            comp = metrics.comprehensiveness(model, ROWS, -scores, TABLE, masking=masking)
            suff = metrics.sufficiency(model, ROWS, scores, TABLE, masking=masking)
            assert np.allclose(comp, suff, atol=1e-12)

    @each_masking
    def test_random_rankings_have_none(self, masking):
        every = [difference(crossed, ROWS, np.tile(one, (len(ROWS), 1)), masking) for one in permutations(range(4))]
        assert np.allclose(np.mean(every, axis=0), 0, atol=1e-12)

    @pytest.mark.parametrize("masking", [metrics.mean, metrics.JointRows(120)], ids=["mean", "joint"])
    def test_exact_contributions_are_the_best_ranking(self, masking):
        model = LogisticRegression().fit(TABLE, additive(TABLE) > 0.5)  # monotone in a sum
        contributions = model.coef_[0] * (ROWS - TABLE.mean(axis=0))
        contributions *= np.where(model.predict(ROWS) == 1, 1, -1)[:, None]
        for f, scores in ((additive, self.signed(additive, ROWS)), (model, contributions)):
            best = np.max(
                [difference(f, ROWS, np.tile(one, (len(ROWS), 1)), masking) for one in permutations(range(4))], axis=0
            )
            reached = difference(f, ROWS, scores, masking)
            if masking is metrics.mean or f is additive:
                assert np.allclose(reached, best, atol=1e-12)
            else:  # averaged over rows a sigmoid is not additive
                assert np.all(reached >= best - 0.02)

    @staticmethod
    def signed(model, rows):
        """Contributions to the predicted class of a model that adds up."""
        contributions = 0.03 * SLOPES * (rows - TABLE.mean(axis=0))
        return contributions * np.where(model(rows) >= 0.5, 1, -1)[:, None]

    def test_by_hand(self):
        """Two features, the mean is (0, 0), p(1) = 1/2 + a/4 + b/8."""
        background = np.array([[-1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
        made = (lambda X: 0.5 + X[:, 0] / 4 + X[:, 1] / 8, [[1.0, 1.0]], [[0.9, 0.1]], background)
        curves = metrics.masking_curves(*made)
        assert curves.full.tolist() == [0.875]
        assert curves.masked.tolist() == [[0.875, 0.625, 0.5]]
        assert curves.kept.tolist() == [[0.5, 0.75, 0.875]]
        assert metrics.comprehensiveness(*made).tolist() == pytest.approx([0.625 / 3])
        assert metrics.sufficiency(*made, reduce=np.sum).tolist() == pytest.approx([0.5])

    def test_regression_is_minus_the_distance_in_standard_deviations(self):
        curves = metrics.masking_curves(additive_away, ROWS, SLOPES * np.ones((6, 1)), TABLE)
        outputs = additive_away(TABLE)
        away = np.abs(additive_away(TABLE.mean(axis=0)[None]) - additive_away(ROWS)) / outputs.std()
        assert np.allclose(curves.full, 0)
        assert np.allclose(curves.masked[:, -1], -away)
        assert np.allclose(curves.kept[:, 0], -away)

    @each_masking
    @given(seed=st.integers(0, 2**32))
    def test_means_are_bounded_and_sums_are_means(self, masking, seed):
        scores = np.random.default_rng(seed).normal(size=ROWS.shape)
        for figure in (metrics.comprehensiveness, metrics.sufficiency):
            mean = figure(crossed, ROWS, scores, TABLE, masking=masking)
            total = figure(crossed, ROWS, scores, TABLE, masking=masking, reduce=np.sum)
            assert np.all(np.abs(mean) <= 1)
            assert np.allclose(total, 5 * mean)

    @each_masking
    def test_ends_of_the_curves(self, masking):
        curves = metrics.masking_curves(crossed, ROWS, SLOPES * np.ones((6, 1)), TABLE, masking=masking)
        probability = crossed(ROWS)
        full = np.maximum(probability, 1 - probability)
        for part in (curves.full, curves.masked[:, 0], curves.kept[:, -1]):
            assert np.allclose(part, full)
        assert np.allclose(curves.masked[:, -1], curves.kept[:, 0])

    @each_masking
    def test_arrays_of_the_user_stay_as_they_are(self, masking):
        table, rows, scores = TABLE.copy(), ROWS.copy(), np.ones((6, 4))
        metrics.comprehensiveness(Seen(crossed), rows, scores, table, masking=masking)
        assert np.array_equal(table, TABLE)
        assert np.array_equal(rows, ROWS)
        assert np.array_equal(scores, np.ones((6, 4)))

    def test_asks_about_masked_rows_only(self):
        """Beyond the background, asked once, and the little of it that tries the model."""
        model, rows = Seen(crossed), ROWS + 0.001
        metrics.masking_curves(model, rows, np.tile(SLOPES, (6, 1)), TABLE)
        asked = np.concatenate(model.calls)
        from_background = (asked[:, None] == TABLE).all(axis=2).any(axis=1)
        assert from_background.sum() == len(TABLE) + 3 * 22 + FEW
        assert (~from_background).sum() == 2 * len(rows) + 2 * len(rows) * 5

    @each_masking
    def test_a_row_does_not_depend_on_its_batch(self, masking, monkeypatch):
        scores = np.random.default_rng(0).normal(size=ROWS.shape)
        together = metrics.comprehensiveness(crossed, ROWS, scores, TABLE, masking=masking)
        alone = metrics.comprehensiveness(crossed, ROWS[3], scores[3], TABLE, masking=masking)
        assert np.allclose(together[3], alone)
        monkeypatch.setattr(metrics.faithfulness, "MOST_CELLS", 1)  # one row at a time
        assert np.allclose(metrics.comprehensiveness(crossed, ROWS, scores, TABLE, masking=masking), together)

    def test_constant_scores_mask_in_the_order_of_the_columns(self):
        constant, falling = (np.tile(one, (6, 1)) for one in ([0.0] * 4, [4.0, 3.0, 2.0, 1.0]))
        assert np.array_equal(difference(crossed, ROWS, constant), difference(crossed, ROWS, falling))

    def test_names_that_the_model_was_fitted_with(self):
        model = LogisticRegression().fit(pd.DataFrame(TABLE, columns=list("abcd")), crossed(TABLE) > 0.5)
        assert len(metrics.comprehensiveness(model, ROWS, ROWS, TABLE)) == 6

    def test_our_scores_come_near_to_the_best_ranking(self):
        explanation = xcid.Explainer(crossed, TABLE)(TABLE[:30])
        rows = [np.tile(one, (30, 1)) for one in permutations(range(4))]
        best = np.max([difference(crossed, TABLE[:30], scores) for scores in rows], axis=0)
        ours = difference(crossed, TABLE[:30], directions.supporting(explanation))
        assert ours.mean() > 0.7 * best.mean()  # chance has 0

    @pytest.mark.parametrize(
        ("scores", "error"),
        [
            (np.ones((6, 3)), InvalidData),
            (np.ones((5, 4)), InvalidData),
            (np.ones((6, 4, 1)), InvalidParameter),
            (np.full((6, 4), np.nan), InvalidParameter),
            ([["a"] * 4] * 6, InvalidParameter),
        ],
    )
    def test_refuses_other_scores(self, scores, error):
        with pytest.raises(error):
            metrics.comprehensiveness(crossed, ROWS, scores, TABLE)

    def test_refuses_what_is_no_masking(self, approved):
        with approved.raises(InvalidParameter):
            metrics.sufficiency(crossed, ROWS, ROWS, TABLE, masking="mean")


class TestMaskings:
    @pytest.fixture
    def frame(self):
        rng = np.random.default_rng(5)
        frame = pd.DataFrame(
            {
                "whole": rng.integers(0, 10, 80),
                "nullable": pd.array(rng.integers(0, 10, 80), dtype="Int64"),
                "text": rng.choice(["a", "b", "c"], 80, p=[0.5, 0.1, 0.4]),  # "b" is the mean of the codes
                "category": pd.Categorical(rng.choice(["x", "y"], 80)),
                "holes": np.where(rng.random(80) < 0.2, np.nan, rng.normal(size=80)),
                "flag": rng.random(80) < 0.3,
            }
        )
        frame.loc[7, "nullable"] = pd.NA
        return frame

    @each_masking
    def test_frames_of_all_kinds(self, masking, frame):
        seen = []

        def model(X):
            seen.append(X)
            numbers = X["holes"].fillna(0).to_numpy() + X["nullable"].fillna(0).to_numpy(dtype=float) / 5
            return 1 / (1 + np.exp(-numbers - (X["text"] == "a").to_numpy() + X["whole"].to_numpy() / 5))

        before = frame.copy()
        rows = frame.iloc[5:9]
        scores = np.random.default_rng(0).normal(size=(4, 6))
        comp = metrics.comprehensiveness(model, rows, scores, frame, masking=masking)
        assert np.allclose(comp, metrics.sufficiency(model, rows, -scores, frame, masking=masking))
        assert all((one.dtypes == frame.dtypes).all() for one in seen)
        assert frame.equals(before)

    def test_mean_and_median_and_the_commonest_level(self, frame):
        masked = {}
        for name in ("mean", "median"):
            seen = []

            def model(X, seen=seen):
                seen.append(X)
                return X["whole"].to_numpy() / 10

            curves = metrics.masking_curves(model, frame.iloc[:1], np.ones((1, 6)), frame, masking=MASKINGS[name])
            assert curves.masked.shape == (1, 7)
            masked[name] = next(X for X in seen if len(X) == 7).iloc[-1]
        assert masked["mean"]["whole"] == round(frame["whole"].mean())
        assert masked["mean"]["nullable"] == round(frame["nullable"].mean())
        assert masked["mean"]["holes"] == pytest.approx(frame["holes"].mean())
        assert masked["median"]["holes"] == pytest.approx(frame["holes"].median())
        assert masked["mean"]["text"] == "a"
        assert not masked["mean"]["flag"]

    def test_whole_numbers_take_their_rounded_mean(self):
        table = np.array([[0, 1], [3, 2]] * 5)
        seen = []
        metrics.masking_curves(lambda X: seen.append(X) or X[:, 0] / 3, table[:1], np.ones((1, 2)), table)
        assert any(np.array_equal(X[-1], [2, 2]) for X in seen)

    def test_floats_that_are_whole_take_their_mean(self):
        table = np.array([[0.0, 1.0], [1.0, 2.0]] * 5)
        seen = []
        metrics.masking_curves(lambda X: seen.append(X) or X[:, 0] / 2, table[:1], np.ones((1, 2)), table)
        assert any(np.array_equal(X[-1], [0.5, 1.5]) for X in seen)

    def test_joint_rows_are_background_rows(self):
        seen = []

        def model(X):
            seen.append(X)
            return crossed(X)

        metrics.masking_curves(model, ROWS[:1], SLOPES, TABLE, masking=metrics.JointRows(3))
        filled = next(X for X in seen if len(X) == 15).reshape(5, 3, 4)
        assert np.array_equal(filled[-1], TABLE[[0, 60, 119]])
        assert np.array_equal(filled[0], np.tile(ROWS[0], (3, 1)))

    def test_more_rows_than_there_are(self):
        for masking in (metrics.JointRows(1_000), metrics.SimilarRows(1_000)):
            curves = metrics.masking_curves(crossed, ROWS, ROWS, TABLE, masking=masking)
            assert np.isfinite(curves.masked).all()

    def test_marginal_rows_follow_the_seed(self):
        made = {"masking": MarginalRows(5)}
        first, again, other = (
            metrics.comprehensiveness(crossed, ROWS, ROWS, TABLE, seed=seed, **made) for seed in (1, 1, 2)
        )
        assert np.array_equal(first, again)
        assert not np.array_equal(first, other)

    def test_marginal_rows_break_dependence(self):
        """Two equal columns: joint rows keep them equal, marginal ones do not."""
        table = np.repeat(np.random.default_rng(0).normal(size=(100, 1)), 2, axis=1)

        def equal(X):
            return (X[:, 0] == X[:, 1]) * 0.9

        at = {name: metrics.masking_curves(equal, table[:1], [1.0, 2.0], table, masking=MASKINGS[name]) for name in
              ("joint", "marginal")}  # fmt: skip
        assert at["joint"].masked[0, -1] == pytest.approx(0.9)
        assert at["marginal"].masked[0, -1] < 0.5

    def test_similar_rows_are_similar(self):
        """With one column kept, the other follows it as it does in the background."""
        rng = np.random.default_rng(0)
        first = rng.normal(size=300)
        table = np.column_stack([first, first + 0.01 * rng.normal(size=300)])
        rows = np.array([[1.5, 1.5]])
        scores = [[2.0, 1.0]]
        made = (lambda X: 1 / (1 + np.exp(-X[:, 1])), rows, scores, table)
        similar = metrics.masking_curves(*made, masking=metrics.SimilarRows(5))
        joint = metrics.masking_curves(*made, masking=metrics.JointRows(300))
        assert similar.kept[0, 1] == pytest.approx(similar.full[0], abs=0.05)
        assert joint.kept[0, 1] < 0.6

    def test_equally_similar_rows_do_not_come_in_the_order_of_the_table(self):
        """A table that is sorted: where nothing is kept, the first rows do not stand for all."""
        table = np.sort(np.random.default_rng(0).normal(size=(400, 2)), axis=0)
        curves = metrics.masking_curves(
            lambda X: 1 / (1 + np.exp(-4 * X[:, 0])),
            [[2.0, 0.0]],
            [[2.0, 1.0]],
            table,
            masking=metrics.SimilarRows(100),
        )
        assert curves.kept[0, 0] == pytest.approx(0.5, abs=0.12)

    @pytest.mark.parametrize("make", [metrics.JointRows, MarginalRows, metrics.SimilarRows])
    def test_refuses_no_rows(self, approved, make):
        with approved.raises(InvalidParameter):
            make(0)

    def test_a_function_is_a_masking(self):
        def zero(rows, kept, keys, space):
            return np.where(kept, rows[:, None, :], 0.0)[:, :, None, :]

        curves = metrics.masking_curves(crossed, ROWS, ROWS, TABLE, masking=zero)
        assert np.allclose(curves.masked[:, -1], 0.5)


class TestAgreement:
    A, B = [[4.0, -3.0, 2.0, 1.0]], [[3.0, 4.0, 1.0, 2.0]]

    @pytest.mark.parametrize(("k", "share"), [(1, 0.0), (2, 1.0), (3, 2 / 3), (4, 1.0)])
    def test_features(self, k, share):
        assert metrics.feature_agreement(self.A, self.B, k).tolist() == pytest.approx([share])

    @pytest.mark.parametrize(("k", "share"), [(1, 0.0), (2, 0.5), (3, 1 / 3), (4, 0.75)])
    def test_signs(self, k, share):
        assert metrics.sign_agreement(self.A, self.B, k).tolist() == pytest.approx([share])

    def test_ranks(self):
        assert metrics.rank_agreement(self.A, [[9.0, 1.0, 2.0, 0.5]]).tolist() == [0.5]
        assert metrics.rank_agreement(self.A, self.B).tolist() == [0.0]

    def test_kendall(self):
        assert kendall_tau(self.A, self.B).tolist() == pytest.approx([1 - 2 * 2 / 6])
        assert kendall_tau(self.A, [[1.0, 2.0, 3.0, 4.0]]).tolist() == [-1.0]
        assert kendall_tau(self.A, [[1.0, 1.0, 1.0, 1.0]]).tolist() == [0.0]

    def test_kendall_is_scipys(self):
        from scipy.stats import kendalltau

        rng = np.random.default_rng(0)
        a, b = rng.integers(0, 5, (20, 7)).astype(float), rng.integers(0, 5, (20, 7)).astype(float)
        expected = [kendalltau(one, other).statistic for one, other in zip(a, b, strict=True)]
        assert np.allclose(kendall_tau(a, b), expected)

    @given(seed=st.integers(0, 2**32), k=st.integers(1, 6))
    def test_bounds_and_order(self, seed, k):
        a, b = np.random.default_rng(seed).normal(size=(2, 8, 6))
        by = {name: getattr(metrics, f"{name}_agreement") for name in ("feature", "rank", "sign")}
        for agreement in by.values():
            assert np.all(agreement(a, a, k) == 1)
            assert np.array_equal(agreement(a, b, k), agreement(b, a, k))
            assert np.all((agreement(a, b, k) >= 0) & (agreement(a, b, k) <= by["feature"](a, b, k)))
        assert np.all(metrics.feature_agreement(a, b, 6) == 1)
        assert np.all(metrics.feature_agreement(a, -b, k) == metrics.feature_agreement(a, b, k))
        assert np.allclose(kendall_tau(a, 3 * a), 1)
        assert np.all(np.abs(kendall_tau(a, b)) <= 1)

    def test_chance_is_k_over_d(self):
        a, b = np.random.default_rng(0).normal(size=(2, 5_000, 8))
        assert metrics.feature_agreement(a, b).mean() == pytest.approx(0.5, abs=0.01)

    def test_refuses(self, approved):
        for agreement in (metrics.feature_agreement, metrics.rank_agreement, metrics.sign_agreement):
            with approved.raises(InvalidParameter):
                agreement(self.A, self.B, 5)
            with approved.raises(InvalidParameter):
                agreement(self.A, self.B, 0)
        with approved.raises(InvalidParameter):
            kendall_tau(self.A, [[1.0, 2.0]])
        with approved.raises(InvalidParameter):
            kendall_tau(self.A, [[1.0, np.inf, 0.0, 0.0]])


class TestStability:
    def test_mean_over_pairs(self):
        runs = [[[2.0, 1.0, 0.0]], [[2.0, 0.0, 1.0]], [[2.0, 1.0, 0.0]]]
        assert metrics.stability(runs, k=1).tolist() == [1.0]
        assert metrics.stability(runs, k=2).tolist() == pytest.approx([(0.5 + 1 + 0.5) / 3])
        assert metrics.stability(runs, k=3, agreement=metrics.rank_agreement).tolist() == pytest.approx(
            [(1 / 3 + 1 + 1 / 3) / 3]
        )

    def test_one_run_is_refused(self, approved):
        with approved.raises(InvalidParameter):
            metrics.stability(np.ones((1, 3, 4)))

    @pytest.mark.parametrize(("share", "count"), [(0.5, 1.0), (0.6, 1.0), (0.61, 2.0), (0.9, 2.0), (1.0, 4.0)])
    def test_sparsity(self, share, count):
        assert sparsity([[-6.0, 0.5, 3.0, 0.5]], share).tolist() == [count]

    def test_sparsity_of_nothing(self):
        assert sparsity([[0.0, 0.0], [0.0, 2.0]]).tolist() == [0.0, 1.0]

    def test_sparsity_refuses(self, approved):
        for share in (0, 1.5, np.nan):
            with approved.raises(InvalidParameter):
                sparsity([[1.0]], share)
        with approved.raises(InvalidParameter):
            sparsity([[1.0, np.nan]])


class TestSummary:
    def test_interval(self):
        mean, margin = lab_metrics.interval([1.0, 2.0, 3.0, 4.0])
        assert mean == 2.5
        assert margin == pytest.approx(2 * np.std([1, 2, 3, 4], ddof=1) / 2)
        assert str(lab_metrics.Interval(0.12345, 0.01)) == "0.123 ± 0.010"

    def test_one_figure_has_no_error_to_speak_of(self):
        assert lab_metrics.interval([3.0]) == (3.0, np.inf)

    def test_paired_is_narrower_than_apart(self):
        rows = np.random.default_rng(0).normal(size=200)
        better = rows + 0.1 + 0.01 * np.random.default_rng(1).normal(size=200)
        apart = lab_metrics.paired(better, rows)
        assert apart.mean == pytest.approx(0.1, abs=0.005)
        assert apart.margin < 0.01 < lab_metrics.interval(rows).margin

    def test_covers_its_mean(self):
        rng = np.random.default_rng(2)
        inside = [
            abs(one.mean) <= one.margin for one in (lab_metrics.interval(rng.normal(size=50)) for _ in range(1_000))
        ]
        assert np.mean(inside) == pytest.approx(0.95, abs=0.02)

    @pytest.mark.parametrize("figures", [[], [np.nan], [1.0, np.inf]])
    def test_refuses(self, approved, figures):
        with approved.raises(InvalidParameter):
            lab_metrics.interval(figures)

    def test_refuses_other_rows(self, approved):
        with approved.raises(InvalidParameter):
            lab_metrics.paired([1.0], [1.0, 2.0])


def test_an_explanation_is_ranked_by_what_supports_each_prediction():
    table = np.random.default_rng(3).normal(size=(200, 3))

    def model(X):
        return 1 / (1 + np.exp(-(2 * X[:, 0] - X[:, 1])))

    found = xcid.Explainer(model, table)(table[:20])
    side = np.where(model(table[:20]) > 0.5, 1.0, -1.0)[:, None]
    due = xcid.metrics.comprehensiveness(model, table[:20], side * found.values, table)
    assert np.array_equal(xcid.metrics.comprehensiveness(model, table[:20], found, table), due)
    assert due.mean() > xcid.metrics.comprehensiveness(model, table[:20], found.values, table).mean()
