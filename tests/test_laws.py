"""What a score of the recommended setting must be, on models whose answers are known; benchmarks/truth.py is larger."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import special

import xcid
from xcid.generators import Balanced

RNG = np.random.default_rng(3)
TABLE = RNG.normal(size=(600, 6))


def model(logit):
    def ask(X):
        chance = special.expit(logit(X))
        return np.column_stack([1 - chance, chance])

    return ask


def false_positives(logit, table, columns, n, seeds):
    explainer = xcid.Explainer(model(logit), table, generator=Balanced(n))
    return np.mean([explainer(table[:8], seed=seed).p_values[:, columns] < 0.05 for seed in range(seeds)])


@pytest.mark.parametrize(("n", "seeds"), [(1_000, 40), (10_000, 25), (100_000, 3)])
def test_a_column_that_is_ignored_is_null_whatever_it_depends_on(n, seeds):
    """Also where it is curved, and however many evaluations there are."""
    x = TABLE[:, 0]
    table = np.column_stack([TABLE[:, :3], x**2 + 0.3 * TABLE[:, 5], np.abs(x), x * TABLE[:, 1]])
    curved = false_positives(lambda X: 3 * (X[:, 0] ** 2 - 1) + X[:, 0] * X[:, 1] * X[:, 2], table, [3, 4, 5], n, seeds)
    assert curved < (0.08 if n < 100_000 else 0.12)  # rows of a run share some of their noise


def test_nor_does_its_evidence_differ():
    """Copies of a used column have less to show than a used column that matters little."""
    copies = 0.95 * TABLE[:, :1] + np.sqrt(1 - 0.95**2) * TABLE[:, 3:5]
    table = np.column_stack([TABLE[:, :2], copies])
    explainer = xcid.Explainer(model(lambda X: 3 * X[:, 0] + X[:, 1]), table, generator=Balanced(4_000))
    explanation = explainer(table[np.abs(table[:, 1]) > 1][:10])
    assert explanation.importance[:, 2:].max() < 0.1
    assert explanation.importance[:, 1].min() > 0.12
    pair = explanation.evidence(0, 3)
    assert np.sum(pair.weights * np.abs(pair.p - pair.q)) < 0.1


@pytest.mark.parametrize("members", [2, 5, 8])
def test_members_of_a_conjunction_come_first(members):
    table = RNG.normal(size=(600, members + 2))

    def all_of_them(X):
        chance = 0.05 + 0.84 * np.all(X[:, :members] > 0.55, axis=1) + 0.1 * (X[:, members] > 0)
        return np.column_stack([1 - chance, chance])

    explainer, row = xcid.Explainer(all_of_them, table), np.full((1, members + 2), 1.5)
    found = np.array([explainer(row, seed=seed).values[0] for seed in range(8)])
    assert np.mean(found[:, :members].mean(axis=1) > found[:, members:].max(axis=1)) >= 7 / 8
    assert np.all(found[:, :members].min(axis=1) > found[:, members + 1])


@pytest.mark.parametrize("members", [2, 3, 4])
def test_members_of_a_parity_are_found(members):
    explainer = xcid.Explainer(model(lambda X: 4 * np.prod(np.sign(X[:, :members]), axis=1)), TABLE)
    found = explainer(np.abs(TABLE[:6]) + 0.5)
    assert np.all(np.argsort(-found.values, axis=1)[:, :members] < members)
    assert np.all(found.p_values[:, :members] < 0.05)


@pytest.mark.parametrize("side", ["both", "one"])
def test_rare_flips_are_searched_for(side):
    def corner(X):
        chance = np.where(np.all(X[:, :2] > 1.6, axis=1), 0.99, 0.01)
        return np.column_stack([1 - chance, chance])

    table = TABLE if side == "both" else TABLE[~np.all(TABLE[:, :2] > 1.6, axis=1)]
    found = xcid.Explainer(corner, table)(np.zeros((2, 6)))
    assert np.all(found.status == "rare_flips")
    assert np.all(np.argsort(-np.abs(found.values), axis=1)[:, :2] < 2)
    assert np.all((found.n_evaluations > 1_001) & (found.n_evaluations <= 11_003))
    assert np.all(found.n_flips >= 5)
    assert found.evidence(0, "x0").p.size


def test_a_row_deep_in_its_class_is_explained_by_its_log_odds():
    """No perturbation flips it, no search is made, and the scores are exact."""
    weights = np.array([2.0, -1.0, 0.5, 0.0, 0.0, 0.0])
    found = xcid.Explainer(model(lambda X: X @ weights + 12), TABLE)(TABLE[:4])
    exact = weights * (TABLE[:4] - TABLE.mean(axis=0))
    assert np.all(found.status == "no_flips")
    assert np.all(found.n_evaluations <= 1_001)
    assert found.values == pytest.approx(exact, abs=1e-4)


def test_rows_do_not_all_share_what_chance_does():
    """An ignored column is significant in some rows of a run, not in all or none of them."""
    explainer = xcid.Explainer(model(lambda X: X[:, 0] * X[:, 1] + X[:, 2]), TABLE)
    shares = np.array([np.mean(explainer(TABLE[:120], seed=seed).p_values[:, 3:] < 0.05, axis=0) for seed in range(8)])
    assert shares.max() < 0.4
    assert shares.mean() < 0.09


def test_constraints_limit_importance_and_not_contributions():
    """What a value did does not depend on what it may become."""
    weights = np.array([1.5, -1.0, 0.8, 0.4, 0.0, 0.0])
    limits = xcid.Constraints(ranges={"x0": (-0.5, 1.0)}, frozen=["x1"], monotone={"x2": "rises"})
    rows = TABLE[:12]
    found = xcid.Explainer(model(lambda X: X @ weights), TABLE, constraints=limits)(rows)
    assert found.values == pytest.approx(weights * (rows - TABLE.mean(axis=0)), abs=1e-6)
    assert found.importance[:, 1] == pytest.approx(0, abs=1e-12)
    assert np.all(found.n_evaluations > 1_900)  # those of both questions


def test_a_regression_is_asked_a_soft_question():
    explainer = xcid.Explainer(lambda X: 10 * X[:, 0], TABLE)
    assert isinstance(explainer.setup.outcome, xcid.outcomes.Interval)
    assert explainer.setup.outcome.soft
    found = explainer(TABLE[:3])
    assert np.all(np.abs(found.values).argmax(axis=1) == 0)
    assert np.all(found.importance.argmax(axis=1) == 0)
    assert len(np.unique(found.cloud.positive)) > 100
