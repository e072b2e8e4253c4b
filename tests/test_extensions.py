"""What a user adds without touching xcid: a density and an outcome of their own go every road.

Each is one class in one file, this one. CONTRIBUTING.md counts the files that other changes touch.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import xcid
from xcid.io.readers import Background
from xcid.io.rows import Rows
from xcid.runs.folder import fingerprint, open_folder
from xcid.runs.run import Job, run
from xcid.runs.worker import Task

RNG = np.random.default_rng(11)
TABLE = pd.DataFrame(RNG.normal(size=(120, 3)), columns=["age", "income", "debt"])


@dataclass(frozen=True, slots=True)
class Halves:
    """How much of each set lies below and above a point: a density of two atoms."""

    at: float = 0.0

    def __call__(self, values, positive, negative):
        values, positive, negative = np.broadcast_arrays(values, positive, negative)
        sides = np.stack([values < self.at, values >= self.at], axis=-2)
        p, q = (_shares(sides, weights) for weights in (positive, negative))
        points = np.broadcast_to([self.at - 1, self.at + 1], p.shape)
        return xcid.DensityPair(points, p, q, np.ones_like(p), np.ones(p.shape, dtype=bool))


def _shares(sides, weights):
    total = weights.sum(axis=-1)[..., None]
    return np.sum(sides * weights[..., None, :], axis=-1) / np.where(total > 0, total, 1)


@dataclass(frozen=True, slots=True)
class Refused(xcid.outcomes.Question):
    """A loan is refused: the probability is above a level, by degrees."""

    level: float = 0.5

    def __call__(self, outputs, reference):
        return 1 / (1 + np.exp(-8 * (outputs[:, 1] - self.level)))

    def describe_side(self, output, names, number):
        return f"it {'above' if output[1] > self.level else 'below'} the bar of {number(self.level)}"


def model(frame):
    return 1 / (1 + np.exp(-3 * (frame["age"] - frame["debt"]).to_numpy()))


def explainer():
    """What every process of a run makes for itself."""
    return xcid.Explainer(model, TABLE, density=Halves(), outcome=Refused(0.6))


@pytest.fixture(scope="module")
def explanation():
    return explainer()(TABLE.head(6))


def test_they_decide_the_scores(explanation):
    assert isinstance(explanation.details.density, Halves)
    assert explanation.details.outcome == Refused(0.6)
    assert set(np.argsort(-explanation.importance.mean(axis=0))[:2]) == {0, 2}
    pair = explanation.evidence(0, "age")
    assert explanation.importance[0, 0] == pytest.approx(xcid.distances.d_k(pair.p, pair.q, pair.weights))


@pytest.mark.parametrize("name", ["e.npz", "e.json", "e.parquet"])
def test_saved_and_loaded_they_are_given_again(explanation, tmp_path, name):
    explanation.save(tmp_path / name)
    bare = xcid.load(tmp_path / name)
    assert (bare.details.density, bare.details.outcome) == (None, None)
    assert bare.details.settings["outcome"] == "Refused(level=0.6)"
    again = xcid.load(tmp_path / name, density=Halves(), outcome=Refused(0.6))
    assert np.array_equal(again.values, explanation.values)
    if name == "e.npz":
        np.testing.assert_allclose(again.evidence(0, "age").p, explanation.evidence(0, "age").p, rtol=1e-6)


def test_reported(explanation, tmp_path):
    explanation.report(tmp_path / "own.html")
    page = (tmp_path / "own.html").read_text()
    assert "the bar of 0.6" in page
    assert "Refused(level=0.6)" in page


def test_run_in_a_folder(explanation, tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[1])  # workers import this file by its name
    path = tmp_path / "rows.csv"
    TABLE.to_csv(path, index=False)
    background = Background.read(path)
    rows = Rows(background.opened(None), background.layout, range(6))
    with open_folder(tmp_path / "run") as folder:
        task = Task(explainer, 0, ".csv", folder.chunks, 1, "own", ())
        nothing = lambda done, total: None  # noqa: E731
        statuses, _ = run(Job(rows, 4, 2), task, fingerprint(path), folder, tmp_path / "scores.csv", nothing)
    assert statuses.total() == 6
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert scores["value"].to_numpy().reshape(6, 3) == pytest.approx(explanation.values, abs=1e-9)


def test_nothing_of_xcid_knows_them():
    house = Path(xcid.__file__).parent
    assert not [path for path in house.rglob("*.py") if "Halves" in path.read_text() or "Refused" in path.read_text()]


def test_a_pair_of_densities_prints_as_a_line():
    points = np.linspace(0, 1, 5)
    flags = np.array([True, False, False, False, False])
    pair = xcid.DensityPair(points, points, points, np.array([1, 0.25, 0.25, 0.25, 0]), flags)
    says = "how a feature is distributed where the answer flips (p) and where it stays (q): "
    assert str(pair) == f"{says}a curve of 3 points from 0.25 to 0.75 and 1 single value"
    assert str(pair[:1]) == f"{says}1 single value"
    assert "\n" not in str(pair)
