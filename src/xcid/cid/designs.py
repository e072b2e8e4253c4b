"""What importance of all rows of a plan shares: functions of values, cells, and a regression on the plan's signs."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import products, ratio
from xcid._kernels.random import hadamard_order
from xcid.cid.planned import Part
from xcid.records import Array, Integers, Plan

BINS = 16  # of about equal mass, that the cells of a number are put together to
RARE = 0.02  # cells of less mass count less in what functions are chosen
LEAST_SPREAD = 1e-3  # of a function of the value: what varies less is noise
TILT = 1e-4  # tells functions of equal spread apart, which rounding would mix as the processor has it
FITTED = 5  # functions of each feature in the regression
MOST_COLUMNS = 1 / 3  # of the number of pairs
PENALTY = 1e-10  # of each column, for each pair
MOST_LEVERAGE = 0.9
FEWEST = 12  # blocks whose differences tell of chance
MOST_SIGNS = 2**14  # of a plan whose pairs are each a block


class Design(NamedTuple):
    """What all rows of a plan share for k features; functions of a value are the constant and t others."""

    features: Integers  # (k,) their positions among the plan's features
    columns: Integers  # (k,) and in the table
    atoms: Array  # (k, a) the values that have a cell of their own, which are the first cells
    functions: Array  # (k, 1 + t, p) of the donors' values, times the signs of the feature
    cells: Array  # (k, g, 1 + t) from functions to the shares of a value in each cell
    share: Array  # (k, g, 1) of the donors in each cell

    @property
    def signs(self) -> Array:
        """(k, 1, p) 1 where the first of two complements takes the feature, -1 where the second does."""
        return self.functions[:, :1]

    @property
    def weights(self) -> Array:
        """(k, g, p) the shares of donors in each cell, times signs."""
        return np.asarray(self.cells @ self.functions)


class Fit(NamedTuple):
    """The regression of a plan on c columns, and what it says of the features of each design."""

    columns: Array  # (p, c)
    solution: Array  # (p, c) from differences to coefficients
    inflation: Array  # (p, 1) of residuals, for the freedom that the columns take
    owned: list[Integers]  # (k, r) the columns of each feature
    joint: list[Array]  # (k, 1 + t, r) sums over pairs of functions times own columns
    without: list[Array]  # (k, b, 1 + t, r) over pairs of a block, of columns from which all others are taken out
    widened: list[Array]  # (k, 1) variance of the sums in cells with these columns, as a share of that without


class Shared(NamedTuple):
    """What all rows of a plan share."""

    designs: list[Design]
    fit: Fit
    size: int  # pairs of a block, whose signs are drawn together; 1 where there are few blocks


def shared(plan: Plan, parts: list[Part]) -> Shared:
    """Make what all rows of a plan share."""
    designs = [design for part in parts if (design := _design(plan, part)).features.size]
    size = block_size(plan)
    return Shared(designs, _fit(plan, designs, size), size)


def block_size(plan: Plan) -> int:
    """Pairs of a block, whose signs are drawn together; 1 where there are few blocks."""
    size = hadamard_order(len(plan.free))
    return size if len(plan.masks) >= FEWEST * size else 1


def is_wide(plan: Plan) -> bool:
    """Whether a plan has so many features, and so few blocks, that noise is not worth measuring pair by pair."""
    return block_size(plan) == 1 and plan.masks.size > MOST_SIGNS


def _design(plan: Plan, part: Part) -> Design:
    chosen = np.flatnonzero(plan.free[part.features])
    features, atoms, pairs = part.features[chosen], part.slots.atoms[chosen], len(plan.masks)
    weights = np.stack([_weights(part, int(feature)) for feature in chosen]) if chosen.size else np.empty((0, 1, pairs))
    share = weights.mean(axis=2, keepdims=True)
    scale = np.sqrt(share + RARE)
    scaled = (weights - share) / scale
    tilt = np.diag(np.linspace(0.0, TILT, share.shape[1]))
    size, turn = np.linalg.eigh(products(scaled) / pairs + tilt)
    varies = size[:, ::-1] > LEAST_SPREAD
    turn = (turn[:, :, ::-1] * varies[:, None])[:, :, np.any(varies, axis=0)]
    functions = np.concatenate([np.ones((len(chosen), 1, pairs)), turn.swapaxes(1, 2) @ scaled], axis=1)
    signs = np.where(plan.masks[:, features], 1.0, -1.0).T[:, None]
    cells = np.concatenate([share, scale * turn], axis=2)
    return Design(features, part.columns[chosen], atoms, functions * signs, cells, share)


def _weights(part: Part, feature: int) -> Array:
    """(g, p) the share of each donor's value at each atom and in each bin of smooth cells."""
    slots, donor = part.slots, np.arange(len(part.slots.place))
    place, share, n_atoms = slots.place[:, feature], slots.share[:, feature], slots.atoms.shape[1]
    weight = np.zeros((slots.n_slots + 1, len(donor)))
    weight[place, donor] = 1 - share
    weight[place + 1, donor] += share
    if slots.n_slots == n_atoms:
        return weight[:n_atoms]
    mass = slots.smoothing @ weight[n_atoms:-1].sum(axis=1)
    middle = ratio(np.cumsum(mass) - mass / 2, mass.sum())
    bins = np.minimum((BINS * middle).astype(np.int64), BINS - 1) == np.arange(BINS)[:, None]
    return np.concatenate([weight[:n_atoms], (bins * 1.0 @ slots.smoothing) @ weight[n_atoms:-1]])


def _fit(plan: Plan, designs: list[Design], size: int) -> Fit:
    pairs, n_free = len(plan.masks), int(plan.free.sum())
    most = min(FITTED, int(MOST_COLUMNS * pairs / max(n_free, 1)))  # none where features are too many to tell apart
    own = [_normed(design.functions[:, :most]) for design in designs]
    ends = np.cumsum([0, *(one.shape[0] * one.shape[1] for one in own)])
    owned = [start + np.arange(one[:, :, 0].size).reshape(one.shape[:2]) for start, one in zip(ends, own, strict=False)]
    single = [feature for design in designs for feature in design.features]
    others = np.setdiff1d(np.flatnonzero(plan.free), single)[: n_free if most else 0]
    signs = np.where(plan.masks[:, others], 1.0, -1.0)
    columns = np.concatenate([*(one.reshape(-1, pairs).T for one in own), signs], axis=1)
    inverse = np.linalg.inv(products(columns.T) + PENALTY * pairs * np.eye(columns.shape[1]))
    solution = columns @ inverse
    leverage = np.minimum(MOST_LEVERAGE, np.sum(solution * columns, axis=1, keepdims=True))
    joint = [design.functions @ one.swapaxes(1, 2) for design, one in zip(designs, own, strict=True)]
    without, widened = [], []
    for design, at, one in zip(designs, owned, own, strict=True):
        solved = solution[:, at].transpose(1, 0, 2)
        alone = solved @ np.linalg.inv(inverse[at[:, :, None], at[:, None, :]])
        without.append(block_sums(design.functions, alone, size))
        linear = design.weights - design.share / 2 * design.signs
        whole = linear - (linear @ columns) @ solution.T + (linear @ one.swapaxes(1, 2)) @ solved.swapaxes(1, 2)
        widened.append(ratio(np.sum(whole**2, axis=(1, 2)), np.sum(linear**2, axis=(1, 2)))[:, None])
    return Fit(columns, solution, (1 - leverage) ** -0.5, owned, joint, without, widened)


def _normed(functions: Array) -> Array:
    """Functions of mean square 1; those that are 0 stay so."""
    return functions * ratio(1.0, np.sqrt(np.mean(functions**2, axis=2, keepdims=True)))


def block_sums(functions: Array, numbers: Array, size: int) -> Array:
    """(k, b, 1 + t, n) sums of (k, 1 + t, p) functions times (k or 1, p, n) numbers over blocks of pairs."""
    n_blocks = functions.shape[2] // size
    used = n_blocks * size
    split = functions[:, :, :used].reshape(*functions.shape[:2], n_blocks, size).swapaxes(1, 2)
    sums = split @ numbers[:, :used].reshape(len(numbers), n_blocks, size, numbers.shape[2])
    last = functions[:, :, used:] @ numbers[:, used:]
    return np.concatenate([sums, last[:, None]], axis=1) if used < functions.shape[2] else sums
