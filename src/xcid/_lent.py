"""What other libraries are lent for a call and give back: silence, and global random states."""

from __future__ import annotations

import contextlib
import io
import random
import warnings
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Keep a library from writing and warning."""
    nowhere = io.StringIO()
    with (
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
    ):
        warnings.simplefilter("ignore")
        yield


@contextlib.contextmanager
def quiet_and_seeded(seed: int) -> Iterator[None]:
    """Silence a library, and lend it global random states that are put back afterwards."""
    numbers, choices = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        with silenced():
            yield
    finally:
        np.random.set_state(numbers)  # noqa: NPY002
        random.setstate(choices)
