"""Optional packages: imported where they are used, with the install line when they are missing."""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import warnings
from collections.abc import Iterator
from typing import Any

from xcid.errors import MissingDependency


def require(module: str, *, extra: str) -> Any:
    """Import an optional module or say how to get it.

    Examples
    --------
    >>> require("math", extra="plot").sqrt(4.0)
    2.0
    >>> require("soap", extra="plot")
    Traceback (most recent call last):
        ...
    xcid.errors.MissingDependency: this needs soap, which is not installed: pip install ".[plot]" in a checkout of xcid
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependency(f"this needs {package}, which is not installed: {say_install(extra)}") from error


def say_install(extra: str) -> str:
    """How an extra is installed from where xcid can be had.

    Examples
    --------
    >>> say_install("lab")
    'pip install ".[lab]" in a checkout of xcid'
    """
    return f'pip install ".[{extra}]" in a checkout of xcid'


@contextlib.contextmanager
def silenced() -> Iterator[None]:
    """Keep a library from writing and warning."""
    import numpy as np

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
    import numpy as np

    numbers, choices = np.random.get_state(), random.getstate()  # noqa: NPY002
    np.random.seed(seed)  # noqa: NPY002
    random.seed(seed)
    try:
        with silenced():
            yield
    finally:
        np.random.set_state(numbers)  # noqa: NPY002
        random.setstate(choices)
