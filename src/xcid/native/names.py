"""Classes are known by their names, so that nothing is imported for models that do not need it."""

from __future__ import annotations

from typing import Any


def name_of(model: Any) -> tuple[str, str]:
    """The package and the name of an object's class, of which a subclass has another."""
    return type(model).__module__.partition(".")[0], type(model).__name__
