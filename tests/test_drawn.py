"""What is drawn of the evidence: all of the mass, over no more than the values that there are, or what is printed."""

from __future__ import annotations

import numpy as np
import pytest

import xcid
from xcid.cid.drawn import drawn, unit_of_scale
from xcid.densities import Mixed
from xcid.distances import d_k
from xcid.generators import Balanced

RNG = np.random.default_rng(4)
TABLE = np.column_stack([RNG.normal(size=200), RNG.exponential(size=200), RNG.integers(0, 4, 200)])


def model(X):
    return 1 / (1 + np.exp(-2 * X[:, 0] - X[:, 1] + X[:, 2]))


@pytest.fixture(scope="module")
def cloud():
    return xcid.Explainer(model, TABLE, generator=Balanced(400))(TABLE[:3]).cloud


@pytest.mark.parametrize("kernel", ["gaussian", "epanechnikov", "exponential"])
def test_curves_of_the_paper_have_the_d1_that_is_printed(kernel):
    found = xcid.CID(model, TABLE, kernel=kernel)(TABLE[:5])
    for row in range(5):
        for feature in range(3):
            pair = drawn(found.cloud, row, feature, found.details.density).pair
            assert float(d_k(pair.p, pair.q, pair.weights)) == pytest.approx(found.values[row, feature], abs=1e-3)


def test_the_picture_of_the_paper_has_the_d1_that_is_printed():
    pytest.importorskip("matplotlib").use("Agg")
    found = xcid.CID(model, TABLE)(TABLE[:1])
    for ax in np.ravel(xcid.plots.densities(found)):
        feature = next(at for at, name in enumerate(found.feature_names) if name in ax.get_title())
        (x, p), (other, q) = (line.get_data() for line in ax.get_lines()[:2])
        grid = np.linspace(min(x[0], other[0]), max(x[-1], other[-1]), 20_001)
        p, q = np.interp(grid, x, p, 0, 0), np.interp(grid, other, q, 0, 0)
        assert 1 - np.minimum(p, q).sum() / np.maximum(p, q).sum() == pytest.approx(found.values[0, feature], abs=1e-3)


@pytest.mark.parametrize("density", [Mixed()], ids=["Mixed"])
@pytest.mark.parametrize("feature", [0, 1, 2])
@pytest.mark.parametrize("row", [0, 2])
def test_all_of_the_mass_is_drawn_within_the_values(cloud, row, feature, density):
    pair = drawn(cloud, row, feature, density).pair
    for curve in (pair.p, pair.q):
        assert np.sum(pair.weights * curve) == pytest.approx(1, abs=1e-3)
        assert np.all(curve >= 0)
    places = drawn(cloud, row, feature, density).places(cloud[row : row + 1].cells([feature])[0, :, 0])
    cells = pair.points[~pair.atoms]
    assert np.all((cells >= places.min()) & (cells <= places.max()))


def test_the_unit_of_a_scale_is_a_quarter_of_the_values():
    spread = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 4_000.0])
    assert unit_of_scale(spread) == 2.0
    assert unit_of_scale(-spread) == 2.0
    assert unit_of_scale(np.append(spread, -1.0)) == 0.0  # on both sides of 0
    assert unit_of_scale(np.append(spread, [np.nan, np.inf])) == 2.0
