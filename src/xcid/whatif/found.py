"""Changed rows that were found on the way, of all rows of a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xcid.records import Array, Flags, Integers


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Changed rows (N, f) of a block with their (N,) owners, distances, and gains when they were found."""

    rows: Array
    owner: Integers
    gain: Array
    distance: Array

    def __getitem__(self, at: Integers | Flags) -> Found:
        return Found(self.rows[at], self.owner[at], self.gain[at], self.distance[at])


def joined(parts: list[Found]) -> Found:
    """All of them in one."""
    names = ("rows", "owner", "gain", "distance")
    return Found(*(np.concatenate([getattr(part, name) for part in parts]) for name in names))


def one_of_each_set(moved: Flags, owner: Integers, distance: Array) -> Integers:
    """Positions of the nearest of all that change the same features of the same row, by rows."""
    order = np.lexsort((distance, owner))
    sets = np.column_stack([owner[order], np.packbits(moved[order], axis=1)])
    _, first = np.unique(sets, axis=0, return_index=True)
    return order[np.sort(first)]
