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
