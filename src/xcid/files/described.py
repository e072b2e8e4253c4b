"""Densities and outcomes in files: their names and parameters, as plain JSON.

Only classes and functions of xcid's own rooms are written down and made again: a name in a file never imports anything
else. One of the user's own is left out, and given again when the file is loaded.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import FunctionType
from typing import Any

import numpy as np

from xcid.errors import InvalidFile

ROOMS = ("xcid.densities", "xcid.outcomes")
NAME, FUNCTION, FLOAT = "name", "function", "float"


def describe(part: Any) -> Any:
    """Name and parameters of an object, or None where it cannot be written down."""
    try:
        return _described(part)
    except TypeError:
        return None


def restore(description: Any) -> Any:
    """What :func:`describe` was given."""
    if isinstance(description, list):
        return tuple(restore(each) for each in description)
    if not isinstance(description, Mapping):
        return description
    parameters = dict(description)
    if FLOAT in parameters:
        return float(parameters[FLOAT])
    if FUNCTION in parameters:
        return _found(parameters[FUNCTION], FunctionType)
    kind = _found(parameters.pop(NAME, "Kernel"), type)  # files of version 0.1 leave the name of a kernel out
    return kind(**{name: restore(part) for name, part in parameters.items()})


def _described(part: Any) -> Any:
    if isinstance(part, np.generic):
        part = part.item()
    if isinstance(part, float) and not math.isfinite(part):
        return {FLOAT: str(part)}
    if part is None or isinstance(part, str | int | float):
        return part
    if isinstance(part, tuple | list):
        return [_described(each) for each in part]
    if isinstance(part, FunctionType) and _is_ours(part.__module__):
        return {FUNCTION: f"{part.__module__}.{part.__qualname__}"}
    if is_dataclass(part) and _is_ours(type(part).__module__):
        known = {each.name: _described(getattr(part, each.name)) for each in fields(part) if each.init}
        return {NAME: f"{type(part).__module__}.{type(part).__qualname__}"} | known
    raise TypeError(f"{part!r} cannot be written down")


def _is_ours(module: str) -> bool:
    return any(module == room or module.startswith(f"{room}.") for room in ROOMS)


def _found(name: str, kind: type) -> Any:
    """A class or a function of one of the rooms; a name without a room is that of a density."""
    module, _, own = name.rpartition(".")
    module = module or ROOMS[0]
    found = getattr(import_module(module), own, None) if _is_ours(module) else None
    if not isinstance(found, kind) or not _is_ours(found.__module__) or (kind is type and not is_dataclass(found)):
        raise InvalidFile(f"unknown {'class' if kind is type else 'function'} {name!r}")
    return found
