"""What is particular to each generator."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from xcid.generators import Marginal, Random
from xcid.table import Constraints, FeatureSpace


@pytest.fixture(scope="module")
def space():
    return FeatureSpace.of(np.random.default_rng(0).integers(0, 1000, (500, 4)).astype(float))


def cloud_of(generator, space, n_rows=40):
    """Half of the samples flip, whatever their values."""
    rows = space.background[:n_rows]
    even = lambda samples, owner: samples.sum(axis=1) % 2  # noqa: E731
    return generator(rows, space.keys(rows, 0), space, even)


def test_random_changes_one_or_two_features_at_first():
    space = FeatureSpace.of(np.random.default_rng(1).normal(size=(100, 4)))
    rows = space.background[:40]
    digit = lambda samples, owner: np.floor(samples.sum(axis=1) * 1e6) % 2  # noqa: E731
    cloud = Random(m=50)(rows, space.keys(rows, 0), space, digit)
    changed = (cloud.samples != cloud.origin[:, None]).sum(axis=2)
    counts = np.bincount(changed.ravel(), minlength=5) / changed.size
    # of 1,000 first changes and 750 second ones (a quarter picks the same feature again)
    assert counts[0] == 0
    assert counts[1] == pytest.approx(4 / 7, abs=0.02)
    assert counts[2] == pytest.approx(3 / 7, abs=0.02)
    assert counts[3:].sum() == 0


def test_random_goes_on_to_more_changes_while_flips_are_lacking(space):
    rows = np.full((3, 4), 500.0)
    high = lambda samples, owner: (samples > 600).all(axis=1)  # noqa: E731
    cloud = Random(m=20)(rows, space.keys(rows, 0), space, high)
    assert np.all(cloud.status == "ok")
    changed = (cloud.samples != 500.0).sum(axis=2)
    assert np.all(changed[cloud.positive > 0] == 4)
    assert np.all(changed[cloud.negative > 0] <= 2)


def test_random_values_are_uniform_over_the_range(space):
    cloud = cloud_of(Random(m=100), space, n_rows=100)
    moved = cloud.samples[cloud.samples != cloud.origin[:, None]]
    assert stats.kstest(moved, "uniform", args=(0, 1000)).pvalue > 1e-3


def test_random_offers_no_candidate_twice():
    """Two features of three whole numbers have nine distinct candidates; DiCE has the row itself among them."""
    space = FeatureSpace.of(np.array([[a, b] for a in range(3) for b in range(3)]))
    rows = np.array([[1.0, 1.0]])
    seen = []

    def watch(samples, owner):
        seen.extend(map(tuple, samples))
        return np.zeros(len(samples))

    Random(m=4, max_evaluations=20)(rows, space.keys(rows, 0), space, watch)
    assert len(seen) == len(set(seen)) == 9


def test_random_draws_from_all_rounds_where_the_first_two_have_too_few():
    """Flips need three changes, or one that is rare: of some 20 such flips most would be kept if those came first."""
    space = FeatureSpace.of(np.random.default_rng(2).normal(size=(300, 4)))
    rows, (low, high) = np.zeros((40, 4)), np.array([space.lower, space.upper])

    def flips(samples, owner):
        rare = samples[:, 0] > high[0] - 0.06 * (high[0] - low[0])
        return rare | ((samples != 0).sum(axis=1) >= 3)

    cloud = Random(m=50)(rows, space.keys(rows, 0), space, flips)
    assert np.all(cloud.status == "ok")
    changed = (cloud.samples != 0).sum(axis=2)
    few = np.array([np.mean(changed[row][cloud.positive[row] > 0] <= 2) for row in range(len(rows))])
    asked = cloud.n_evaluations
    assert few.mean() == pytest.approx(0.07, abs=0.04)
    assert np.all(changed[cloud.negative > 0] <= 2)
    assert np.all(asked < 3_000)  # nothing is asked for a second time


class TestRoundingOfRandom:
    def values(self, cells, **settings):
        table = pd.DataFrame({"x": cells, "other": np.linspace(0, 1, len(cells))})
        space = FeatureSpace.of(table, **settings)
        rows = space.background[:3]
        samples = Random(m=100)(rows, space.keys(rows, 0), space, lambda s, o: (s[:, 1] > 0.5).astype(float)).samples
        return np.unique(samples[..., 0])

    def test_follows_the_most_frequent_value(self):
        assert set(self.values([0.0, 0.512, 0.5, 0.5, 0.5, 1.0])) == {*np.arange(12) / 10, 0.512}  # the row's own stays

    def test_takes_the_most_decimals_of_equally_frequent_values(self):
        found = self.values([0.0, 0.25, 0.25, 0.5, 0.5, 1.0])
        assert np.array_equal(found, found.round(2))
        assert not np.array_equal(found, found.round(1))

    def test_leaves_whole_types_whole_and_in_their_range(self):
        assert self.values([0, 4, 2, 2]).tolist() == [0, 1, 2, 3, 4]
        assert set(self.values(pd.array([0, 4, None, 2], dtype="Int64"))) > {0, 1, 2, 3, 4}  # and missing cells

    def test_obeys_kinds_and_constraints(self):
        cells = [0.0, 1.0, 2.0, 2.0]
        assert self.values(cells, kinds={"x": "integer"}).tolist() == [0, 1, 2]
        assert self.values(cells, constraints=Constraints(ranges={"x": (0, 2)})).tolist() == [0, 1, 2]
        assert self.values(cells, constraints=Constraints(monotone={"x": "falls"})).tolist() == [0, 1, 2]

    def test_does_not_round_what_has_many_decimals(self):
        found = self.values(np.random.default_rng(0).normal(size=50))
        assert not np.any(found == found.round(6))


def test_marginal_masks_are_independent_and_even(space):
    cloud = cloud_of(Marginal(m=500), space)
    changed = (cloud.samples != cloud.origin[:, None]).reshape(-1, 4)
    assert changed.mean(axis=0) == pytest.approx(0.5, abs=0.01)
    off_diagonal = np.corrcoef(changed.T)[~np.eye(4, dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.02


def test_marginal_values_are_those_of_the_background(space):
    cloud = cloud_of(Marginal(m=200), space)
    for column in range(4):
        moved = cloud.samples[..., column][cloud.samples[..., column] != cloud.origin[:, None, column]]
        assert np.isin(moved, space.background[:, column]).all()
        assert stats.ks_2samp(moved, space.background[:, column]).pvalue > 1e-3
