"""What outcomes share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from xcid.errors import InvalidParameter
from xcid.records import Array

OTHER_LABEL = "another label"  # of a model that gives labels: one that the background never got
Number: TypeAlias = Callable[[float], str]
O = TypeVar("O")  # noqa: E741


def are_probabilities(outputs: Array) -> bool:
    """Whether (N, k) outputs of at least two classes lie in [0, 1]."""
    return outputs.shape[1] > 1 and bool(np.all((outputs >= 0) & (outputs <= 1 + 1e-6)))


def class_names(names: Sequence[str]) -> list[str]:
    """The classes that a question can be about."""
    return [name for name in names if name != OTHER_LABEL]


def check_probabilities(outputs: Array) -> None:
    """Refuse outputs that are not probabilities."""
    if outputs.shape[1] < 2:
        raise InvalidParameter("a regression has no classes: ask with outcomes.Interval, Threshold or Within")
    if not are_probabilities(outputs):
        raise InvalidParameter(
            f"the model's outputs are not probabilities, they go from {outputs.min():g} to {outputs.max():g}: "
            "ask with outcomes.Flip or ToClass"
        )


def ones(flags: Any) -> Array:
    """1 for true and 0 for false; arrays of NumPy or tensors of torch."""
    made: Array = flags * 1.0
    return made


def column_of(target: Any, names: Sequence[str]) -> int:
    """The output that belongs to a class; by default that of the last class."""
    if target is None:
        return max(at for at, name in enumerate(names) if name != OTHER_LABEL)
    if str(target) not in names:
        raise InvalidParameter(f"the model has no class {target!r}; its classes are {list(names)}")
    return list(names).index(str(target))


def at_column(outcome: O, column: int) -> O:
    """The same outcome, which now knows the output that it is about."""
    known = replace(outcome)  # type: ignore[type-var]
    object.__setattr__(known, "_column", column)
    return known
