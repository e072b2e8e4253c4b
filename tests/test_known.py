"""What benchmarks/calibration.py holds limits against, and a small case of it."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pytest

from xcid.contributions.effects import Measured, summing

FOLDER = Path(__file__).parents[1] / "benchmarks"


@pytest.fixture
def known(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("known")


@pytest.fixture
def table():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 4))
    return X, (X[:, 0] * X[:, 1] + X[:, 2] + 0.3 * rng.normal(size=60) > 0).astype(int)


def test_three_ways_to_the_truth_agree(known, table, monkeypatch):
    exact = known.case("drawn", *table, "forest", 3, 40)
    rows = list(zip(exact.rows, exact.about, strict=True))
    counted = [known.enumerate_subsets(exact.number, *row, exact.train) for row in rows]
    assert exact.how == "exact"
    assert np.allclose(exact.truth[:, : -known.IGNORED], counted, atol=1e-9)
    monkeypatch.setattr(known, "WALKS", 4_000)
    walked, variance = known.walk(exact.number, *rows[0], exact.train, 0)
    assert np.all(np.abs(walked - counted[0]) < 5 * np.sqrt(variance))
    assert np.sqrt(variance).max() < 0.01


def test_a_reference_row_of_weight_five_counts_as_five(known, table, monkeypatch):
    case = known.case("drawn", *table, "forest", 3, 40)
    weights = np.where(case.train[:, 2] > 0, 5, 1)
    row, about = case.rows[0], case.about[0]
    counted = known.enumerate_subsets(case.number, row, about, np.repeat(case.train, weights, axis=0))
    monkeypatch.setattr(known, "WALKS", 4_000)
    walked, variance = known.walk(case.number, row, about, case.train, 0, weights * 1.0)
    assert np.all(np.abs(walked - counted) < 5 * np.sqrt(variance))
    plain = known.enumerate_subsets(case.number, row, about, case.train)
    assert np.any(np.abs(plain - counted) > 5 * np.sqrt(variance))  # by which the two are told apart


def test_levels_missing_cells_and_weights_have_their_truth(known):
    case = known.case("loans", *known.built_in("loans"), "boosting", 2, 60)
    assert case.how == "exact"
    assert np.isnan(case.train).any()
    assert sorted(case.settings["kinds"]) == ["x1", "x10", "x3", "x5"]
    assert set(case.settings["weights"]) == {1.0, 2.0, 3.0, 4.0}
    walked, variance = known.walk(case.number, case.rows[0], case.about[0], case.train, 0, case.settings["weights"])
    assert np.all(np.abs(walked - case.truth[0, : -known.IGNORED]) < 5 * np.sqrt(variance) + 1e-12)


def test_limits_hold_the_truth(known, table):
    measure = importlib.import_module("calibration").measure
    found = measure(known.case("drawn", *table, "mlp", 5, 40), 4)
    assert 0.85 <= found["coverage"] <= 1.0
    assert abs(found["bias"]) < 0.05
    assert found["gap"] < 1e-9


def test_bends_that_cancel_move_no_contribution_by_more_than_the_sum_lacks():
    bend = np.array([[1.0, -0.999, 0.0]])
    found = Measured(np.zeros((1, 3)), np.full((1, 3), 1e-6), np.full((1, 3), 9.0), bend)
    whole = summing(found, np.array([0.1]), np.ones((1, 3), dtype=bool))
    assert np.isclose(whole.effects.sum(), 0.1)
    assert np.abs(whole.effects).max() <= 0.1 + 1e-12
