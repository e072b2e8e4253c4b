"""Shared settings and data of the tests."""

from __future__ import annotations

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # small problems: threads that wait for each other cost more than they bring

import hypothesis  # noqa: E402
import numpy as np  # noqa: E402
import pytest  # noqa: E402

hypothesis.settings.register_profile("xcid", deadline=None, derandomize=True, print_blob=False)
hypothesis.settings.load_profile("xcid")


@pytest.fixture(autouse=True)
def untouched_global_state():
    """No code of ours draws from, or reseeds, NumPy's global generator."""
    before = np.random.get_state()  # noqa: NPY002
    yield
    after = np.random.get_state()  # noqa: NPY002
    assert before[0] == after[0]
    assert np.array_equal(before[1], after[1])
    assert before[2:] == after[2:]


@pytest.fixture(scope="session")
def normal_table():
    """300 rows of three independent features."""
    return np.random.default_rng(0).normal(size=(300, 3))
