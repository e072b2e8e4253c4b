"""Small cases of benchmarks/ten_points.py: a point each, and the table they make."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("xgboost")
pytest.importorskip("lightgbm")

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def points(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("ten_points")


@pytest.fixture
def changers(monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    return importlib.import_module("changers")


@pytest.mark.parametrize("point", [1, 4, 5, 8, 9, 10])
def test_a_point_is_as_it_must_be(points, point, monkeypatch):
    monkeypatch.setattr(points, "MODELS", dict.fromkeys(points.MODELS, points.MODELS["logistic"]))
    monkeypatch.setattr(points, "DIRECTED", ("logistic",))
    section, _, few = points.POINTS[point]
    lines = list(section(points.Place(), few))
    assert lines
    assert {line.point for line in lines} == {point}
    assert all(line.holds is not False for line in lines), lines
    assert points.table_of(lines).count("\n") == len(lines) + 2


def test_a_lie_is_found_out(points, monkeypatch):
    """An enumeration reaches what is said not to be reached."""
    from xcid.whatif.record import Counterfactuals

    honest = points.xcid.Explainer.counterfactuals

    def lying(self, *asked, **settings) -> Counterfactuals:
        found = honest(self, *asked, **settings)
        found.kind[:] = "not reached"
        return found

    monkeypatch.setattr(points.xcid.Explainer, "counterfactuals", lying)
    *_, last = points.unreached(points.Place(), 4)
    assert last.holds is False


class Step:
    """The class is 1 where the sum of two columns is above 1."""

    def predict_proba(self, frame):
        there = 1 / (1 + np.exp(-8 * (frame.to_numpy()[:, 0] + frame.to_numpy()[:, 1] - 1)))
        return np.column_stack([1 - there, there])

    def predict(self, frame):
        return self.predict_proba(frame).argmax(axis=1)


def test_the_others_flip_and_do_what_their_papers_say(changers):
    rng = np.random.default_rng(0)
    train = pd.DataFrame(rng.uniform(0, 1, size=(300, 4)), columns=list("abcd"))
    task = changers.Task(Step(), train, Step().predict(train))
    rows = train[task.target == 0].to_numpy()[:10]
    sizes = {}
    for name in ("nearest unlike row", "NICE, sparsity", "growing spheres"):
        made = [changers.CHANGERS[name][1](task)(row, 0) for row in rows]
        assert np.all(task.chance(np.array(made), 1) > 0.5)
        sizes[name] = np.mean([(new != row).sum() for new, row in zip(made, rows, strict=True)])
        if name != "growing spheres":  # they take over what real rows have
            known = train.to_numpy()
            assert all(cell in known[:, at] for new in made for at, cell in enumerate(new))
    assert sizes["nearest unlike row"] == 4
    assert sizes["NICE, sparsity"] <= 2
    assert sizes["growing spheres"] <= 2
