"""What is particular to each generator."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from xcid.generators import Marginal, Random
from xcid.space import FeatureSpace


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
    """Two features of three levels have eight distinct perturbations of a row."""
    space = FeatureSpace.of(np.array([[a, b] for a in range(3) for b in range(3)], dtype=float))
    rows = np.array([[1.0, 1.0]])
    seen = []

    def watch(samples, owner):
        seen.extend(map(tuple, samples))
        return np.zeros(len(samples))

    Random(m=4, max_evaluations=8)(rows, space.keys(rows, 0), space, watch)
    assert len(seen) == len(set(seen)) == 8
    assert (1.0, 1.0) not in seen


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
