"""Blocks of rows that do not fit into memory: they are halved and tried again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from xcid._require import require
from xcid.errors import ModelError
from xcid.records import Array

T = TypeVar("T")


def halved(function: Callable[[Any], T], rows: Any, at_once: int | None = None) -> Iterator[T]:
    """Apply a function to blocks of rows, in order; after a lack of memory to blocks of half the size.

    ``rows`` is anything that has a length and can be sliced, and ``at_once`` the rows of the first block, by default
    all of them. Where the memory does not suffice for a single row, a ModelError is raised.
    """
    torch = require("torch", extra="torch")
    size, start = max(1, len(rows) if at_once is None else at_once), 0
    while start < len(rows):
        lacking = False
        try:
            made = function(rows[start : start + size])
        except (torch.cuda.OutOfMemoryError, MemoryError) as error:
            if size == 1:
                raise ModelError(
                    f"the memory does not suffice for a single row: {str(error).strip() or type(error).__name__}; "
                    "use a smaller input, half precision or another device"
                ) from error
            lacking = True
        if lacking:  # outside the handler, whose error would keep the tensors of the failed call alive
            size = (min(size, len(rows) - start) + 1) // 2
            if torch.cuda.is_available():
                torch.cuda.empty_cache()
            continue
        start += size
        yield made


def in_blocks(function: Callable[[Any], Any], rows: Any, at_once: int) -> Array:
    """Put together what a function gives for blocks of rows that fit into memory."""
    return np.concatenate(list(halved(function, rows, at_once)))
