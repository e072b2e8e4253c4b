"""Every distance obeys the laws of its seam: add a new one to the list."""

from __future__ import annotations

import numpy as np
import pytest

from xcid.cid.distances import Overlap, hellinger, total_variation

DISTANCES = [Overlap(), total_variation, hellinger]
ids = [getattr(distance, "__name__", repr(distance)) for distance in DISTANCES]


@pytest.fixture(params=DISTANCES, ids=ids)
def distance(request):
    return request.param


@pytest.fixture
def triple():
    rng = np.random.default_rng(1)
    weights = rng.random(40) + 0.1
    densities = rng.random((3, 500, 40)) ** 4
    return *(densities / np.sum(densities * weights, axis=-1, keepdims=True)), weights


def test_is_0_for_equal_densities(distance, triple):
    p, _, _, w = triple
    assert np.allclose(distance(p, p, w), 0)


def test_is_1_for_disjoint_supports(distance):
    assert distance(np.array([1.0, 0.0]), np.array([0.0, 0.5]), np.array([1.0, 2.0])) == pytest.approx(1)


def test_is_symmetric_and_between_0_and_1(distance, triple):
    p, q, _, w = triple
    there = distance(p, q, w)
    assert there.shape == (500,)
    assert there == pytest.approx(distance(q, p, w))
    assert np.all((there > 0) & (there <= 1))


def test_obeys_the_triangle_inequality(distance, triple):
    p, q, r, w = triple
    assert np.all(distance(p, r, w) <= distance(p, q, w) + distance(q, r, w) + 1e-12)


def test_splitting_a_cell_changes_nothing(distance):
    p, q, w = np.array([0.2, 0.8]), np.array([0.5, 0.5]), np.array([1.0, 1.0])
    split = distance(p[[0, 0, 1]], q[[0, 0, 1]], np.array([0.3, 0.7, 1.0]))
    assert split == pytest.approx(distance(p, q, w))
