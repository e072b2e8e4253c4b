"""Whether a model is still the one that was read."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

DEEPEST = 8  # objects within objects
MOST_BYTES = 2**14  # of an array whose content is looked at, too
COUNTS = ("num_boosted_rounds", "current_iteration")  # of boosters, which grow in place
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


def _tokens(part: Any, depth: int) -> Iterator[Token]:
    """A part and what it is made of, with the state of what may change in place."""
    if part is None or isinstance(part, str | bytes | int | float | complex | type | np.generic):
        return
    if isinstance(part, np.ndarray):
        small = part.dtype != object and part.nbytes <= MOST_BYTES
        yield part, zlib.crc32(np.ascontiguousarray(part).data) if small else None
        inner: Any = part.ravel().tolist() if part.dtype == object else ()
    else:
        counts = [getattr(part, name, None) for name in COUNTS]
        yield part, [count() for count in counts if callable(count)]
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else ()
        inner = inner or getattr(part, "__dict__", {}).values()
    if depth:
        for each in inner:
            yield from _tokens(each, depth - 1)
