"""What is foreign: packages that may be missing, libraries that talk, processes that end, and text for terminals."""

from __future__ import annotations

import contextlib
import importlib
import io
import random
import signal
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
    MissingDependency: this needs soap, which is not installed: pip install -e ".[plot]" in a checkout of xcid
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
    'pip install -e ".[lab]" in a checkout of xcid'
    """
    return f'pip install -e ".[{extra}]" in a checkout of xcid'


@contextlib.contextmanager
def silence() -> Iterator[None]:
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
        with silence():
            yield
    finally:
        np.random.set_state(numbers)  # noqa: NPY002
        random.setstate(choices)


def ending(exit_code: int | None) -> str:
    """How a process ended: by its exit status, or killed by a signal."""
    if exit_code is None or exit_code >= 0:
        return f"exit status {exit_code}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-exit_code).name}"
    return f"killed by signal {-exit_code}"


def make_printable(text: str) -> str:
    r"""Names from files may hold what a terminal takes for a command.

    Examples
    --------
    >>> make_printable("a name that turns \x1b[31mred")
    'a name that turns ?[31mred'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def one_core_each(model_cores: int | None = None) -> contextlib.AbstractContextManager[Any]:
    """Keep NumPy's matrix products to the thread that asks for them; scikit-learn brings what that takes.

    The model's own threads get ``model_cores``; by default they are its own affair.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return contextlib.nullcontext()
    most = {"blas": 1} if model_cores is None else {"blas": 1, "openmp": model_cores}
    return threadpool_limits(most)
