"""Necessity and sufficiency by flips: what is known of models that are formulas, and laws for every score."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import xcid
import xcid_lab.baselines
from xcid import directions
from xcid.errors import InvalidData, InvalidParameter
from xcid.outcomes import Threshold
from xcid_lab import metrics

TABLE = np.random.default_rng(5).normal(size=(400, 4))
BOTH, NONE = TABLE[(TABLE[:, :2] > 0).all(axis=1)][:20], TABLE[(TABLE[:, :2] < 0).all(axis=1)][:20]
FIRST, SECOND, LAST = (np.tile(one, (20, 1)) for one in ([3.0, 2, 1, 0], [2.0, 3, 1, 0], [0.0, 1, 2, 3]))


def one(X):
    return (X[:, 0] > 0).astype(int)


def conjunction(X):
    return ((X[:, 0] > 0) & (X[:, 1] > 0)).astype(int)


def crossed(X):
    return 1 / (1 + np.exp(-(X[:, 0] * X[:, 1] + X[:, 2] - 0.3 * X[:, 3])))


class TestTruth:
    def test_a_feature_that_decides_alone(self):
        settings = {"k": 1, "wanted": 5}
        found = metrics.flip_shares(one, BOTH, FIRST, TABLE, **settings)
        assert np.all(found.top == 1)
        assert np.all(found.rest == 0)
        assert np.array_equal(metrics.flip_necessity(one, BOTH, FIRST, TABLE, **settings), found.top)
        assert np.array_equal(metrics.flip_sufficiency(one, BOTH, FIRST, TABLE, **settings), found.any)
        wrong = metrics.flip_shares(one, BOTH, LAST, TABLE, **settings)
        assert np.all(wrong.top == 0)
        assert np.array_equal(wrong.any, found.any)

    def test_either_of_two_takes_a_conjunction_away(self):
        """Each is necessary by itself; neither suffices, since the other still flips it; both together suffice."""
        for scores in (FIRST, SECOND):
            found = metrics.flip_shares(conjunction, BOTH, scores, TABLE, k=1, wanted=1)
            assert np.all(found.top == 1)
            assert np.all(found.rest == 1)
        found = metrics.flip_shares(conjunction, BOTH, FIRST, TABLE, k=2, wanted=1)
        assert np.all(found.rest == 0)
        assert np.all(found.any == 1)

    def test_only_both_together_make_a_conjunction(self):
        """Neither is necessary by itself; each suffices, since nothing flips while it is frozen."""
        for scores in (FIRST, SECOND):
            found = metrics.flip_shares(conjunction, NONE, scores, TABLE, k=1, wanted=1)
            assert np.all(found.top == 0)
            assert np.all(found.rest == 0)
            assert np.all(found.any == 1)
        assert np.all(metrics.flip_necessity(conjunction, NONE, FIRST, TABLE, k=2, wanted=1) == 1)

    def test_the_share_that_flips(self):
        """With as many wanted as drawn, a share is that of draws that flip: here one half."""
        found = metrics.flip_necessity(one, BOTH, FIRST, TABLE, k=1, wanted=2_000, draws=2_000)
        due = np.unique(TABLE[TABLE[:, 0] <= 0, 0]).size / 2_000  # each value counts once
        assert np.allclose(found, due, atol=0.01)

    def test_flips_are_counted_once(self):
        table = np.column_stack([TABLE[:, 0] > 0, TABLE[:, 1]]).astype(float)
        rows = table[:10]
        found = metrics.flip_necessity(one, rows, np.tile([1.0, 0.0], (10, 1)), table, k=1, wanted=4)
        assert np.all(found == 0.25)  # a column of 0 and 1 has one other value

    def test_scores_of_the_method_beat_chance(self):
        rows = TABLE[:60]
        ours = directions.supporting(xcid.Explainer(crossed, TABLE)(rows))
        chance = xcid_lab.baselines.Chance(crossed, TABLE)(rows).values
        for figure in (metrics.flip_necessity, metrics.flip_sufficiency):
            better = metrics.paired(figure(crossed, rows, ours, TABLE, k=1), figure(crossed, rows, chance, TABLE, k=1))
            assert better.mean > better.margin


class TestLaws:
    @pytest.mark.parametrize("k", [1, 2, 3])
    def test_what_is_not_on_top_is_the_rest(self, k):
        scores = np.random.default_rng(0).normal(size=(20, 4))
        found = metrics.flip_shares(crossed, TABLE[:20], scores, TABLE, k=k)
        other = metrics.flip_shares(crossed, TABLE[:20], -scores, TABLE, k=4 - k)
        assert np.array_equal(found.top, other.rest)
        assert np.array_equal(found.rest, other.top)
        assert np.array_equal(found.any, other.any)

    def test_all_features_on_top(self):
        found = metrics.flip_shares(crossed, TABLE[:20], FIRST, TABLE, k=4)
        assert np.array_equal(found.top, found.any)
        assert np.all(found.rest == 0)

    def test_a_row_has_the_same_figure_alone_and_in_any_order(self):
        scores = np.random.default_rng(0).normal(size=(20, 4))
        whole = metrics.flip_shares(crossed, TABLE[:20], scores, TABLE).top
        back = metrics.flip_shares(crossed, TABLE[:20][::-1], scores[::-1], TABLE).top
        assert np.array_equal(whole, back[::-1])
        assert metrics.flip_shares(crossed, TABLE[3], scores[3], TABLE).top.tolist() == [whole[3]]

    def test_columns_may_move(self):
        scores = np.random.default_rng(0).normal(size=(20, 4))
        moved = [2, 0, 3, 1]
        back = np.argsort(moved)
        found = metrics.flip_shares(lambda X: crossed(X[:, back]), TABLE[:20, moved], scores[:, moved], TABLE[:, moved])
        assert np.array_equal(found.any, metrics.flip_shares(crossed, TABLE[:20], scores, TABLE).any)
        assert np.array_equal(found.top, metrics.flip_shares(crossed, TABLE[:20], scores, TABLE).top)

    def test_small_blocks_change_nothing(self, monkeypatch):
        scores = np.random.default_rng(0).normal(size=(20, 4))
        whole = metrics.flip_shares(crossed, TABLE[:20], scores, TABLE)
        monkeypatch.setattr("xcid_lab.metrics.flips.MOST_CELLS", 1)
        assert np.array_equal(metrics.flip_shares(crossed, TABLE[:20], scores, TABLE).top, whole.top)

    def test_the_model_is_asked_as_often_as_is_said(self):
        asked = []

        def counted(X):
            asked.append(len(X))
            return crossed(X)

        metrics.flip_shares(counted, TABLE[:7], FIRST[:7], TABLE, draws=50)
        before = 2 * len(TABLE)  # at most, to learn about the model
        assert 7 * 151 <= sum(asked) <= 7 * 151 + before
        assert len(asked) < 10

    def test_a_regression_and_another_question(self):
        def number(X):
            return 10 * X[:, 0] + X[:, 1]

        found = metrics.flip_shares(number, BOTH, FIRST, TABLE, k=1, wanted=5)
        assert np.all(found.top == 1)
        assert np.all(found.rest == 0)  # the others move it by too little
        found = metrics.flip_shares(number, BOTH, FIRST, TABLE, k=1, wanted=5, outcome=Threshold(0.0))
        assert np.all(found.top == 1)

    def test_levels_and_missing_cells(self):
        random = np.random.default_rng(1)
        table = pd.DataFrame({"level": random.choice(["a", "b", None], 90), "size": random.normal(size=90)})
        rows = table.iloc[:10]
        found = metrics.flip_shares(
            lambda frame: (frame["level"] == "a").astype(int), rows, np.tile([1.0, 0.0], (10, 1)), table, k=1, wanted=1
        )
        assert np.all(found.top == 1)
        assert np.all(found.rest == 0)

    @pytest.mark.parametrize(
        ("settings", "match"),
        [({"k": 5}, "at most the number of features"), ({"k": 0}, "k must be"), ({"wanted": 101}, "wanted must be")],
    )
    def test_what_is_refused(self, settings, match):
        with pytest.raises(InvalidParameter, match=match):
            metrics.flip_shares(crossed, TABLE[:3], FIRST[:3], TABLE, **settings)

    def test_scores_of_other_rows(self):
        with pytest.raises(InvalidData, match="one score for each cell"):
            metrics.flip_shares(crossed, TABLE[:4], FIRST[:3], TABLE)
