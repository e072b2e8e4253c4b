"""Densities of values that many rows share: where each value goes is found once, and only weights differ.

A feature has slots: atoms, then the cells of a grid. A value goes to its atom, or is split between two neighbouring
cells; the cells are then smoothed by one matrix, which is the same for all features since their cells have a common
width in units of their bandwidth.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy import special

from xcid.records import Array, Flags, Integers

PER_BANDWIDTH = 4.0  # cells
REACH = 4.0  # bandwidths beyond the outermost value
MOST_CELLS = 384
FARTHEST = 30  # cells that a kernel of 4 cells reaches to: beyond lies less than 1e-13 of it
TILE = 32  # cells that are smoothed at a time


class Slots(NamedTuple):
    """Where p shared values of f features go."""

    atoms: Array  # (f, a) values that have an atom, NaN for missing cells; infinite for unused places
    first: Array  # (f,) left end of the grid
    width: Array  # (f,) of a cell; 0 where there is no grid
    place: Integers  # (p, f) the slot of each value: the atoms are the first a, the cells follow
    share: Array  # (p, f) of a value that goes to the next slot
    smoothing: Array  # (g, g) the mass in each cell from the weight in each cell; 0 beyond ``FARTHEST`` cells
    covered: Flags  # (f,) features that this holds for; the others have to be done row by row

    @property
    def n_slots(self) -> int:
        """Atoms and cells of a feature."""
        return self.atoms.shape[1] + len(self.smoothing)


@runtime_checkable
class Slotted(Protocol):
    """A density that can tell for shared values where they go."""

    def slots(self, values: Array) -> Slots: ...


def smoothing(n_cells: int) -> Array:
    """(g, g) masses that all cells have from weight in one cell, for a Gaussian of PER_BANDWIDTH cells.

    Splitting a value between two cells widens it by a sixth of a squared cell on average; the kernel is narrowed by as
    much. What falls outside, less than 1e-4 of a kernel, is given back in proportion.
    """
    spread = np.sqrt(PER_BANDWIDTH**2 - 1 / 6)
    offset = np.arange(n_cells)
    below, above = (special.ndtr((offset + side) / spread) for side in (-0.5, 0.5))
    mass = np.where(offset <= FARTHEST, above - below, 0.0)[np.abs(offset[:, None] - offset)]
    return mass / mass.sum(axis=0)


def smooth(smoothing: Array, counts: Array, out: Array) -> None:
    """Turn (k, g, n) weights of cells into masses, tile by tile: far cells have nothing to do with each other."""
    for start in range(0, len(smoothing), TILE):
        tile, near = slice(start, start + TILE), slice(max(0, start - FARTHEST), start + TILE + FARTHEST)
        np.matmul(smoothing[tile, near], counts[:, near], out=out[:, tile])
