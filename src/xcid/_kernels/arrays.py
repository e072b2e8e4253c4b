"""NumPy's arrays and torch's tensors behind the same names, for hot loops on either.

Blocks, samples and ties of rows; Student's distribution for any degrees of freedom.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from xcid.records import Array, Flags, Integers

MOST_AT_ONCE = 4_096  # rows of a product of a matrix with itself: OpenBLAS ends the process at some 16,000 of them
DEGREE = 20  # of the polynomial in 1 / freedom: good to 1e-11
STEPS = 400  # of the continued fraction, at most: a million degrees of freedom take some 300
LOOK = 8  # steps after which it is seen whether it goes on
TINY = 1e-300


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
