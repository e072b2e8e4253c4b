"""What rows of a plan share: counts of slots, which must tell the same as the two densities that are shown."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import xcid
from xcid._kernels.random import run_key
from xcid.cid import planned
from xcid.cid.distances import Overlap
from xcid.cid.per_feature import PerFeature, unsigned
from xcid.densities import Discrete, Mixed
from xcid.generators import Balanced
from xcid.table import FeatureSpace

RNG = np.random.default_rng(5)
TABLE = np.column_stack([RNG.normal(size=300), RNG.integers(0, 3, 300), np.round(RNG.exponential(size=300))])


def model(X):
    return 1 / (1 + np.exp(2 * (X[:, 1] == 1) - X[:, 0] - X[:, 2]))


@pytest.fixture(scope="module")
def cloud():
    """Rows whose values are among those of the donors, and one whose values are not."""
    rows, space = np.concatenate([TABLE[:6], [[0.1234, 7.0, 0.5]]]), FeatureSpace.of(TABLE)
    flips = lambda X, owner: np.abs((model(rows) > 0.5)[owner] - model(X))  # noqa: E731
    drawn = Balanced(400).bind(space, model(TABLE)[:, None]).draw(space, run_key(0))
    return drawn(rows, np.arange(len(rows), dtype=np.uint64), space, flips)


@pytest.mark.parametrize("is_noise", [False, True], ids=["model", "noise"])
@pytest.mark.parametrize("density", [Mixed(), Discrete()], ids=str)
def test_distances_are_those_of_the_densities_that_are_shown(cloud, density, is_noise):
    """Noise has values that are kept on one side, and the same values, taken from donors, on the other."""
    if is_noise:
        flips = RNG.random(cloud.positive.shape).round()
        cloud = replace(cloud, positive=flips, negative=1 - flips)
    found = PerFeature(density, direction=unsigned)(cloud).importance
    assert found.max() > 0.1
    for part in planned.parts(cloud, density):
        for row in range(len(cloud)):
            for column in part.columns:
                pair = planned.pair(part, cloud, row, int(column))
                assert found[row, column] == pytest.approx(float(Overlap()(pair.p, pair.q, pair.weights)), abs=1e-9)


def test_a_column_that_cannot_change_contributes_nothing():
    table = np.column_stack([TABLE, np.full(300, 4.0)])
    found = xcid.Explainer(model, table)(table[:3])
    assert set(found.feature_status[:, 3]) == {"constant"}
    for part in (found.values, found.lower, found.upper):
        assert not part[:, 3].any()
    assert (found.p_values[:, 3] == 1).all()
    assert found.base_values + found.values.sum(axis=1) == pytest.approx(
        np.log(model(table[:3]) / (1 - model(table[:3])))
    )
