"""Blocks of rows that do not fit into memory: they are halved and tried again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

from xcid._require import require
from xcid.errors import ModelError

T = TypeVar("T")


def halved(function: Callable[[Any], T], rows: Any, at_once: int | None = None) -> Iterator[T]:
    """Apply a function to blocks of rows, in order; after a lack of memory to blocks of half the size.

    Parameters
    ----------
    function : callable
        From some of the rows to anything; it may be called again with a part of the rows it failed on.
    rows : array, tensor or sequence
        Whatever has a length and can be sliced.
    at_once : int, optional
        Rows of the first block; all of them by default.

    Yields
    ------
    What the function gives for each block.

    Raises
    ------
    ModelError
        Where the memory does not suffice for a single row.
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
            _give_back(torch)
            continue
        start += size
        yield made


def _give_back(torch: Any) -> None:
    """Let a device have the memory that is cached but not used."""
    if torch.cuda.is_available():
        torch.cuda.empty_cache()
