"""Pairs of features: log odds that add up do not interact, those that do not are found, and records hold together."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression
from tests.test_native_exact import pairs_counted_out

import xcid
from xcid import outcomes, plots
from xcid.errors import InvalidData, InvalidParameter, NotEnoughFlips

D = 6
FIRST, SECOND = np.triu_indices(D, k=1)


def table(seed, n=400, correlation=0.0):
    """Standard normal columns that are equally correlated."""
    rng = np.random.default_rng(seed)
    own, common = rng.normal(size=(n, D)), rng.normal(size=(n, 1))
    return np.sqrt(1 - correlation) * own + np.sqrt(correlation) * common


def probability(logit):
    return lambda X: 1 / (1 + np.exp(-logit(np.asarray(X))))


ADDITIVE = {
    "linear": lambda X: X @ np.array([2.0, -1.5, 1.0, 0.5, -0.3, 0.0]),
    "steep": lambda X: X @ np.array([40.0, -30.0, 10.0, 5.0, 0.0, 0.0]),
    "curved": lambda X: 2 * np.abs(X[:, 0]) + X[:, 1] ** 2 - np.sin(3 * X[:, 2]) + X[:, 3] - 2,
    "steps": lambda X: 2 * np.sign(X[:, 0]) + 1.5 * (X[:, 1] > 1) - 2 * (X[:, 2] > -0.5),
}
PAIR = {
    "xor": (lambda X: 4 * np.sign(X[:, 0] * X[:, 1]), 0.0, 1.0),
    "strong": (lambda X: 3 * X[:, 0] * X[:, 1], 0.0, 1.0),
    "plain": (lambda X: X[:, 0] * X[:, 1], 0.0, 0.95),
    "correlated": (lambda X: X[:, 0] * X[:, 1], 0.7, 0.95),
    "beside main effects": (lambda X: X[:, 0] * X[:, 1] + 2 * X[:, 2] - X[:, 3] ** 2, 0.3, 0.95),
}


class TestLaws:
    @pytest.mark.parametrize("n", [1_000, 8_000])
    @pytest.mark.parametrize("correlation", [0.0, 0.7])
    @pytest.mark.parametrize("name", ["linear", "curved", "steps"])
    def test_log_odds_that_add_up_do_not_interact(self, name, correlation, n):
        known = table(1, correlation=correlation)
        found = xcid.Explainer(probability(ADDITIVE[name]), known).interactions(known[:6] * 1.1, n=n)
        assert np.abs(found.values).max() < 1e-6
        assert (found.p_values == 1).all()

    @pytest.mark.parametrize("name", PAIR)
    def test_the_pair_that_interacts_comes_first(self, name):
        logit, correlation, power = PAIR[name]
        known = table(3, correlation=correlation)
        found = xcid.Explainer(probability(logit), known).interactions(known[:40] + 0.01)
        assert np.mean([set(one.pairs[0]) == {"x0", "x1"} for one in found]) >= power
        assert np.mean(found.p_values[:, 0, 1] < 0.05) >= power

    def test_pairs_beside_one_that_interacts_keep_the_level(self):
        """The pair that interacts does so in a way that no column of the regression has."""
        low = []
        for seed in range(8):
            known = table(seed)
            found = xcid.Explainer(probability(PAIR["xor"][0]), known).interactions(known[:20], n=1_000, seed=seed)
            others = found.p_values[:, FIRST[1:], SECOND[1:]]
            assert (FIRST[0], SECOND[0]) == (0, 1)
            low.append((others < 0.05).mean())
        assert 0.03 < np.mean(low) < 0.07

    def test_limits_hold_the_truth(self):
        """For 4 sign(x0) sign(x1) a pair is worth 4 E (sign x0 - sign X0)(sign x1 - sign X1) log odds.

        Donors are spread evenly over the background, which chance has no part in: limits are rather too wide.
        """
        held, width = [], []
        for seed in range(10):
            known = table(seed)
            row, usual = np.sign(known[:20, :2]), np.sign(known[:, :2])
            truth = 4 * np.mean((row[:, None, 0] - usual[:, 0]) * (row[:, None, 1] - usual[:, 1]), axis=1)
            found = xcid.Explainer(probability(PAIR["xor"][0]), known).interactions(known[:20], n=1_000, seed=seed)
            held.append((found.lower[:, 0, 1] <= truth) & (truth <= found.upper[:, 0, 1]))
            width.append(found.upper[:, 0, 1] - found.lower[:, 0, 1])
        assert np.mean(held) > 0.93
        assert np.mean(width) < 2  # of pairs that are worth up to 16

    def test_a_product_has_its_exact_worth(self):
        known = table(4)
        found = xcid.Explainer(probability(PAIR["plain"][0]), known).interactions(known[:5])
        worth = np.mean((known[:5, None, 0] - known[:, 0]) * (known[:5, None, 1] - known[:, 1]), axis=1)
        assert np.allclose(found.values[:, 0, 1], worth, atol=1e-5)

    @pytest.mark.parametrize("order", [3, 4])
    def test_parity_shows_in_all_pairs_of_its_features(self, order):
        known = table(5)

        def logit(X):
            return 6 * np.prod(np.sign(X[:, :order]), axis=1)

        found = xcid.Explainer(probability(logit), known).interactions(known[:10])
        inside = order > SECOND
        assert (found.p_values[:, FIRST[inside], SECOND[inside]] < 0.05).mean() > 0.9
        assert (found.p_values[:, FIRST[~inside], SECOND[~inside]] < 0.05).mean() < 0.1

    def test_a_threshold_alone_makes_features_interact_where_only_labels_are_known(self):
        known = table(6)
        found = xcid.Explainer(lambda X: X[:, 0] + X[:, 1] > 0, known).interactions(known[:10])
        assert (found.p_values[:, 0, 1] < 0.05).mean() > 0.5
        assert (found.p_values[:, 4, 5] < 0.05).mean() < 0.3


class TestTables:
    def test_symmetric_and_nothing_on_the_diagonal(self):
        known = table(7)
        found = xcid.Explainer(probability(PAIR["beside main effects"][0]), known).interactions(known[:3], n=400)
        for part in (found.values, found.lower, found.upper, found.p_values, found.adjusted_p_values()):
            assert part.shape == (3, D, D)
            assert np.array_equal(part, part.swapaxes(1, 2))
        assert not found.values[:, np.arange(D), np.arange(D)].any()
        assert (found.lower <= found.values).all()
        assert (found.values <= found.upper).all()
        assert (found.adjusted_p_values() >= found.p_values).all()

    def test_the_same_alone_in_a_batch_and_in_any_order(self):
        known = table(8)
        explainer = xcid.Explainer(probability(lambda X: np.sin(X[:, 0] * X[:, 1])), known)
        together, back = explainer.interactions(known[:12], n=400), explainer.interactions(known[11::-1], n=400)
        alone = [explainer.interactions(row, n=400) for row in known[:12]]
        assert np.allclose(together.values, back.values[::-1], atol=1e-9)
        assert np.allclose(together.values, np.concatenate([one.values for one in alone]), atol=1e-9)
        assert not np.allclose(together.values, explainer.interactions(known[:12], n=400, seed=1).values, atol=1e-9)

    def test_levels_missing_cells_and_groups(self):
        rng = np.random.default_rng(9)
        frame = pd.DataFrame(
            {
                "a": rng.choice(["p", "q"], 300),
                "b": np.where(rng.random(300) < 0.2, np.nan, rng.normal(size=300)),
                "c": rng.normal(size=300),
                "d": rng.normal(size=300),
            }
        )

        def model(X):
            return 0.05 + 0.9 * ((X["a"] == "p").to_numpy() ^ X["b"].isna().to_numpy())

        groups = xcid.Constraints(groups={"cd": ["c", "d"]})
        found = xcid.Explainer(model, frame, constraints=groups).interactions(frame[:8])
        assert set(found.pairs[0]) == {"a", "b"}
        assert found.feature_names == ("a", "b", "cd")
        assert (found.p_values[:, 0, 1] < 0.05).all()
        assert (found.p_values[:, :2, 2] == 1).all()

    def test_frozen_constant_and_limited_features(self):
        known = table(10)
        known[:, 5] = 1.0
        limits = xcid.Constraints(frozen=["x1"], ranges={"x2": (-1, 1)}, monotone={"x3": "rises"})

        def logit(X):
            return X[:, 0] * X[:, 1] + X[:, 2] ** 3 + np.abs(X[:, 3]) + X[:, 0] * X[:, 4]

        found = xcid.Explainer(probability(logit), known, constraints=limits).interactions(known[:5], n=1_000)
        for still in (1, 5):
            assert not found.values[:, still].any()
            assert (found.p_values[:, still] == 1).all()
        assert np.abs(found.values[:, 2:4, :3]).max() < 1e-6  # limits leave log odds that add up
        assert (found.p_values[:, 0, 4] < 0.05).mean() > 0.5

    def test_wide_tables_and_small_ones(self):
        wide = np.random.default_rng(11).normal(size=(150, 70))
        model = probability(lambda X: 3 * np.sign(X[:, 0] * X[:, 1]) + X[:, 2] ** 2)
        found = xcid.Explainer(model, wide).interactions(wide[:2], n=2_000)
        assert set(found.pairs[0]) == {"x0", "x1"}
        assert (found.p_values < 0.05).mean() < 0.07
        two = xcid.Explainer(model, wide[:, :3]).interactions(wide[:2, :3], n=96)
        assert set(two.pairs[0]) == {"x0", "x1"}
        single = xcid.Explainer(probability(lambda X: X[:, 0]), wide[:, :1]).interactions(wide[:2, :1])
        assert single.pairs == ()
        assert len(single.to_frame()) == 0
        few = xcid.Explainer(model, wide[:8, :4]).interactions(wide[:2, :4])
        assert (few.p_values > 0.05).all()

    def test_a_row_that_the_model_fails_for(self):
        known = table(12)
        rows = np.where(np.arange(4)[:, None] == 2, known[:4] + 50.0, known[:4])

        def model(X):
            if (np.asarray(X)[:, 0] > 40).any():
                raise ValueError("too large")
            return probability(PAIR["plain"][0])(X)

        with pytest.warns(xcid.errors.XcidWarning, match="1 of 4 rows"):
            found = xcid.Explainer(model, known).interactions(rows, n=400)
        assert found.status.tolist() == ["ok", "ok", "model_failed", "ok"]
        assert (found.p_values[2] == 1).all()

    def test_what_cannot_be_asked(self, approved):
        known = table(13)
        with approved.raises(NotEnoughFlips):
            xcid.Explainer(probability(PAIR["plain"][0]), known, outcome=outcomes.Threshold(2.0)).interactions(known[0])
        with approved.raises(InvalidParameter):
            xcid.Explainer(probability(PAIR["plain"][0]), known).interactions(known[0], n=50)


@pytest.fixture(scope="module")
def found():
    """Four rows with names."""
    frame = pd.DataFrame(table(14), columns=list("abcdef"), index=[f"row {at}" for at in range(400)])
    return xcid.Explainer(probability(PAIR["beside main effects"][0]), frame).interactions(frame[:4], n=1_000)


class TestShown:
    def test_frames_have_a_line_for_each_row_and_pair(self, found):
        frame = found.to_frame()
        names = ["row", "first", "second", "value", "lower", "upper", "p_value", "status", "n_evaluations", "about"]
        names += ["exact"]
        assert list(frame.columns) == names
        assert len(frame) == 4 * 15
        assert frame["row"].tolist() == np.repeat(found.index, 15).tolist()
        for at, (_, lines) in enumerate(frame.groupby("row", sort=False)):
            assert (np.diff(np.abs(lines["value"])) <= 0).all()
            for one in lines.itertuples():
                places = found.feature_names.index(one.first), found.feature_names.index(one.second)
                assert one.value == found.values[at, *places]
                assert one.p_value == found.p_values[at, *places]
        assert found.to_frame(backend="polars").shape == frame.shape

    def test_in_the_terminal(self, found):
        one, many = str(found[1]), str(found)
        assert "row 1" in one
        assert f"{found.values[1, 0, 1]:+.3f}" in one.splitlines()[1]
        of_one = found[1].significant[0][found[1].places]
        assert [line.endswith("~") for line in one.splitlines()[1:13]] == (~of_one[:12]).tolist()
        assert f"{np.abs(found.values[:, 0, 1]).mean():.3f}  100%" in many
        assert "4 rows" in many
        assert "and 3 more pairs" in many
        assert repr(found) == "<xcid.Interactions: 4 rows x 15 pairs of 6 features>"
        assert len(list(found)) == 4

    def test_heat_maps(self, approved, found):
        one = plots.interactions(found, 1)
        drawn = np.ma.filled(one.images[0].get_array(), np.nan)
        is_sure = found.significant[1]
        assert np.array_equal(drawn[is_sure], found.values[1][is_sure])
        assert np.isnan(drawn[~is_sure]).all()
        assert "row 1" in one.get_title()
        mean = plots.interactions(found, most=3)
        assert mean.images[0].get_array().shape == (3, 3)
        assert {"a", "b"} <= {label.get_text() for label in mean.get_xticklabels()}
        assert np.ma.max(mean.images[0].get_array()) == pytest.approx(np.abs(found.values[:, 0, 1]).mean())
        assert "3 more features" in mean.get_xlabel()
        with approved.raises(InvalidData):
            plots.interactions(found[:0])


class TestExact:
    def test_trees_are_counted_out(self):
        X = table(0, 200)
        y = X[:, 0] * X[:, 1] + X[:, 2]
        forest = RandomForestRegressor(5, random_state=0).fit(X, y)
        found = xcid.Explainer(forest, X[:40]).interactions(X[:3])
        shares = np.full(40, 1 / 40)
        wanted = pairs_counted_out(forest.predict, X[:3], X[:40], shares, [(at,) for at in range(X.shape[1])])
        assert found.exact.all()
        assert np.abs(found.values - wanted[..., 0]).max() <= 1e-12
        assert (found.lower == found.upper).all()
        assert (found.p_values == (found.values == 0)).all()
        assert "exact" in str(found[0])

    def test_linear_models_have_none(self):
        X = table(0, 200)
        y = X[:, 0] * X[:, 1] + X[:, 2]
        found = xcid.Explainer(LinearRegression().fit(X, y), X).interactions(X[:3])
        assert found.exact.all()
        assert not found.values.any()

    def test_margins_and_other_classes(self):
        X = table(0, 200)
        y = X[:, 0] * X[:, 1] + X[:, 2]
        classes = np.digitize(y, np.quantile(y, [0.3, 0.6]))
        boosted = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, classes)
        found = xcid.Explainer(boosted, X[:30], scale="margins").interactions(X[:4])
        players, shares = [(at,) for at in range(X.shape[1])], np.full(30, 1 / 30)
        every = pairs_counted_out(lambda rows: np.log(boosted.predict_proba(rows)), X[:4], X[:30], shares, players)
        for row in range(4):
            wanted = every[row, ..., int(found.about[row])] - every[row, ..., int(found.against[row])]
            assert np.abs(found.values[row] - wanted).max() <= 1e-12
        sampled = xcid.Explainer(lambda rows: boosted.predict_proba(rows), X[:30], scale="margins").interactions(X[:4])
        assert (sampled.against == found.against).all()
        assert not sampled.exact.any()
