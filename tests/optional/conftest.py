"""What the tests of all engines share: a mixed table, its scores in one process, a model that kills workers."""

from __future__ import annotations

import os
import signal

import numpy as np
import pytest

import xcid
from xcid.generators import Balanced

FIGURES = {
    "value": "values",
    "importance": "importance",
    "lower": "lower",
    "upper": "upper",
    "p_value": "p_values",
}


@pytest.fixture(scope="module")
def rows():
    """90 rows of numbers, levels and missing cells, told apart by ``id``; the last one has an ``a`` like no other."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(5)
    table = pandas.DataFrame(
        {
            "id": np.arange(90) * 7 + 1000,
            "a": rng.normal(size=90).round(3),
            "b": np.where(rng.random(90) < 0.1, np.nan, rng.normal(size=90).round(2)),
            "city": np.array(["Lima", "Oslo", "Rome"])[rng.integers(3, size=90)],
            "note": "not a feature",
        }
    )
    table.loc[89, "a"] = 9.5
    return table


def _explainer(rows, before=lambda frame: None):
    """Explain a function of this very place: workers cannot import it, so that it has to travel."""

    def model(frame):
        before(frame)
        odds = 2 * frame["a"] + np.nan_to_num(frame["b"]) + (frame["city"] == "Oslo")
        return 1 / (1 + np.exp(-odds.to_numpy()))

    return xcid.Explainer(model, rows.loc[:60, ["a", "b", "city"]], generator=Balanced(64))


@pytest.fixture(scope="module")
def explainer(rows):
    return _explainer(rows)


@pytest.fixture
def deadly(rows, tmp_path):
    """An explainer whose model kills the worker that asks it about the last row, once, and the file that says so."""
    grave, driver = tmp_path / "grave", os.getpid()

    def die_once(frame):
        if os.getpid() != driver and (frame["a"] == 9.5).any() and not grave.exists():
            grave.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)

    return _explainer(rows, die_once), grave


@pytest.fixture(scope="module")
def same(rows, explainer):
    """Compare lines of an engine, in any order, with what one process finds."""

    def check(scores, seed=0):
        expected = explainer(rows[["a", "b", "city"]], seed=seed)
        scores = scores.sort_values("row")
        assert scores["row"].tolist() == rows["id"].tolist()
        assert scores["status"].tolist() == expected.status.tolist()
        assert scores["n_evaluations"].tolist() == expected.n_evaluations.tolist()
        assert scores["n_flips"].tolist() == expected.n_flips.tolist()
        for figure, name in FIGURES.items():
            found = scores[[f"{figure}_{feature}" for feature in ("a", "b", "city")]].to_numpy(dtype=float)
            np.testing.assert_allclose(found, getattr(expected, name), rtol=0, atol=1e-9)
        assert np.ptp(expected.values) > 0.5  # there is something to compare

    return check
