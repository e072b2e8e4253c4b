"""How far long work has come: a bar where somebody looks, and a line for whoever listens to the logger "xcid"."""

from __future__ import annotations

import functools
import importlib
import logging
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias, TypeVar

LOG = logging.getLogger("xcid")
DELAY = 2.0  # seconds before a bar appears

T = TypeVar("T")
Progress: TypeAlias = Callable[..., Iterable[Any]]
"""``progress(steps, total=...)`` gives the steps back one by one, and shows how many are done, as ``tqdm.tqdm``."""


def silent(steps: Iterable[T], total: int) -> Iterable[T]:
    """Show nothing."""
    return steps


def usual() -> Progress:
    """A bar of tqdm in terminals and notebooks, where it is installed; nothing in scripts."""
    watched = "ipykernel" in sys.modules or (hasattr(sys, "ps1") and sys.stderr is not None and sys.stderr.isatty())
    if not watched:
        return silent
    try:
        bar = importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return silent
    return functools.partial(bar, desc="xcid", unit="block", delay=DELAY, leave=False)
