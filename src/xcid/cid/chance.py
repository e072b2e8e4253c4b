"""How far the effects of a plan's features are chance: sums over its pairs, had their signs been drawn anew.

A plan draws the signs of a feature for each block of pairs. A sum is a function of the value that is taken, times the
signs, times a number of each pair. Where every pair is a block, it is a product of what all rows share and of one
number, so that moments over all draws are products of matrices, and no sum is held.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy import special

from xcid._kernels.arrays import ratio
from xcid.records import Array

TESTED = 8  # functions that p-values look at
LEAST_SKEW = 0.1  # of squared totals over all draws


class Chance(NamedTuple):
    """Totals, and what squared ones are over all draws of signs."""

    sums: Array  # (k, 1 + t, n) of functions times residuals
    spread: Array  # (k, n) their variance by blocks, as a share of that by independent pairs
    total: Array  # (k, n) squared totals, without what the other features do, ...
    mean: Array  # ... their mean, and second and third central moments over all draws
    second: Array
    third: Array


def of_blocks(size: int, functions: Array, without: Array, residuals: Array, own: Array) -> Chance:
    """Sum residuals over blocks of pairs, and draw the signs of each block anew.

    Parameters
    ----------
    size : int
        Pairs of a block.
    functions : Array
        (k, 1 + t, p), times signs.
    without : Array
        (k, b, t, r) sums over blocks of own columns from which all others are taken out.
    residuals, own : Array
        (p, n) of the regression, and (k, r, n) coefficients of the own columns.
    """
    sums = block_sums(functions, residuals[None], size)
    spread = ratio(between(sums).sum(axis=1), np.sum(functions**2, axis=1) @ residuals**2)
    tested = sums[:, :, :TESTED] + without @ own[:, None]
    total, tested = (tested.sum(axis=1) ** 2).sum(axis=1), tested.transpose(0, 3, 1, 2)
    across, lengths = np.ascontiguousarray(tested.swapaxes(2, 3)) @ tested, np.sum(tested**2, axis=3)
    twice = np.sum((tested @ across) * tested, axis=3)
    second = 2 * (np.sum(across**2, axis=(2, 3)) - np.sum(lengths**2, axis=2))
    third = 8 * (_cube(across) + np.sum(2 * lengths**3 - 3 * twice * lengths, axis=2))
    return Chance(sums.sum(axis=1), spread, total, lengths.sum(axis=2), second, third)


def of_pairs(functions: Array, without: Array, residuals: Array, own: Array) -> Chance:
    """Do the same where every pair is a block, and ``without`` holds (k, p, r) own columns themselves."""
    whole, n_pairs, squares = np.sum(functions**2, axis=1), len(residuals), residuals**2
    beside = np.sum(functions[:, :, 1:] * functions[:, :, :-1], axis=1) @ (residuals[1:] * residuals[:-1])
    within, ends = whole @ squares, whole[:, [0, -1]] @ squares[[0, -1]]
    spread = ratio((within - ends / 2 - beside) * (n_pairs / max(n_pairs - 1, 1)), within)
    tested, moves = functions[:, :TESTED], residuals + without @ own
    total, (row, column) = ((tested @ moves) ** 2).sum(axis=1), np.triu_indices(tested.shape[1])
    products, length = tested[:, row] * tested[:, column], np.sum(tested**2, axis=1)[:, :, None]
    moves *= moves
    lengths, across = length * moves, products @ moves
    moves *= lengths
    twice, fourth, squared = np.where(row == column, 1.0, 2.0)[:, None], products @ moves, np.sum(lengths**2, axis=1)
    moves *= length * lengths  # the cubes of lengths, but for one of their three lengths
    whole_across = np.empty((*across.shape[::2], tested.shape[1], tested.shape[1]))
    whole_across[:, :, row, column] = whole_across[:, :, column, row] = across.swapaxes(1, 2)
    third = 8 * (_cube(whole_across) + 2 * moves.sum(axis=1) - 3 * np.sum(twice * across * fourth, axis=1))
    second = 2 * (np.sum(twice * across**2, axis=1) - squared)
    return Chance(functions @ residuals, spread, total, lengths.sum(axis=1), second, third)


def _cube(across: Array) -> Array:
    """Traces of the cubes of (..., t, t) symmetric matrices."""
    return np.asarray(np.sum((across @ across) * across, axis=(-2, -1)))


def p_values(drawn: Chance, least: Array) -> Array:
    """(k, n) p-values of squared totals, by a gamma distribution with the first three moments over all draws."""
    spread = np.sqrt(drawn.second.clip(0.0))
    shape = 4 * ratio(1.0, np.maximum(ratio(drawn.third, spread**3), LEAST_SKEW) ** 2)
    place = shape + np.sqrt(shape) * ratio(drawn.total - drawn.mean, spread)
    return np.where(drawn.mean > least**2, special.gammaincc(shape, np.maximum(place, 0.0)), 1.0)


def between(sums: Array) -> Array:
    """Variance of a total of (k, b, ...) sums of blocks, by differences of neighbours."""
    n_blocks = sums.shape[1]
    return np.sum((sums[:, 1:] - sums[:, :-1]) ** 2, axis=1) / 2 * (n_blocks / max(n_blocks - 1, 1))


def block_sums(functions: Array, numbers: Array, size: int) -> Array:
    """(k, b, 1 + t, n) sums of (k, 1 + t, p) functions times (k or 1, p, n) numbers over blocks of pairs."""
    n_blocks, used = functions.shape[2] // size, functions.shape[2] // size * size
    split = functions[:, :, :used].reshape(*functions.shape[:2], n_blocks, size).swapaxes(1, 2)
    sums = split @ numbers[:, :used].reshape(len(numbers), n_blocks, size, numbers.shape[2])
    last = functions[:, :, used:] @ numbers[:, used:]
    return np.concatenate([sums, last[:, None]], axis=1) if used < functions.shape[2] else sums
