"""A surrogate as control variate: less noise at the same budget, and no other answer."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

import xcid
from xcid.errors import InvalidParameter
from xcid.generators import Balanced, Marginal
from xcid.scores import Adjusted
from xcid_lab.surrogate import Surrogate, _folds, _large, smooth

RNG = np.random.default_rng(5)
TABLE = RNG.normal(size=(200, 6))
TABLE[:, 5] = TABLE[:, 0] ** 2 + 0.3 * TABLE[:, 5]  # ignored
ROWS = RNG.normal(size=(6, 6))
PARTS = ("values", "lower", "upper", "p_values")


def curved(X):
    X = np.asarray(X, dtype=float)
    return 1 / (1 + np.exp(-(1.5 * X[:, 0] + X[:, 1] * X[:, 2] + np.sin(2 * X[:, 3]) + 0.5)))


def linear(X):
    return 1 / (1 + np.exp(-(np.asarray(X, dtype=float) @ [1.5, -0.5, 0.8, 0.1, 0.0, 0.0])))


def explained(model=curved, score=None, n=400, table=TABLE, rows=ROWS, seed=0, **settings):
    settings = {"generator": Balanced(n), "score": score or Surrogate()} | settings
    return xcid.Explainer(model, table, **settings)(rows, seed=seed)


def assert_same(found, due, tolerance=0.0):
    for part in PARTS:
        assert getattr(found, part) == pytest.approx(getattr(due, part), abs=tolerance), part


@pytest.fixture(scope="module")
def runs():
    """Plain scores and scores with a surrogate, by several seeds."""
    return {
        score: [explained(score=score, seed=seed) for seed in range(4)] for score in (Adjusted(), Surrogate(folds=4))
    }


def test_it_is_nearer_to_the_truth_at_the_same_budget(runs):
    truth = explained(score=Adjusted(), n=40_000).values
    plain, better = (np.mean([(each.values - truth) ** 2 for each in found]) for found in runs.values())
    assert better < plain / 1.3


def test_limits_are_narrower_and_hold_the_truth(runs):
    truth = explained(score=Adjusted(), n=40_000).values
    plain, better = (np.mean([each.upper - each.lower for each in found]) for found in runs.values())
    assert better < 0.9 * plain
    held = np.mean([(each.lower <= truth) & (truth <= each.upper) for each in list(runs.values())[1]])
    assert 0.88 <= held <= 1.0


def test_no_surrogate_is_asked_of_a_donor_that_it_knows():
    """Also where each donor of a small background comes several times, in neighbouring blocks of masks."""
    plan = explained(score=Adjusted(), n=1_000, table=TABLE[:60], rows=ROWS[:1]).cloud.plan
    large = _large(plan)
    folds = _folds(plan, large, 5)
    donors, others = (np.tile(each.values[:, 0], 2) for each in (plan, large))
    for known, asked, told in zip(*folds, strict=True):
        assert known.size > len(donors) / 2
        assert not np.isin(donors[known], donors[asked[: len(donors)] > 0]).any()
        assert not np.isin(donors[known], others[told[: len(others)] > 0]).any()
    assert folds.asked.sum(axis=0) == pytest.approx(1.0)
    assert folds.told.sum(axis=0) == pytest.approx(1.0)


def test_ignored_columns_are_null(runs):
    ignored = np.array([each.p_values[:, [4, 5]] for each in list(runs.values())[1]])
    assert np.mean(ignored < 0.05) <= 0.15


def test_log_odds_that_add_up_are_exact():
    found = explained(linear)
    due = (ROWS - TABLE.mean(axis=0)) * [1.5, -0.5, 0.8, 0.1, 0.0, 0.0]
    assert found.values == pytest.approx(due, abs=1e-5)


def test_a_row_gets_the_same_alone_and_in_a_batch():
    together = explained()
    assert_same(explained(rows=ROWS[2:3]), together[2:3], 1e-9)


def test_the_order_of_columns_does_not_matter():
    order = np.array([3, 5, 0, 4, 2, 1])
    back = np.argsort(order)
    found = explained(lambda X: curved(np.asarray(X)[:, back]), table=TABLE[:, order], rows=ROWS[:, order])
    assert found.values[:, back] == pytest.approx(explained().values, abs=1e-6)


def test_any_fit_will_do():
    def boosted(X, y):
        assert np.isfinite(X).all()
        return HistGradientBoostingRegressor(max_iter=20, random_state=0).fit(X, y).predict

    found = explained(score=Surrogate(fit=boosted, folds=2), rows=ROWS[:2])
    assert np.abs(found.values - explained(score=Adjusted(), rows=ROWS[:2]).values).max() < 0.2


def test_a_bad_surrogate_changes_nothing():
    """Its predictions only add variance, and such rows keep the plain scores."""
    noise = np.random.default_rng(0)
    score = Surrogate(fit=lambda X, y: lambda some: 100 * noise.normal(size=len(some)))
    assert_same(explained(score=score), explained(score=Adjusted()))


@pytest.mark.parametrize(
    "settings",
    [
        {"generator": Marginal(m=50)},
        {"constraints": xcid.Constraints(ranges={"x1": (-1, 1)})},
    ],
    ids=["no plan", "constraints"],
)
def test_contributions_have_a_plan_of_their_own_where_there_is_no_other(settings):
    found, plain = explained(**settings), explained(score=Adjusted(), **settings)
    assert np.mean(found.upper - found.lower) < np.mean(plain.upper - plain.lower)
    assert np.array_equal(found.importance, plain.importance)


def test_with_few_pairs_contributions_are_the_plain_ones():
    settings = {"generator": Balanced(60)}
    assert_same(explained(**settings), explained(score=Adjusted(), **settings))


def test_levels_missing_cells_groups_and_weights_are_taken():
    table = TABLE.copy()
    table[:, 4] = RNG.integers(0, 3, len(table))
    table[RNG.random(len(table)) < 0.2, 1] = np.nan
    settings = {
        "model": lambda X: curved(np.nan_to_num(X)) * np.where(np.asarray(X)[:, 4] == 1, 0.5, 0.9),
        "kinds": {"x4": "categorical"},
        "constraints": xcid.Constraints(groups={"both": ["x2", "x3"]}),
        "weights": RNG.integers(1, 4, len(table)),
        "table": table,
        "rows": table[:4],
    }
    found, plain = explained(**settings), explained(score=Adjusted(), **settings)
    assert found.values.shape == (4, 5)
    assert np.mean(found.upper - found.lower) < np.mean(plain.upper - plain.lower)
    large = _large(found.cloud[:1].plan)
    known = {tuple(cells) for cells in np.nan_to_num(table[:, [2, 3]]).tolist()}
    assert all(tuple(cells) in known for cells in large.alone[:, [2, 3]].tolist())  # a group is never torn apart


def test_smooth_takes_thousands_of_samples():
    X = RNG.normal(size=(5_000, 3))
    y = X[:, 0] * X[:, 1]
    assert np.corrcoef(smooth(X, y)(X[::7]), y[::7])[0, 1] > 0.9


def test_wrong_choices_are_refused():
    with pytest.raises(InvalidParameter, match="folds"):
        Surrogate(folds=1)
    with pytest.raises(InvalidParameter, match="fit"):
        Surrogate(fit="boosted")
