"""A few hundred inputs for each target; ``soak/fuzz.py`` tries as many as time allows."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from targets import SUFFIXES, TARGETS, damaged, good_tables, load_explanation, read_table, saved_explanations

EXAMPLES = {"load_damaged_explanation": 60, "read_damaged_table": 100, "one_feature": 150}


@pytest.mark.parametrize("name", TARGETS)
def test_any_bytes(name):
    @settings(max_examples=EXAMPLES.get(name, 100), suppress_health_check=list(HealthCheck), database=None)
    @given(st.binary(max_size=200))
    def tried(data):
        TARGETS[name](data)

    tried()


def test_numbers_at_all_scales():
    numbers = st.floats(allow_nan=False, allow_infinity=False) | st.sampled_from(
        [0.0, -0.0, 1e308, -1e308, 5e-324, 1.0]
    )

    @settings(max_examples=150, suppress_health_check=list(HealthCheck), database=None)
    @given(st.lists(numbers, min_size=4, max_size=30))
    def tried(values):
        import numpy as np

        for target in ("one_feature", "curves"):
            TARGETS[target](b"\x00" + np.array(values).tobytes())

    tried()


def test_damage_is_what_it_says():
    assert damaged(b"abcd", b"") == b"abcd"
    assert damaged(b"abcd", b"\x00\x80\xff") == b"ab\x9cd"
    assert damaged(b"abcd", b"\x00\x80") == b"ab"


@pytest.mark.parametrize(("first", "bit"), list(enumerate([1, 2, 128])))
def test_every_byte_of_parquet(first, bit):
    """Some damages of the footer end the process where pyarrow looks at the metadata of a column.

    Each bit is turned in every third byte, each in others.
    """
    table, (_, _, explanation) = good_tables()[".parquet"], saved_explanations()
    for content, tried in ((bytes([SUFFIXES.index(".parquet")]) + table, read_table), (explanation, load_explanation)):
        for at in range(1 + first, len(content), 3 if tried is read_table else 21):
            tried(content[:at] + bytes([content[at] ^ bit]) + content[at + 1 :])


def test_a_foreign_error_is_found(monkeypatch):
    """The targets can fail."""
    from xcid.io import readers

    def broken(path):
        raise KeyError("odd")

    monkeypatch.setattr(readers, "read", broken)
    with pytest.raises(KeyError):
        read_table(b"\x00" + good_tables()[".csv"])
