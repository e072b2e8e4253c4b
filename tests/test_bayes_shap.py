"""Shapley values by a Bayesian regression: their means and their limits."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from xcid.subject import Subject
from xcid_lab.baselines import BayesShap
from xcid_lab.baselines._coalitions import Game
from xcid_lab.baselines.bayes import drawn, posterior

TABLE = np.random.default_rng(7).normal([1.0, 0.0, -2.0, 5.0], [1.0, 2.0, 0.5, 1.0], size=(250, 4))
SLOPES = np.array([2.0, -1.0, 0.0, 0.5])


def linear(X):
    return X @ SLOPES


def curved(X):
    return np.tanh(X[:, 0] * X[:, 1]) + X[:, 3] * X[:, 2] / 4


def shapley(model, row, table):
    """By the definition: the mean over all orders of what a feature adds."""
    d = len(row)
    worth = {
        kept: model(np.where(np.isin(np.arange(d), kept), row, table)).mean()
        for size in range(d + 1)
        for kept in itertools.combinations(range(d), size)
    }
    values = np.zeros(d)
    for order in itertools.permutations(range(d)):
        for place, feature in enumerate(order):
            before = tuple(sorted(order[:place]))
            values[feature] += worth[tuple(sorted((*before, feature)))] - worth[before]
    return values / math.factorial(d)


class TestPosterior:
    def test_mean_is_a_ridge_regression_around_equal_shares(self):
        """The same posterior, by least squares with a line for each part of the prior."""
        rng = np.random.default_rng(0)
        kept, total = drawn(rng, 60, 5), 1.7
        values = kept @ rng.normal(size=5) + rng.normal(size=60)
        found, _ = posterior(kept, values, total)
        sure = 1e6 * np.ones((1, 5))
        lines = np.concatenate([kept.astype(float), np.eye(5), sure])
        answers = np.concatenate([values, np.full(5, total / 5), [1e6 * total]])
        assert np.allclose(found, np.linalg.lstsq(lines, answers)[0], atol=1e-6)
        assert found.sum() == pytest.approx(total)

    def test_with_all_coalitions_it_is_kernelshap(self):
        """The weighted regression of KernelSHAP is exact where every coalition comes as often as it weighs."""
        row, d = TABLE[0], 4
        subject = Subject.of(curved, TABLE)
        game = Game(subject, row, curved(row[None]), lambda c: np.tile(np.arange(250), (c, 1)))
        inner = np.array([kept for kept in itertools.product([0, 1], repeat=d) if 0 < sum(kept) < d], dtype=bool)
        size = inner.sum(axis=1)
        often = 24_000 // np.array([math.comb(d, k) * k * (d - k) for k in size])
        kept = np.repeat(inner, often, axis=0)
        found, _ = posterior(kept, np.repeat(game(inner) - game.empty, often), game.full - game.empty)
        assert np.allclose(found, shapley(curved, row, TABLE), atol=1e-3)
        assert game.n_rows == 14 * 250

    def test_limits_are_those_of_the_posterior(self):
        """Draws from the two priors and the likelihood, weighed by nothing else than conjugacy."""
        rng = np.random.default_rng(1)
        kept = drawn(rng, 12, 3)
        values = kept @ np.array([1.0, -0.5, 0.2]) + 0.3 * rng.normal(size=12)
        found, margin = posterior(kept, values, 0.7)
        basis = np.linalg.svd(np.ones((1, 3)))[2][1:].T  # another basis of the same plane
        columns, rest = kept @ basis, values - 0.7 * kept.mean(axis=1)
        precision = columns.T @ columns + np.eye(2)
        mean = np.linalg.solve(precision, columns.T @ rest)
        left = rest @ rest - mean @ precision @ mean
        variance = left / rng.chisquare(12, size=200_000)
        shares = mean + np.sqrt(variance)[:, None] * (
            rng.normal(size=(200_000, 2)) @ np.linalg.cholesky(np.linalg.inv(precision)).T
        )
        drawn_limits = np.quantile(0.7 / 3 + shares @ basis.T, [0.025, 0.975], axis=0)
        assert np.allclose([found - margin, found + margin], drawn_limits, atol=0.01)


class TestCoalitions:
    def test_sizes_follow_the_shapley_kernel(self):
        kept = drawn(np.random.default_rng(0), 40_000, 6)
        sizes = np.bincount(kept.sum(axis=1), minlength=7) / 40_000
        weights = np.array([0, *(1 / (k * (6 - k)) for k in range(1, 6)), 0])
        assert np.allclose(sizes, weights / weights.sum(), atol=0.01)
        assert np.allclose(kept.mean(axis=0), 0.5, atol=0.01)


class TestBaseline:
    def test_a_linear_model_lies_within_the_limits(self):
        rows = TABLE[:120]
        explanation = BayesShap(linear, TABLE, n=400)(rows)
        truth = SLOPES * (rows - TABLE.mean(axis=0))
        inside = (explanation.lower <= truth) & (truth <= explanation.upper)
        assert 0.91 < inside.mean() < 0.99
        assert np.abs(explanation.values - truth).mean() < 0.15
        assert np.allclose(explanation.values.sum(axis=1), linear(rows) - linear(TABLE).mean())

    def test_limits_shrink_as_the_root_of_the_evaluations(self):
        few, many = (BayesShap(curved, TABLE, n=n)(TABLE[:20]) for n in (500, 8_000))
        assert ((few.upper - few.lower) / (many.upper - many.lower)).mean() == pytest.approx(4, rel=0.1)

    def test_converges_to_shapley_values(self):
        explanation = BayesShap(curved, TABLE, n=100_000)(TABLE[:1])
        assert np.allclose(explanation.values, shapley(curved, TABLE[0], TABLE), atol=0.02)

    @pytest.mark.parametrize("n", [50, 700])
    def test_asks_as_often_as_it_may(self, n):
        assert BayesShap(curved, TABLE, n=n)(TABLE[:2]).n_evaluations.tolist() == [n + 1] * 2

    def test_one_feature_is_the_whole_difference(self):
        explanation = BayesShap(lambda X: 3 * X[:, 0], TABLE[:, :1])(TABLE[:2, :1])
        expected = 3 * (TABLE[:2, :1] - TABLE[:, :1].mean())
        assert np.allclose(explanation.values, expected)
        assert np.allclose(explanation.upper, expected)
