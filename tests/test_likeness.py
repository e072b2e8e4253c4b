"""Whether a row is like real rows: near to one, and with values that go together as theirs do."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import xcid
from xcid.whatif.choice import LIKE_REAL, UNLIKE, Dependence, measure_nearness
from xcid.whatif.evaluator import goal_of
from xcid.whatif.search_space import SearchSpace


def sample(seed, n, together=0.95):
    rng = np.random.default_rng(seed)
    common = rng.normal(size=(n, 1))
    return np.sqrt(together) * common + np.sqrt(1 - together) * rng.normal(size=(n, 4))


def likeness(X, rows):
    model = LogisticRegression().fit(X, X[:, 0] + np.random.default_rng(0).normal(size=len(X)) > 0)
    explainer = xcid.Explainer(model, X)
    outputs = np.zeros((len(rows), 2))
    outputs[np.arange(len(rows)), 1 - model.predict(rows).astype(int)] = 1  # wanted is what they are
    goal = goal_of(None, explainer.subject, explainer.setup.outcome)
    return measure_nearness(SearchSpace.of(explainer.subject), goal, rows, np.arange(len(rows)), outputs).words


def test_shuffled_rows_are_told_from_real_ones():
    X, fresh, rng = sample(0, 400), sample(1, 400), np.random.default_rng(2)
    shuffled = np.column_stack([rng.permutation(column) for column in fresh.T])
    assert np.mean(likeness(X, fresh) == LIKE_REAL) >= 0.86
    assert np.mean(likeness(X, shuffled) == LIKE_REAL) < 0.2
    assert np.mean(likeness(X, shuffled) == UNLIKE) > np.mean(likeness(X, fresh) == UNLIKE)


def test_where_nothing_goes_together_shuffled_rows_are_real():
    X, fresh = sample(0, 400, 0.0), sample(1, 400, 0.0)
    assert np.mean(likeness(X, fresh) == LIKE_REAL) >= 0.86


def test_the_score_is_that_of_the_copula():
    X = sample(3, 2_000, 0.5)
    score = Dependence.of(X).score(X[:50])
    precision = np.linalg.inv(0.5 * np.ones((4, 4)) + 0.5 * np.eye(4)) - np.eye(4)
    due = np.einsum("ij,jk,ik->i", X[:50], precision, X[:50])
    assert np.corrcoef(score, due)[0, 1] > 0.97


def test_units_and_missing_cells_make_no_difference():
    X = sample(4, 300)
    assert np.allclose(Dependence.of(X).score(X), Dependence.of(np.exp(X)).score(np.exp(X)))
    gaps = X.copy()
    gaps[::3, 1], gaps[:, 3] = np.nan, np.nan
    assert np.isfinite(Dependence.of(gaps).score(gaps)).all()


@pytest.mark.parametrize("size", [1, 7])
def test_a_row_is_judged_alone_as_among_others(size):
    X = sample(5, 300)
    rows = sample(6, 40)
    assert np.array_equal(likeness(X, rows)[:size], likeness(X, rows[:size]))
