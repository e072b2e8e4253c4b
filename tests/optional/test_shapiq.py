"""shapiq's estimators behind our call."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest

from xcid.errors import InvalidParameter, MissingDependency
from xcid_lab.baselines import Shap, Shapiq
from xcid_lab.baselines.shapiq import ESTIMATORS, for_a_permutation, for_each, of_a_coalition

TABLE = np.random.default_rng(7).normal([1.0, 0.0, -2.0, 5.0, 0.0], [1.0, 2.0, 0.5, 1.0, 1.0], size=(60, 5))


def curved(X):
    """Probability of the second class, with interactions."""
    return 1 / (1 + np.exp(-X[:, 0] * X[:, 1] - X[:, 4] + X[:, 3] - 5))


@pytest.fixture
def installed():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of their own imports
        pytest.importorskip("shap", reason="needs the extra shap")
        return pytest.importorskip("shapiq", reason="needs the extra shapiq")


@pytest.fixture(params=ESTIMATORS)
def estimator(request, installed):
    if not hasattr(installed.approximator, request.param):
        pytest.skip(f"this shapiq has no {request.param}")
    for package in ESTIMATORS[request.param].needs:
        pytest.importorskip(package)
    return request.param


class TestEstimators:
    def test_against_exact_values(self, estimator):
        """With all background rows and all coalitions; permutations are still drawn."""
        rows = TABLE[:3]
        exact = Shap(curved, TABLE, rows=60)(rows).values
        explanation = Shapiq(curved, TABLE, estimator=estimator, n=60 * 2_000, rows=60)(rows)
        assert np.allclose(explanation.values, exact, atol=0.02 if estimator == "PermutationSamplingSV" else 1e-6)
        assert np.ptp(exact) > 0.2  # there is something to compare

    @pytest.mark.parametrize("n", [100, 1_000])
    def test_keeps_to_its_budget(self, estimator, n):
        table = np.random.default_rng(0).normal(size=(80, 14))
        explanation = Shapiq(lambda X: np.tanh(X.sum(axis=1)), table, estimator=estimator, n=n)(table[:2])
        assert np.all(explanation.n_evaluations <= n + 1)
        assert np.all(explanation.n_evaluations > 0.8 * n)

    def test_a_linear_model_at_a_small_budget(self, estimator):
        slopes = np.array([2.0, -1.0, 0.0, 0.5, 1.0])
        explanation = Shapiq(lambda X: X @ slopes - 9, TABLE, estimator=estimator, n=3_000)(TABLE[:4])
        truth = slopes * (TABLE[:4] - TABLE.mean(axis=0))
        assert np.corrcoef(explanation.values.ravel(), truth.ravel())[0, 1] > 0.98

    def test_the_same_again_alone_and_with_the_seed(self, estimator):
        explain = Shapiq(curved, TABLE, estimator=estimator, n=100)
        both = explain(TABLE[:2], seed=5)
        assert np.array_equal(explain(TABLE[1:2], seed=5).values, both.values[1:])
        assert not np.array_equal(explain(TABLE[:2], seed=6).values, both.values)

    def test_nothing_is_printed(self, estimator, capfd):
        Shapiq(curved, TABLE, estimator=estimator, n=200)(TABLE[:1])
        assert capfd.readouterr() == ("", "")

    def test_one_feature_is_the_whole_difference(self, estimator):
        explanation = Shapiq(lambda X: 3 * X[:, 0], TABLE[:, :1], estimator=estimator)(TABLE[:2, :1])
        assert np.allclose(explanation.values, 3 * (TABLE[:2, :1] - TABLE[:, :1].mean()))


class TestDonors:
    @pytest.mark.parametrize(("n", "d", "rows"), [(1_000, 10, 10), (10_000, 8, 125), (100, 30, 1), (1_000, 3, 125)])
    def test_what_the_coalitions_leave_goes_into_rows(self, n, d, rows):
        assert of_a_coalition(n, d) == rows

    def test_every_background_row_before_any_comes_again(self):
        draw = for_each(np.arange(6)[::-1], 2, 4)
        assert draw(2).tolist() == [[5, 4], [3, 2]]
        assert draw(2).tolist() == [[1, 0], [5, 4]]

    def test_a_permutation_shares_its_rows(self):
        draw = for_a_permutation(np.arange(6), 1, 3)
        assert [draw(4).tolist(), draw(2).tolist()] == [[[0], [0], [1], [1]], [[2], [2]]]

    def test_coalitions_of_a_permutation_come_one_by_one(self, installed):
        """What the rows are shared by rests on the order in which shapiq asks."""
        asked = []

        def game(coalitions):
            asked.append(np.atleast_2d(coalitions))
            return asked[-1].sum(axis=1).astype(float)

        installed.approximator.PermutationSamplingSV(n=5, random_state=0).approximate(50, game, batch_size=1_000)
        *ends, blocks = asked
        assert sorted(end.sum() for end in ends) == [0, 5]
        assert blocks.reshape(-1, 4, 5).sum(axis=2).tolist() == [[1, 2, 3, 4]] * 12
        assert np.all(blocks.reshape(-1, 4, 5)[:, :-1] <= blocks.reshape(-1, 4, 5)[:, 1:])


class TestRefused:
    def test_unknown_estimator(self):
        with pytest.raises(InvalidParameter, match="KernelSHAP"):
            Shapiq(curved, TABLE, estimator="kernel")

    def test_says_what_to_install(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "shapiq", None)
        with pytest.raises(MissingDependency, match=r'pip install -e "\.\[shapiq\]"'):
            Shapiq(curved, TABLE)

    def test_says_that_the_version_is_too_old(self, monkeypatch):
        class Old:
            __version__ = "1.4.1"
            approximator = object()

        monkeypatch.setitem(sys.modules, "shapiq", Old)
        with pytest.raises(MissingDependency, match=r"LeverageSHAP of shapiq 1\.8 or later, and this is 1\.4\.1"):
            Shapiq(curved, TABLE, estimator="LeverageSHAP")
