"""Densities of values that rows share: the slots tell the same as the density on the samples themselves."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import xcid
from xcid.cid.densities.mixed import MOST_CELLS, Slotted
from xcid.densities import Discrete, Kernel, Mixed
from xcid.distances import d_k
from xcid.scores import PerFeature

RNG = np.random.default_rng(5)
VALUES = {
    "normal": RNG.normal(size=500),
    "skewed": RNG.exponential(size=500),
    "half of it zero": np.where(RNG.random(500) < 0.5, 0.0, RNG.normal(3, 1, 500)),
    "whole numbers": RNG.integers(0, 60, 500).astype(float),
    "two humps": np.concatenate([RNG.normal(-5, 0.5, 250), RNG.normal(5, 0.5, 250)]),
    "tiny": RNG.normal(size=500) * 1e-140,
    "huge and far": 1e9 + RNG.normal(size=500),
}


def explained(values, own, **settings):
    """One row that decides by the first column, which takes the given values."""
    table = np.column_stack([values, RNG.normal(size=len(values))])
    scale = np.nanstd(values)
    middle = np.nanmedian(values)
    model = lambda X: 1 / (1 + np.exp(-(np.nan_to_num((X[:, 0] - middle) / scale) + 0.5 * X[:, 1])))  # noqa: E731
    return xcid.Explainer(model, table, **settings)([[own, 0.3]])


def reference(cloud, atoms):
    """d1 of the first column by a fine midpoint rule: atoms apart, one Gaussian for each other value.

    What samples that take a value have more than their complements is added to what samples have that keep their own.
    """
    plan = cloud.plan
    pairs, values, taken = len(plan.masks), plan.values[:, 0], plan.masks[:, 0]
    is_atom = np.isin(values, atoms)
    h = values[~is_atom].std(ddof=1) * (0.75 * np.sum(~is_atom)) ** -0.2
    edges = np.linspace(values.min() - 9 * h, values.max() + 9 * h, 20_001)
    sides = []
    for weight in (cloud.positive[0], cloud.negative[0]):
        first, second = weight[:pairs], weight[pairs : 2 * pairs]
        new, kept = np.where(taken, first, second), np.where(taken, second, first)
        own, each = kept.mean() / 2, (kept.mean() + new - kept) / (2 * pairs)
        below = sum(w * norm.cdf(edges, v, h) for v, w in zip(values[~is_atom], each[~is_atom], strict=True))
        mass = np.concatenate([[own], [each[values == atom].sum() for atom in atoms], np.diff(below)]).clip(0)
        sides.append(mass / mass.sum())
    smaller = np.minimum(*sides).sum()
    return 1 - smaller / (2 - smaller)


@pytest.mark.parametrize("name", ["normal", "skewed", "half of it zero", "two humps"])
def test_error_below_a_thousandth(name):
    values = VALUES[name]
    explanation = explained(values, values.mean() + 0.1234, score=PerFeature(Mixed()))
    pair = explanation.evidence(0, 0)
    atoms = pair.points[pair.atoms & (pair.points != explanation.data[0, 0])]
    assert explanation.importance[0, 0] == pytest.approx(reference(explanation.cloud, atoms), abs=1e-3)


@pytest.mark.parametrize("name", VALUES)
def test_importance_is_d1_of_the_evidence(name):
    values = VALUES[name]
    for own in (values[3], values.max(), np.median(values)):
        explanation = explained(values, own, score=PerFeature(Mixed()))
        pair = explanation.evidence(0, 0)
        assert explanation.importance[0, 0] == pytest.approx(d_k(pair.p, pair.q, pair.weights), abs=1e-9)
        assert pair.weights @ pair.p == pytest.approx(1, abs=1e-9)
        assert pair.weights @ pair.q == pytest.approx(1, abs=1e-9)
        assert np.sum(pair.points == own) == 1
        assert np.all(pair.p >= 0)


@pytest.mark.parametrize("name", ["normal", "skewed", "two humps"])
def test_same_as_the_density_on_the_samples(name):
    """Where columns are independent, so that there is nothing to adjust for but chance."""
    explanation = explained(VALUES[name], VALUES[name].mean() + 0.1234)
    cloud = replace(explanation.cloud, given=explanation.cloud.samples, plans=())
    by_samples = replace(explanation, cloud=cloud).evidence(0, 0)
    found = d_k(by_samples.p, by_samples.q, by_samples.weights)
    assert explanation.importance[0, 0] == pytest.approx(found, abs=0.08)


def test_levels_are_counted():
    frame = pd.DataFrame({"c": RNG.choice(["a", "b", None], 300), "x": RNG.normal(size=300)})
    explanation = xcid.Explainer(lambda X: np.where(X["c"] == "a", 0.9, 0.2), frame)(frame[:6])
    for row in range(6):
        pair = explanation.evidence(row, "c")
        assert pair.atoms.all()
        assert len(pair.points) == 3
        cloud = explanation.cloud[row : row + 1]
        paired = 2 * len(cloud.plan.masks)
        samples, positive = cloud.samples[0, :paired, 0], cloud.positive[0, :paired]
        for point, mass in zip(pair.points, pair.p, strict=True):
            same = np.isnan(samples) if np.isnan(point) else samples == point
            assert mass == pytest.approx(positive[same].sum() / positive.sum(), abs=0.02)  # nothing else decides


def test_far_outliers_are_done_row_by_row():
    values = np.concatenate([RNG.normal(size=495), [1e6, 2e6, 3e6, 4e6, 5e6]])
    slots = Mixed(Kernel(bandwidth=0.1)).slots(values[:, None])
    assert not slots.covered.any()
    explanation = explained(values, 0.1234, density=Mixed(Kernel(bandwidth=0.1)))
    pair = explanation.evidence(0, 0)
    assert explanation.importance[0, 0] == pytest.approx(d_k(pair.p, pair.q, pair.weights), abs=1e-9)


@pytest.mark.parametrize("kernel", [Kernel("tophat"), Kernel(bandwidth="silverman"), Kernel(tolerance=1e-5)], ids=repr)
def test_what_depends_on_the_labels_has_no_slots(kernel):
    assert not Mixed(kernel).slots(VALUES["normal"][:, None]).covered.any()


def test_which_densities_have_slots():
    assert isinstance(Mixed(), Slotted)
    assert isinstance(Discrete(), Slotted)
    assert not isinstance(Kernel(), Slotted)
    assert Mixed().slots(np.column_stack([VALUES["normal"], VALUES["skewed"]])).n_slots < MOST_CELLS


def test_a_saved_explanation_has_the_same_evidence(tmp_path):
    explanation = explained(VALUES["whole numbers"], 7.0)
    explanation.save(tmp_path / "one")
    loaded = xcid.load(tmp_path / "one").evidence(0, 0)
    for name in ("points", "p", "q", "weights"):
        np.testing.assert_allclose(
            getattr(loaded, name), getattr(explanation.evidence(0, 0), name), rtol=1e-5, atol=1e-9
        )
