"""Counter-based random numbers: a row's numbers are its own, they look random, and streams do not meet."""

from __future__ import annotations

import importlib
import itertools

import numpy as np
import pytest
from scipy import stats

from xcid._kernels.random import (
    NUMBERLESS,
    SHARED,
    STREAMS,
    TALL,
    below,
    bits,
    column_keys,
    content_keys,
    mix,
    uniform,
)

COUNTERS = np.arange(200_000, dtype=np.uint64)


def numbers(key):
    return bits(np.array([key], dtype=np.uint64), COUNTERS)


def test_known_values_of_splitmix64():
    """The first numbers of the reference implementation for the state 1234567."""
    expected = [6457827717110365317, 3203168211198807973, 9817491932198370423, 4593380528125082431]
    assert bits(np.array([1234567], dtype=np.uint64), COUNTERS[:4]).tolist() == expected


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
    streams = uniform(bits(keys[:, None], COUNTERS[:50_000]))
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


class TestStreams:
    def test_two_streams_under_one_key_differ_unless_a_reason_is_given(self):
        numbered = [stream for stream in STREAMS if stream.number is not None]
        clashes = {
            frozenset({first.owner, second.owner})
            for first, second in itertools.combinations(numbered, 2)
            if (first.key, first.number) == (second.key, second.number)
        }
        assert clashes == set(SHARED)  # an owner never clashes with itself, and every reason is still needed
        assert {stream.owner for stream in STREAMS if stream.number is None} == set(NUMBERLESS)

    def test_numbers_stay_what_they_are(self):
        """A number decides what a seed gives: a changed one fails here before it changes results."""
        numbers = {}
        for stream in STREAMS:
            numbers.setdefault((stream.owner, stream.key), []).append(stream.number)
        assert numbers == {
            ("_kernels.random", "run"): [11, 12, 13],
            ("cid.generators.balanced", "run"): [14, 15, 18, 19, 20],
            ("cid.generators.search", "row"): [17],
            ("cid.generators.random", "row"): [1, 2],
            ("cid.generators.genetic", "row"): [21, 22, 23, 24, 25, 26, 27, 28],
            ("cid.generators.conditional", "row"): [21, 22, 23, 24],
            ("xcid_lab.generators.nearest", "row"): [31, 32, 33, 34, 35],
            ("cid.generators.gradient", "row"): [31, 32, 33, 34],
            ("cid.generators.growing", "row"): [None, 41, 42, 43, 44, 45],
            ("cid.generators.growing", "walk"): [0, 1, 2, 3],
            ("cid.generators.dice", "row"): [41, 42],
            ("cid.resampled", "none"): [29, 31],
            ("metrics.maskings", "row"): [23],
            ("xcid_lab.metrics.flips", "row"): [51, 52, 53],
            ("xcid_lab.baselines.plain", "row"): [None],
            ("xcid_lab.baselines._common", "row"): [61],
            ("table.contradictions", "run"): [71],
            ("whatif.pruning", "row"): [72],
            ("calibration", "none"): [None],
            ("uncertainty", "none"): [81],
        }

    @pytest.mark.parametrize("owner", sorted({stream.owner for stream in STREAMS}))
    def test_owners_are_modules(self, owner):
        home = owner if owner.startswith("xcid_lab.") else f"xcid.{owner}"
        assert importlib.util.find_spec(home) is not None

    def test_a_stream_is_bits_of_bits(self):
        keys = content_keys(np.arange(6.0).reshape(3, 2), seed=4)
        stream = next(stream for stream in STREAMS if stream.number == 24)
        counters = COUNTERS[:10].reshape(5, 2)
        expected = bits(bits(keys, np.array([24], dtype=np.uint64))[:, None, None], counters)
        assert np.array_equal(stream.bits(keys, counters), expected)
        assert np.array_equal(stream.bits(keys[1], counters)[0], expected[1])

    def test_streams_are_uncorrelated(self):
        key = content_keys(np.ones((1, 2)), seed=0)
        drawn = np.stack([uniform(stream.bits(key, COUNTERS[:20_000]))[0] for stream in STREAMS if stream.number])
        distinct = np.unique(drawn, axis=0)
        assert np.abs(np.corrcoef(distinct)[~np.eye(len(distinct), dtype=bool)]).max() < 0.04


@pytest.mark.parametrize("n_rows", [5, TALL, TALL + 1, 3 * TALL])
def test_keys_of_columns_follow_their_content(n_rows):
    """Equal columns have equal keys, and a change of any cell, the last too, gives another; so does its place."""
    matrix = np.repeat(np.random.default_rng(0).normal(size=(n_rows, 1)), 5, axis=1)
    matrix[[0, -1], [1, 2]] += 1
    matrix[:, 3] = matrix[::-1, 3]
    keys = column_keys(matrix)
    assert keys[0] == keys[4]
    assert len(set(keys.tolist())) == 4
    assert np.array_equal(column_keys(matrix[:, ::-1]), keys[::-1])
    if n_rows <= TALL:
        assert np.array_equal(keys, content_keys(matrix.T, seed=0))
