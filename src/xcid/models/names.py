"""What the features are called, where the table does not say."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def names_for(model: Any, background: Any, given: Sequence[str] | None = None) -> Sequence[str] | None:
    """For a table without names, those that a scikit-learn model was fitted with."""
    has_names = hasattr(type(background), "columns")
    has_names |= isinstance(background, list | tuple) and len(background) > 0 and isinstance(background[0], Mapping)
    return given if given is not None or has_names else getattr(model, "feature_names_in_", None)
