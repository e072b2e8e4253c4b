"""How large a table is when it is read."""

from __future__ import annotations

from typing import NamedTuple

CELL = 8  # bytes that a cell takes in memory, whatever it is packed to


class Extent(NamedTuple):
    """What a file of a table says where its reader must obey."""

    n_rows: int
    n_columns: int
    n_bytes: int  # of what is packed in it
    n_cells: int  # of all columns: some kinds of columns pack any number of them into nothing

    @property
    def size(self) -> int:
        """Bytes in memory, at least."""
        return max(self.n_bytes, CELL * self.n_cells)
