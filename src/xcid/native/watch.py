"""Whether a model is still the one that was read."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

DEEPEST = 8  # objects within objects
MOST_BYTES = 2**14  # of an array whose content is looked at, too
COUNTS = ("num_boosted_rounds", "current_iteration")  # of boosters, which grow in place
ATOMS = {type(None), str, bytes, bool, int, float, complex, type, np.float64, np.int64, np.dtype}
Token: TypeAlias = tuple[Any, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Watch:
    """A model, and all that it was made of when it was read.

    It sees parts that were put in the place of others, as fitting anew does, short arrays of other content, and
    boosters that have grown. It does not look into trees.
    """

    model: Any
    tokens: tuple[Token, ...]

    @staticmethod
    def of(model: Any) -> Watch:
        """Look at a model."""
        return Watch(model, tuple(_tokens(model, DEEPEST)))

    def is_unchanged(self) -> bool:
        """Look at it again."""
        now = tuple(_tokens(self.model, DEEPEST))
        return len(now) == len(self.tokens) and all(
            one is other and state == before for (one, state), (other, before) in zip(now, self.tokens, strict=True)
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Watch.of, (self.model,)


def _tokens(model: Any, depth: int) -> Iterator[Token]:
    """A model and what it is made of, with the state of what may change in place."""
    parts = [model]
    for _ in range(depth):
        inner: list[Any] = []
        for part in parts:
            if type(part) in ATOMS:
                continue
            yield part, _state(part)
            inner += _inner(part)
        parts = inner


def _inner(part: Any) -> Iterable[Any]:
    if isinstance(part, np.ndarray):
        return part.ravel().tolist() if part.dtype == object else ()
    if isinstance(part, list | tuple):
        return part
    return part.values() if isinstance(part, dict) else getattr(part, "__dict__", {}).values()


def _state(part: Any) -> Any:
    if isinstance(part, np.ndarray):
        small = part.dtype != object and part.nbytes <= MOST_BYTES
        return zlib.crc32(np.ascontiguousarray(part).data) if small else None
    return [getattr(part, name)() for name in COUNTS if callable(getattr(part, name, None))]
