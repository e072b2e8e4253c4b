"""Atoms: exact masses of levels, and of values that pile up beside a kernel for the rest.

Where many rows share values, the place of each is found once, and only weights differ. A feature has slots: atoms,
then the cells of a grid. A value goes to its atom, or is split between two neighbouring cells; the cells are then
smoothed by one matrix, which is the same for all features since their cells have a common width in units of their
bandwidth.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
from scipy import special

from xcid._check import as_float, as_int
from xcid._kernels.arrays import number_distinct, sum_weights
from xcid.cid.densities.bandwidths import Fixed, Pooled, named
from xcid.cid.densities.kernel import BINNED_TOLERANCE, Kernel, flatten
from xcid.errors import InvalidParameter
from xcid.records import Array, DensityPair, Flags, Integers

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


@dataclass(frozen=True, slots=True)
class Discrete:
    """Every distinct value is an atom with its exact mass.

    Examples
    --------
    >>> import numpy as np
    >>> pair = Discrete()(np.array([1.0, 1.0, 2.0, 3.0]), np.array([1, 1, 0, 0.0]), np.array([0, 1, 1, 0.0]))
    >>> pair.points.tolist(), pair.p.tolist(), pair.q.tolist()
    ([1.0, 2.0], [1.0, 0.0], [0.5, 0.5])
    """

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair:
        """Count (..., s) samples with (..., s) weights."""
        items = flatten(values, positive, negative)
        raw = np.broadcast_to(values, (*items.batch, items.values.shape[1])).reshape(items.values.shape)
        code, points = number_distinct(raw, items.used)
        p, q = (sum_weights(code, weights, points.shape[1]) for weights in (items.positive, items.negative))
        shape = (*items.batch, points.shape[1])
        points, p, q = (part.reshape(shape) for part in (points, p, q))
        return DensityPair(points, p, q, np.ones(shape), np.ones(shape, dtype=bool))

    def slots(self, values: Array) -> Slots:
        """Tell where each of (p, f) values goes that many rows share."""
        distinct = [np.unique(column) for column in values.T]
        atoms = np.full((len(distinct), max(len(one) for one in distinct)), np.inf)
        place = np.empty(values.shape, dtype=np.int64)
        for feature, one in enumerate(distinct):
            atoms[feature, : len(one)] = one
            place[:, feature] = np.searchsorted(one, values[:, feature])
        nothing = np.zeros(len(atoms))
        covered = np.ones(len(atoms), dtype=bool)
        return Slots(atoms, nothing, nothing, place, np.zeros(values.shape), np.zeros((0, 0)), covered)


@dataclass(frozen=True, slots=True)
class Mixed:
    """Give every value that piles up an exact atom, and the rest of the samples a kernel estimate.

    Perturbations leave many values exactly as they were; a kernel over that spike measures its own bandwidth.

    Parameters
    ----------
    kernel : Kernel
        For the samples that are not atoms. One pooled bandwidth by default: with few samples outside the atoms, two
        separate ones differ by chance.
    share : float
        A value is an atom when it holds at least this share of the two sets' mean mass
    repeats : int
        and is taken by at least this many samples.

    Examples
    --------
    >>> import numpy as np
    >>> values = np.array([3.0] * 10 + [1.0, 2.0, 4.0, 5.0])
    >>> pair = Mixed()(values, np.ones(14), np.ones(14))
    >>> pair.points[pair.atoms & (pair.p > 0)].tolist()
    [3.0]
    """

    kernel: Kernel = field(default_factory=lambda: Kernel("gaussian", bandwidth="pooled-silverman"))
    share: float = 0.05
    repeats: int = 5

    def __post_init__(self) -> None:
        if not isinstance(self.kernel, Kernel):
            raise InvalidParameter(
                f"the kernel of Mixed must be a Kernel, such as Kernel('gaussian'), not {self.kernel!r}"
            )
        if not 0 < as_float(self.share, "share") <= 1:
            raise InvalidParameter(f"the share of an atom must lie in (0, 1], not {self.share}")
        as_int(self.repeats, "repeats", at_least=2)

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair:
        """Estimate the densities of (..., s) samples with (..., s) weights."""
        items = flatten(values, positive, negative)
        raw = np.broadcast_to(values, (*items.batch, items.values.shape[1])).reshape(items.values.shape)
        used = items.used
        code, points = number_distinct(raw, used)
        n_points = points.shape[1]
        p, q = (sum_weights(code, weights, n_points) for weights in (items.positive, items.negative))
        count = sum_weights(code, used.astype(np.float64), n_points)
        is_atom = ((p + q) / 2 >= self.share) & (count >= self.repeats)

        smooth = ~np.take_along_axis(is_atom, code, axis=1)
        rest = self.kernel(raw, *(weights * smooth for weights in items.given_weights))
        rest_p, rest_q = (np.sum(w * smooth, axis=1, keepdims=True) for w in (items.positive, items.negative))

        n_atoms = int(is_atom.sum(axis=1).max(initial=0))
        first = np.argsort(~is_atom, axis=1, kind="stable")[:, :n_atoms]
        there = np.take_along_axis(is_atom, first, axis=1)
        atom_points, atom_p, atom_q = (np.take_along_axis(part, first, axis=1) for part in (points, p, q))
        parts = (
            np.concatenate([atom_points, rest.points], axis=1),
            np.concatenate([atom_p * there, rest.p * rest_p], axis=1),
            np.concatenate([atom_q * there, rest.q * rest_q], axis=1),
            np.concatenate([there.astype(np.float64), rest.weights], axis=1),
            np.concatenate([np.ones_like(there), rest.atoms], axis=1),
        )
        return DensityPair(*(part.reshape(*items.batch, part.shape[1]) for part in parts))

    def slots(self, values: Array) -> Slots:
        """Tell where each of (p, f) values goes that many rows share, beside p samples of the row's own value.

        Atoms are values that hold the share of all samples; a kernel that is not Gaussian covers nothing.
        """
        least = max(self.repeats, self.share * 2 * len(values))
        grids = [_grid(column, least, self.kernel) for column in values.T]
        n_atoms = max(len(grid.atoms) for grid in grids)
        n_cells = int(max((grid.n_cells for grid in grids if grid.n_cells <= MOST_CELLS), default=0))
        atoms = np.full((len(grids), n_atoms), np.inf)
        place, share = np.zeros(values.shape, dtype=np.int64), np.zeros(values.shape)
        for feature, (column, grid) in enumerate(zip(values.T, grids, strict=True)):
            atoms[feature, : len(grid.atoms)] = grid.atoms
            atom = np.searchsorted(grid.atoms, column)
            if grid.n_cells == 0:
                place[:, feature] = atom
            elif grid.n_cells <= MOST_CELLS:
                is_atom = np.isin(column, grid.atoms, kind="sort") | np.isnan(column)
                at = np.where(is_atom, 0.0, (column - grid.first) / grid.width - 0.5)
                cell = np.floor(at).astype(np.int64)
                place[:, feature] = np.where(is_atom, atom, n_atoms + cell)
                share[:, feature] = np.where(is_atom, 0.0, at - cell)
        first, width = (np.array([getattr(grid, name) for grid in grids]) for name in ("first", "width"))
        covered = np.array([grid.n_cells <= MOST_CELLS for grid in grids])
        return Slots(atoms, first, width, place, share, smoothing(n_cells), covered)


class _Grid(NamedTuple):
    """Atoms (m,) in ascending order, missing cells last, and the uniform cells for all other values of a feature."""

    atoms: Array
    first: float
    width: float
    n_cells: float


def _grid(values: Array, least: float, kernel: Kernel) -> _Grid:
    distinct, count = np.unique(values, return_counts=True)
    is_atom = (count >= least) | np.isnan(distinct)
    if np.sum(~is_atom) < 2:
        return _Grid(distinct, 0.0, 0.0, 0)
    low, high = distinct[~is_atom][[0, -1]]
    unit, rule, bandwidth = high - low, named(kernel.bandwidth), 0.0
    is_simple = kernel.kernel == "gaussian" and kernel.tolerance >= BINNED_TOLERANCE
    if is_simple and isinstance(rule, Pooled | Fixed) and 1e-290 < unit < 1e290:
        rest = (np.repeat(distinct[~is_atom], count[~is_atom])[None] - low) / unit
        half = np.full(rest.shape, 0.5)
        bandwidth = float(rule(rest, half, half, np.array([unit]))[0][0]) * unit
    width = bandwidth / PER_BANDWIDTH
    n_cells = unit / width + 2 * REACH * PER_BANDWIDTH + 2 if width > 0 else np.inf
    return _Grid(distinct[is_atom], low - REACH * bandwidth, width, n_cells)
