"""NumPy's arrays and torch's tensors behind the same names, for hot loops on either.

Blocks, samples and ties of rows; Student's distribution for any degrees of freedom; how far the effects of a plan's
features are chance: sums over its pairs, had their signs been drawn anew. A plan draws the signs of a feature for each
block of pairs. A sum is a function of the value that is taken, times the signs, times a number of each pair. Where
every pair is a block, it is a product of what all rows share and of one number, so that moments over all draws are
products of matrices, and no sum is held.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from xcid.records import Array, Flags, Integers

MOST_AT_ONCE = 4_096  # rows of a product of a matrix with itself: OpenBLAS ends the process at some 16,000 of them
DEGREE = 20  # of the polynomial in 1 / freedom: good to 1e-11
STEPS = 400  # of the continued fraction, at most: a million degrees of freedom take some 300
LOOK = 8  # steps after which it is seen whether it goes on
TINY = 1e-300
TESTED = 8  # functions that p-values of chance look at
LEAST_SKEW = 0.1  # of squared totals over all draws


def namespace(array: Any) -> Any:
    """The library that an array belongs to: numpy or torch, which agree on the names that are used here."""
    return np if isinstance(array, np.ndarray) else sys.modules[type(array).__module__]


def products(rows: Array) -> Array:
    """(..., n, n) inner products of all pairs of (..., n, k) rows; by a copy where there are many, which is safe."""
    across = rows.swapaxes(-1, -2)
    found: Array = rows @ (across.copy() if rows.shape[-2] > MOST_AT_ONCE else across)
    return found


def blocks(total: int, size: int) -> Iterator[slice]:
    """Slices that cover so many rows, of at most ``size`` rows each, at least one."""
    return (slice(start, start + max(1, size)) for start in range(0, total, max(1, size)))


def thinned(size: int, most: int) -> Integers:
    """Positions of at most so many rows, evenly spread.

    Examples
    --------
    >>> thinned(9, 3).tolist()
    [0, 4, 8]
    """
    return np.linspace(0, size - 1, min(size, most)).round().astype(np.int64)


def times(rows: Array, matrices: Array) -> Array:
    """Multiply (n, k) rows by (n, k, l) matrices, or all of them by one (1, k, l)."""
    if len(matrices) == 1:
        one: Array = rows @ matrices[0]
        return one
    each: Array = (rows[:, None, :] @ matrices)[:, 0]
    return each


def inner(first: Array, second: Array) -> Array:
    """(n, 1) inner products of rows."""
    products: Array = namespace(first).einsum("ns,ns->n", first, second)[:, None]
    return products


def same(first: Array, second: Array) -> Flags:
    """Equal cells; missing ones are equal."""
    xp = namespace(first)
    equal: Flags = (first == second) | (xp.isnan(first) & xp.isnan(second))
    return equal


def ratio(above: Array | float, below: Array) -> Array:
    """Divide where the divisor is above 0; 0 elsewhere."""
    xp, there = namespace(below), below > 0
    quotient: Array = xp.where(there, above / xp.where(there, below, 1.0), 0.0)
    return quotient


def spread(values: Array) -> Array:
    """Standard deviations of columns, of numbers of any size.

    Examples
    --------
    >>> spread(np.array([[2.0**600, 1.0], [2.0**601, 1.0]])).tolist() == [2.0**599, 0.0]
    True
    """
    scale = np.abs(values).max(axis=0)
    unit = np.where(scale > 0, scale, 1.0)
    return np.asarray((values / unit).std(axis=0) * unit)


def number_distinct(values: Array, used: Flags) -> tuple[Integers, Array]:
    """Number the distinct used values of (b, s) items in ascending order.

    Gives the (b, s) position of each sample's value, that of the last one for unused samples; and the (b, u) values,
    the last one repeated where an item has fewer than u.
    """
    n_items, n_samples = values.shape
    largest = np.where(used, values, -np.inf).max(axis=1, keepdims=True)
    filled = np.where(used, values, largest)
    order = np.argsort(filled, axis=1)
    ordered = np.take_along_axis(filled, order, axis=1)
    rank = np.zeros((n_items, n_samples), dtype=np.int64)
    np.cumsum(ordered[:, 1:] != ordered[:, :-1], axis=1, out=rank[:, 1:])
    code = np.empty_like(rank)
    np.put_along_axis(code, order, rank, axis=1)
    points = np.repeat(ordered[:, -1:], rank.max() + 1, axis=1)
    np.put_along_axis(points, rank, ordered, axis=1)
    return code, points


def sum_weights(code: Integers, weights: Array, n_points: int) -> Array:
    """Total weight of each distinct value: (b, n_points)."""
    flat = code + (np.arange(len(code)) * n_points)[:, None]
    total: Array = np.bincount(flat.ravel(), weights.ravel(), len(code) * n_points)  # type: ignore[assignment]
    return total.reshape(len(code), n_points)


def student_quantile(freedom: Array, share: float) -> Array:
    """Below which a share of Student's distribution lies, for 1 degree of freedom and more.

    Examples
    --------
    >>> student_quantile(np.array([1.0, 30.0]), 0.975).round(4).tolist()
    [12.7062, 2.0423]
    """
    part = 2 / freedom - 1
    last, before = 0.0 * part, 0.0 * part
    coefficients = _coefficients(share)
    for coefficient in coefficients[:0:-1]:  # Clenshaw's sum of Chebyshev polynomials
        last, before = 2 * part * last - before + coefficient, last
    found: Array = part * last - before + coefficients[0]
    return found


@functools.cache
def _coefficients(share: float) -> list[float]:
    """Of Chebyshev polynomials of 2 / freedom - 1."""
    from scipy.special import stdtrit  # late, as below: a fifth of what a run that is finished takes

    part = np.polynomial.chebyshev.chebpts1(DEGREE + 1)
    found = np.polynomial.chebyshev.chebfit(part, stdtrit(2 / (part + 1), share), DEGREE)
    return [float(one) for one in found]


def student_tails(freedom: Array, size: Array) -> Array:
    """The share of Student's distribution that is at least so large, on either side."""
    if isinstance(size, np.ndarray):
        from scipy.special import stdtr

        return 2 * stdtr(freedom, -size)
    return _incomplete_beta(freedom / 2, freedom / (freedom + size**2), size**2 / (freedom + size**2))


def _incomplete_beta(a: Array, x: Array, rest: Array) -> Array:
    """The regularised incomplete beta function of ``a`` and 1/2 at x, ``rest`` being 1 - x, by a continued fraction."""
    xp = namespace(x)
    front = xp.lgamma(a + 0.5) - xp.lgamma(a) - 0.5 * np.log(np.pi)
    front = xp.exp(front + xp.special.xlogy(a, x) + xp.special.xlogy(0.5 + 0 * rest, rest))
    turned = x > (a + 1) / (a + 2.5)  # there the other side converges
    half = 0.5 + 0 * a
    a, b, x = xp.where(turned, half, a), xp.where(turned, a, half), xp.where(turned, rest, x)
    found = front * _fraction(a, b, x) / a
    return xp.where(turned, 1 - found, found)


def _fraction(a: Array, b: Array, x: Array) -> Array:
    """Lentz's way with the continued fraction of the incomplete beta function (Numerical Recipes, 6.4)."""
    xp = namespace(x)

    def whole(part: Array) -> Array:
        return xp.where(abs(part) < TINY, TINY, part)

    above = 1.0 + 0 * x
    below = 1 / whole(1 - (a + b) * x / (a + 1))
    found = below
    for step in range(1, STEPS + 1):
        even, odd = a + 2 * step, a + 2 * step - 1
        for part in (
            step * (b - step) * x / (odd * even),
            -(a + step) * (a + b + step) * x / (even * (even + 1)),
        ):
            below, above = 1 / whole(1 + part * below), whole(1 + part / above)
            change = below * above
            found = found * change
        if step % LOOK == 0 and not bool((abs(change - 1) > 1e-13).any()):
            break
    return found


class Chance(NamedTuple):
    """Totals, and what squared ones are over all draws of signs."""

    sums: Array  # (k, 1 + t, n) of functions times residuals
    spread: Array  # (k, n) their variance by blocks, as a share of that by independent pairs
    total: Array  # (k, n) squared totals, without what the other features do, ...
    mean: Array  # ... their mean, and second and third central moments over all draws
    second: Array
    third: Array


def redraw_blocks(size: int, functions: Array, without: Array, residuals: Array, own: Array) -> Chance:
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
    sums = sum_blocks(functions, residuals[None], size)
    spread = ratio(measure_between(sums).sum(axis=1), np.sum(functions**2, axis=1) @ residuals**2)
    tested = sums[:, :, :TESTED] + without @ own[:, None]
    total, tested = (tested.sum(axis=1) ** 2).sum(axis=1), tested.transpose(0, 3, 1, 2)
    across, lengths = np.ascontiguousarray(tested.swapaxes(2, 3)) @ tested, np.sum(tested**2, axis=3)
    twice = np.sum((tested @ across) * tested, axis=3)
    second = 2 * (np.sum(across**2, axis=(2, 3)) - np.sum(lengths**2, axis=2))
    third = 8 * (_cube(across) + np.sum(2 * lengths**3 - 3 * twice * lengths, axis=2))
    return Chance(sums.sum(axis=1), spread, total, lengths.sum(axis=2), second, third)


def redraw_pairs(functions: Array, without: Array, residuals: Array, own: Array) -> Chance:
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


def find_p_values(drawn: Chance, least: Array) -> Array:
    """(k, n) p-values of squared totals, by a gamma distribution with the first three moments over all draws."""
    from scipy import special

    spread = np.sqrt(drawn.second.clip(0.0))
    shape = 4 * ratio(1.0, np.maximum(ratio(drawn.third, spread**3), LEAST_SKEW) ** 2)
    place = shape + np.sqrt(shape) * ratio(drawn.total - drawn.mean, spread)
    return np.where(drawn.mean > least**2, special.gammaincc(shape, np.maximum(place, 0.0)), 1.0)


def measure_between(sums: Array) -> Array:
    """Variance of a total of (k, b, ...) sums of blocks, by differences of neighbours."""
    n_blocks = sums.shape[1]
    return np.sum((sums[:, 1:] - sums[:, :-1]) ** 2, axis=1) / 2 * (n_blocks / max(n_blocks - 1, 1))


def sum_blocks(functions: Array, numbers: Array, size: int) -> Array:
    """(k, b, 1 + t, n) sums of (k, 1 + t, p) functions times (k or 1, p, n) numbers over blocks of pairs."""
    n_blocks, used = functions.shape[2] // size, functions.shape[2] // size * size
    split = functions[:, :, :used].reshape(*functions.shape[:2], n_blocks, size).swapaxes(1, 2)
    sums = split @ numbers[:, :used].reshape(len(numbers), n_blocks, size, numbers.shape[2])
    last = functions[:, :, used:] @ numbers[:, used:]
    return np.concatenate([sums, last[:, None]], axis=1) if used < functions.shape[2] else sums
