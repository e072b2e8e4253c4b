"""Regional sensitivity analysis: two-sample statistics of C+ and C-."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy import stats

import xcid
from xcid.errors import InvalidParameter
from xcid.generators import Balanced
from xcid_lab.baselines import RegionalSensitivity, cramer_von_mises, kolmogorov_smirnov
from xcid_lab.baselines.regional import Apart

STATISTICS = {"ks": kolmogorov_smirnov, "cvm": cramer_von_mises}
each = pytest.mark.parametrize("statistic", STATISTICS.values(), ids=STATISTICS.keys())


def cloud_of(samples, positive, negative=None, discrete=False):
    """A cloud of one row from (s, d) samples and (s,) weights."""
    samples, positive = np.asarray(samples, dtype=np.float64), np.asarray(positive, dtype=np.float64)
    negative = 1 - positive if negative is None else np.asarray(negative, dtype=np.float64)
    d = samples.shape[1]
    return xcid.Perturbations(
        np.zeros((1, d)), samples[None], positive[None], negative[None], np.array([len(samples)]), np.array(["ok"]),
        np.full(d, discrete),
    )  # fmt: skip


@pytest.fixture
def rng():
    return np.random.default_rng(5)


class TestAgainstScipy:
    @pytest.mark.parametrize("rounded", [8, 0])
    def test_kolmogorov_smirnov(self, rng, rounded):
        samples, flips = rng.normal(size=(80, 3)).round(rounded), rng.random(80) < 0.3
        values = Apart(kolmogorov_smirnov)(cloud_of(samples, flips)).values[0]
        expected = [stats.ks_2samp(column[flips], column[~flips]).statistic for column in samples.T]
        assert np.allclose(values, expected)

    def test_cramer_von_mises(self, rng):
        samples, flips = rng.normal(size=(80, 3)), rng.random(80) < 0.3
        values = Apart(cramer_von_mises)(cloud_of(samples, flips)).values[0]
        expected = [stats.cramervonmises_2samp(column[flips], column[~flips]).statistic for column in samples.T]
        m, n = flips.sum(), (~flips).sum()
        assert np.allclose(values * m * n / (m + n), expected)


class TestWeights:
    @each
    def test_a_weight_is_as_many_samples(self, rng, statistic):
        samples = rng.normal(size=(30, 2))
        positive, negative = rng.integers(0, 4, 30), rng.integers(0, 4, 30)
        weighted = Apart(statistic)(cloud_of(samples, positive, negative)).values
        repeated = np.repeat(samples, positive + negative, axis=0)
        flips = np.concatenate([[1] * p + [0] * q for p, q in zip(positive, negative, strict=True)])
        assert np.allclose(weighted, Apart(statistic)(cloud_of(repeated, flips)).values)

    @each
    def test_0_where_a_set_is_empty(self, rng, statistic):
        samples = rng.normal(size=(30, 2))
        assert not Apart(statistic)(cloud_of(samples, np.zeros(30))).values.any()
        assert not Apart(statistic)(cloud_of(samples, np.ones(30))).values.any()

    @each
    def test_missing_cells_are_one_value(self, rng, statistic):
        samples, flips = rng.normal(size=(40, 1)), rng.random(40) < 0.5
        samples[::3] = np.nan
        filled = np.where(np.isnan(samples), 99.0, samples)
        first, second = (Apart(statistic)(cloud_of(cells, flips)).values for cells in (samples, filled))
        assert np.array_equal(first, second)
        assert first > 0


class TestLevels:
    def test_largest_difference_over_all_sets(self, rng):
        codes, positive = rng.integers(0, 5, 60), rng.random(60)
        value = Apart(kolmogorov_smirnov)(cloud_of(codes[:, None], positive, discrete=True)).values[0, 0]
        p, q = (np.bincount(codes, weights, minlength=5) / weights.sum() for weights in (positive, 1 - positive))
        sets = itertools.product([0, 1], repeat=5)
        assert value == pytest.approx(max(abs(np.dot(chosen, p - q)) for chosen in sets))

    @each
    def test_names_of_levels_make_no_difference(self, rng, statistic):
        codes, positive = rng.integers(0, 5, 60), rng.random(60)
        renamed = np.array([3, 0, 4, 1, 2])[codes]
        first, second = (
            Apart(statistic)(cloud_of(column[:, None], positive, discrete=True)).values for column in (codes, renamed)
        )
        assert np.allclose(first, second)


class TestBaseline:
    TABLE = np.random.default_rng(0).normal(size=(200, 3))

    @each
    def test_same_cloud_as_the_recommended_setting(self, statistic):
        def model(X):
            return 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1]))

        found = RegionalSensitivity(model, self.TABLE, statistic=statistic, n=400)(self.TABLE[:3], seed=2)
        other = xcid.Explainer(model, self.TABLE, generator=Balanced(400))(self.TABLE[:3], seed=2)
        assert np.array_equal(found.cloud.samples, other.cloud.samples)
        assert np.array_equal(found.cloud.positive, other.cloud.positive)
        assert np.all(found.n_evaluations <= 401)
        assert found.values.argmax(axis=1).tolist() == [0] * 3
        assert found.base_values is None

    def test_refuses_what_is_no_statistic(self):
        with pytest.raises(InvalidParameter, match="statistic must be a function"):
            RegionalSensitivity(lambda X: X[:, 0], self.TABLE, statistic="ks")
