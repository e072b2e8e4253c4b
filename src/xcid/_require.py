"""Optional packages: imported where they are used, with the install line when they are missing."""

from __future__ import annotations

import importlib
from typing import Any

from xcid.errors import MissingDependency


def require(module: str, *, extra: str) -> Any:
    """Import an optional module or say how to get it.

    Examples
    --------
    >>> require("math", extra="plot").sqrt(4.0)
    2.0
    >>> require("no_such_package", extra="plot")
    Traceback (most recent call last):
        ...
    xcid.errors.MissingDependency: this needs no_such_package, which is not installed: pip install "xcid[plot]"
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise MissingDependency(f'this needs {package}, which is not installed: pip install "xcid[{extra}]"') from error
