"""Rows that cannot be explained, by their places in the file."""

from __future__ import annotations

from typing import Any

import narwhals.stable.v2 as nw

from xcid.errors import InvalidData
from xcid.runs.chunks import Chunk
from xcid.space import FeatureSpace


def check(space: FeatureSpace, chunk: Chunk, table: str) -> None:
    """Refuse a chunk with a row that cannot be explained."""
    try:
        space.encode(chunk.frame, table)
    except InvalidData as error:
        raise blamed(space, chunk, table) or error from error


def blamed(space: FeatureSpace, chunk: Chunk, table: str) -> InvalidData | None:
    """The first row that is refused by itself, with its place in the file in place of its place in the chunk."""
    frame: Any = nw.from_native(chunk.frame, eager_only=True)
    for at, position in enumerate(chunk.positions):
        try:
            space.encode(frame[[at]].to_native(), table)
        except InvalidData as error:
            return InvalidData(str(error).replace("in row 0", f"in row {position}"))
    return None
