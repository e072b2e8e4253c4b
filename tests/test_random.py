"""Counter-based random numbers: a row's numbers are its own, and they look random."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from xcid._kernels.random import below, content_keys, mix, uniform, words

COUNTERS = np.arange(200_000, dtype=np.uint64)


def numbers(key):
    return words(np.array([key], dtype=np.uint64), COUNTERS)


def test_known_values_of_splitmix64():
    """The first numbers of the reference implementation for the state 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert words(np.array([1234567], dtype=np.uint64), COUNTERS[:4]).tolist() == expected


def test_uniform_numbers_are_uniform_and_uncorrelated():
    u = uniform(numbers(42))
    assert 0 <= u.min() < u.max() < 1
    assert stats.kstest(u, "uniform").pvalue > 1e-3
    assert abs(np.corrcoef(u[1:], u[:-1])[0, 1]) < 0.01


@pytest.mark.parametrize("bound", [1, 2, 7, 1000])
def test_integers_are_even(bound):
    drawn = below(numbers(7), bound)
    assert drawn.min() >= 0
    assert drawn.max() < bound
    if bound > 1:
        assert stats.chisquare(np.bincount(drawn, minlength=bound)).pvalue > 1e-3


def test_rows_that_differ_in_one_bit_get_unrelated_numbers():
    rows = np.array([[1.0, 2.0], [1.0, np.nextafter(2.0, 3.0)], [2.0, 1.0]])
    keys = content_keys(rows, seed=0)
    streams = uniform(words(keys[:, None], COUNTERS[:50_000]))
    off_diagonal = np.corrcoef(streams)[~np.eye(3, dtype=bool)]
    assert np.abs(off_diagonal).max() < 0.02


def test_keys_depend_on_seed_replicate_and_content_only():
    rows = np.array([[1.0, -0.0], [3.0, 4.0]])
    keys = content_keys(rows, seed=1)
    assert np.array_equal(keys[::-1], content_keys(rows[::-1], seed=1))
    assert np.array_equal(keys, content_keys(rows + 0.0, seed=1))
    different = {tuple(content_keys(rows, seed, replicate)) for seed in range(5) for replicate in range(5)}
    assert len(different) == 25
    assert len(content_keys(rows, seed=-1)) == 2


def test_mixing_is_a_bijection_on_a_sample():
    assert len(np.unique(mix(COUNTERS))) == len(COUNTERS)
