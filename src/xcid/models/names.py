"""What the features are called, where the table does not say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def names_for(model: Any, background: Any, given: Sequence[str] | None = None) -> Sequence[str] | None:
    """For an array without names, those that a scikit-learn model was fitted with."""
    if given is None and not hasattr(type(background), "columns"):
        return getattr(model, "feature_names_in_", None)
    return given
