"""The laws of the overlap and of d_k that the paper states, over generated densities."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

from xcid.cid.distances import Overlap, total_variation
from xcid.distances import d_k, overlap

heights = st.floats(0, 1e6).map(lambda x: 0.0 if x < 1e-6 else x)
densities = npst.arrays(np.float64, 12, elements=heights).filter(lambda p: p.any())
weights = npst.arrays(np.float64, 12, elements=st.floats(1e-3, 1e3))
ks = st.floats(1, 50)


@given(densities, densities, weights)
def test_overlap_lies_between_0_and_1(p, q, w):
    assert 0 <= overlap(p, q, w) <= 1


@given(densities, weights, ks)
def test_equal_densities_have_distance_k_minus_1(p, w, k):
    assert d_k(p, p, w) == 0
    assert d_k(p, p, w, k=k) == pytest.approx(k - 1)


@given(densities, densities, weights, ks)
def test_symmetry(p, q, w, k):
    assert d_k(p, q, w, k=k) == pytest.approx(d_k(q, p, w, k=k))


@given(densities, densities, densities, weights)
def test_triangle_inequality_of_d1(p, q, r, w):
    assert d_k(p, r, w) <= d_k(p, q, w) + d_k(q, r, w) + 1e-12


@given(densities, densities, densities, weights, st.floats(2, 50))
def test_triangle_inequality_from_k_2_on(p, q, r, w, k):
    assert d_k(p, r, w, k=k) <= d_k(p, q, w, k=k) + d_k(q, r, w, k=k) + 1e-12


@given(densities, weights, st.integers(0, 11), st.floats(0.01, 10))
def test_different_densities_are_farther_than_k_minus_1(p, w, place, factor):
    q = p / p.max()
    p = q.copy()
    q[place] += factor
    assert d_k(p, q, w, k=3) > 2


@given(densities, weights, npst.arrays(np.float64, 12, elements=st.floats(0, 1)), st.floats(1, 10))
def test_monotonicity(p, w, between, factor):
    """p <= g <= q on a common support gives d1(p, q) >= d1(g, q)."""
    q = p * factor
    g = p + between * (q - p)
    assert d_k(p, q, w) >= d_k(g, q, w) - 1e-12


@pytest.mark.parametrize("power", range(1, 8))
def test_proposition_3_1_bounds_the_distance(power):
    """A tail of mass epsilon and a gap below delta: d1 stays within the paper's bounds, which go to 0."""
    epsilon = delta = 10.0**-power
    a, b, c = 0.0, 1.0, 4.0
    x = np.linspace(a, c, 40_001)
    cells, w = (x[1:] + x[:-1]) / 2, np.diff(x)
    inside = cells < b
    q = np.where(inside, (1 - epsilon) / (b - a), epsilon / (c - b))
    wave = 0.9 * delta * np.sin(2 * np.pi * cells / (b - a))
    p = np.where(inside, q + wave, 0.0)
    distance = d_k(p, q, w)
    upper = 1 - (1 - epsilon - delta * (b - a)) / (1 + delta * (b - a))
    assert 0 < distance <= upper + 1e-9
    assert distance < 4 * 10.0**-power


@given(st.sets(st.integers(0, 11), min_size=1), st.sets(st.integers(0, 11), min_size=1))
def test_indicators_give_the_jaccard_distance(a, b):
    p, q = (np.array([float(i in s) for i in range(12)]) for s in (a, b))
    assert d_k(p, q, np.ones(12)) == pytest.approx(1 - len(a & b) / len(a | b))


def test_worked_example():
    assert d_k([1 / 2, 0], [19 / 40, 1 / 60], [2, 3]) == pytest.approx(2 / 21, abs=1e-15)


@given(densities, densities, weights)
def test_disjoint_supports_give_1(p, q, w):
    left, right = np.concatenate([p, np.zeros(12)]), np.concatenate([np.zeros(12), q])
    assert d_k(left, right, np.concatenate([w, w])) == 1


@given(densities, densities, weights)
def test_unit_masses_rank_like_total_variation(p, q, w):
    p, q = p / (p @ w), q / (q @ w)
    t = total_variation(p, q, w)
    assert d_k(p, q, w) == pytest.approx(2 * t / (1 + t), abs=1e-9)


def test_batches_are_the_same_as_one_by_one():
    rng = np.random.default_rng(0)
    p, q = rng.random((2, 4, 3, 50))
    w = rng.random((3, 50))
    batch = d_k(p, q, w, k=2)
    assert batch.shape == (4, 3)
    assert batch == pytest.approx(np.array([[d_k(p[i, j], q[i, j], w[j], k=2) for j in range(3)] for i in range(4)]))
    assert Overlap(2)(p, q, w) == pytest.approx(batch)
