"""Importance without the bias of noise, its limits and p-values, and flips by one feature alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import xcid
from xcid._kernels import arrays
from xcid._kernels.random import run_key
from xcid.cid import planned
from xcid.cid.calibrated import flips_alone, importance
from xcid.cid.per_feature import PerFeature
from xcid.densities import Kernel, Mixed
from xcid.generators import Balanced
from xcid.table import FeatureSpace

RNG = np.random.default_rng(11)
USED = slice(0, 5)
IGNORED = slice(5, 9)


def table(n_rows):
    """Five used columns; ignored are noise, a copy, a function of two used ones, and levels that go with one."""
    used = np.column_stack([RNG.normal(size=(n_rows, 3)), RNG.exponential(size=n_rows), RNG.integers(0, 4, n_rows)])
    more = [RNG.normal(size=n_rows), used[:, 0], used[:, 0] * used[:, 1], np.round(used[:, 3])]
    return np.column_stack([used, *more])


def model(X):
    log_odds = 1.5 * X[:, 0] - X[:, 1] + X[:, 0] * X[:, 2] + np.minimum(X[:, 3], 1.0) - 1.2 * (X[:, 4] == 2)
    return 1 / (1 + np.exp(-log_odds))


TABLE, ROWS = table(1_000), table(8)


def cloud_of(n, seed, rows=ROWS, space=None):
    """Rows that all follow the plan of a seed."""
    space = FeatureSpace.of(TABLE) if space is None else space
    sides = model(rows) > 0.5
    flips = lambda X, owner: np.where(sides[owner], 1 - model(X), model(X))  # noqa: E731
    drawn = Balanced(n).bind(space, model(TABLE)[:, None]).draw(space, run_key(seed))
    return drawn(rows, np.arange(len(rows), dtype=np.uint64), space, flips)


@pytest.fixture(scope="module")
def runs():
    """(4, seeds, n, f) estimates of 48 plans of 1,000."""
    return np.stack([np.stack(importance(cloud_of(1_000, seed), Mixed())) for seed in range(48)], axis=1)


@pytest.fixture(scope="module")
def truth():
    return importance(cloud_of(30_000, 1_000), Mixed()).value


def test_ignored_columns_average_zero_and_used_ones_their_size(runs, truth):
    plain = np.stack([PerFeature(Mixed())(cloud_of(1_000, seed)).importance for seed in range(4)])
    assert plain[..., IGNORED].mean() > 0.04
    assert runs[0][..., IGNORED].mean() < 0.005
    assert abs(runs[0].mean(axis=0)[:, USED] - truth[:, USED]).mean() < 0.015
    assert truth[:, USED].mean() > 0.15


def test_p_values_of_ignored_columns_are_below_a_share_that_often(runs):
    p = runs[3]
    for share in (0.05, 0.2):
        by_plan = (p[..., IGNORED] < share).mean(axis=(1, 2))
        error = by_plan.std() / np.sqrt(len(by_plan))
        assert error < 0.02
        assert abs(by_plan.mean() - share) < 3 * error
    assert (p[..., :2] < 0.05).mean() > 0.95


def test_limits_cover_what_unlimited_sampling_gives(runs, truth):
    _, lower, upper, _ = runs
    covered = (lower <= truth) & (truth <= upper)
    assert 0.93 <= covered[..., USED].mean() <= 0.99
    assert (lower[..., IGNORED] == 0).mean() > 0.93
    shifted = truth + 0.2 > upper
    assert shifted[..., USED].mean() > 0.9


def test_values_are_shares_inside_their_limits(runs):
    value, lower, upper, p = runs
    assert ((lower >= 0) & (lower <= value) & (value <= upper) & (upper <= 1)).all()
    assert ((p >= 0) & (p <= 1)).all()
    assert (lower[p >= 0.05] == 0).all()


def test_a_row_has_the_same_alone():
    cloud = cloud_of(1_000, 3)
    together, alone = importance(cloud, Mixed()), importance(cloud[4:5], Mixed())
    for whole, one in zip(together, alone, strict=True):
        np.testing.assert_allclose(whole[4:5], one, atol=1e-9)


def test_frozen_features_and_rows_without_flips_have_none():
    frozen = np.array([False, True] + 7 * [False])
    cloud = cloud_of(1_000, 0, space=replace(FeatureSpace.of(TABLE), frozen=frozen))
    found = importance(cloud, Mixed())
    assert [part[:, 1].tolist() for part in found] == [8 * [0.0], 8 * [0.0], 8 * [0.0], 8 * [1.0]]
    assert np.isnan(flips_alone(cloud)[:, 1]).all()
    assert (found.value[:, 0] > 0).all()
    still = replace(cloud, positive=np.zeros_like(cloud.positive), negative=np.ones_like(cloud.negative))
    assert (importance(still, Mixed()).value == 0).all()
    assert np.isnan(importance(still, Mixed()).p[:, 0]).all()


@pytest.mark.parametrize("change", ["no plan", "density by row"])
def test_without_a_plan_it_is_the_plain_d1(change):
    cloud = cloud_of(200, 0)
    if change == "no plan":
        cloud = cloud.sized(cloud.positive.shape[1])
        assert np.isnan(flips_alone(cloud)).all()
    density = Mixed() if change == "no plan" else Kernel("epanechnikov")
    found = importance(cloud, density)
    np.testing.assert_array_equal(found.value, PerFeature(density)(cloud).importance)
    assert all(np.isnan(part[:, 0]).all() for part in found[1:])


def test_a_group_has_its_plain_d1_beside_features_with_limits():
    both = xcid.Constraints(groups={"both": ["x0", "x1"]})
    cloud = xcid.Explainer(model, TABLE, constraints=both, generator=Balanced(200))(ROWS[:1]).cloud
    found = importance(cloud, Mixed())
    is_group = np.array([len(columns) > 1 for columns in cloud.features])
    plain = PerFeature(Mixed())(cloud).importance
    np.testing.assert_array_equal(found.value[:, is_group], plain[:, is_group])
    assert np.isnan(found.upper[:, is_group]).all()
    assert np.isfinite(found.upper[:, ~is_group]).all()


@pytest.mark.parametrize("n", [1_000, 12_000])
def test_flips_alone_is_what_intervention_finds(n):
    cloud = cloud_of(n, 0)
    found = flips_alone(cloud)
    sides = model(ROWS) > 0.5
    for feature in range(9):
        changed = np.repeat(ROWS[:, None], len(TABLE), axis=1)
        changed[:, :, feature] = TABLE[:, feature]
        flips = (model(changed.reshape(-1, 9)).reshape(8, -1) > 0.5) != sides[:, None]
        np.testing.assert_allclose(found[:, feature], flips.mean(axis=1), atol=1 / len(cloud.plan.alone))
    assert found[:, USED].max() > 0.3
    assert (found[:, IGNORED] == 0).all()


@pytest.mark.parametrize(
    ("n", "n_alone"), [(1_000, 8), (2_999, 8), (3_000, 16), (8_000, 16), (12_000, 32), (30_000, 64)]
)
def test_features_take_more_values_alone_where_these_are_cheap(n, n_alone):
    assert len(cloud_of(n, 0, ROWS[:1]).plan.alone) == n_alone


@pytest.mark.parametrize(("n", "d", "n_alone"), [(3_000, 21, 8), (12_000, 40, 16), (12_000, 80, 8)])
def test_many_features_take_fewer_values_alone(n, d, n_alone):
    space = FeatureSpace.of(RNG.normal(size=(50, d)))
    plan = Balanced(n).draw(space, run_key(0)).plan
    assert len(plan.alone) == n_alone


def test_more_features_than_there_are_blocks_for_have_the_plain_distance():
    table = np.random.default_rng(8).normal(size=(200, 70))
    explainer = xcid.Explainer(lambda X: 1 / (1 + np.exp(-X[:, 0])), table)
    found = explainer(table[:2])
    assert np.isnan(found.importance_p_values).all()
    plain = explainer.replace(score=xcid.scores.PerFeature(xcid.densities.Mixed()))(table[:2])
    assert np.array_equal(found.importance, plain.importance)


def test_rounding_of_other_processors_does_not_count(monkeypatch):
    """Few reference rows, each as often, have functions of equal spread, of which any mixture would do."""
    space, products, noise = FeatureSpace.of(TABLE[:10]), planned.products, np.random.default_rng(1)
    due = importance(cloud_of(100, 3, space=space), Mixed())

    def rounded(each):
        found = products(each)
        return found * (1 + 1e-15 * noise.normal(size=found.shape))

    monkeypatch.setattr(planned, "products", rounded)
    for found, known in zip(importance(cloud_of(100, 3, space=space), Mixed()), due, strict=True):
        np.testing.assert_allclose(found, known, atol=1e-8)


@pytest.mark.parametrize("n_functions", [1, 5, 12])
def test_pairs_that_are_blocks_need_no_sums(n_functions):
    rng = np.random.default_rng(n_functions)
    functions, alone = rng.normal(size=(3, n_functions, 40)), rng.normal(size=(3, 40, 4))
    residuals, own = rng.normal(size=(40, 6)), rng.normal(size=(3, 4, 6))
    short = arrays.redraw_pairs(functions, alone, residuals, own)
    without = arrays.sum_blocks(functions[:, : arrays.TESTED], alone, 1)
    for one, other in zip(short, arrays.redraw_blocks(1, functions, without, residuals, own), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("classes", [2, 3])
def test_where_votes_tie_the_decision_is_the_class_that_the_model_names(classes):
    """The first of those with as many votes, as ``predict`` has it."""

    def vote(X):
        votes = np.digitize(X[:, :4], [-0.3, 0.7][: classes - 1])
        return np.stack([np.mean(votes == name, axis=1) for name in range(classes)], axis=1)

    found, n_ties = xcid.Explainer(vote, TABLE)(TABLE[:60]), 0
    for row in range(60):
        alone, one = found.cloud[row : row + 1].plan.alone, TABLE[row]
        changed = np.repeat(one[None], alone.size, axis=0)
        changed[np.arange(alone.size), np.tile(np.arange(9), len(alone))] = alone.ravel()
        votes = np.sort(vote(changed), axis=1)
        n_ties += np.sum(votes[:, -1] == votes[:, -2])
        flips = (vote(changed).argmax(axis=1) != vote(one[None]).argmax()).reshape(alone.shape)
        np.testing.assert_array_equal(found.flips_alone[row], flips.mean(axis=0))
    assert n_ties > 50
