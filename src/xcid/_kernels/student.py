"""Student's distribution for any degrees of freedom, on arrays of NumPy or tensors of torch."""

from __future__ import annotations

import functools

import numpy as np
from scipy import special

from xcid._kernels.arrays import namespace
from xcid.records import Array

DEGREE = 20  # of the polynomial in 1 / freedom: good to 1e-11
STEPS = 400  # of the continued fraction, at most: a million degrees of freedom take some 300
LOOK = 8  # steps after which it is seen whether it goes on
TINY = 1e-300


def quantile(freedom: Array, share: float) -> Array:
    """Below which a share of the distribution lies, for 1 degree of freedom and more.

    Examples
    --------
    >>> quantile(np.array([1.0, 30.0]), 0.975).round(4).tolist()
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
    part = np.polynomial.chebyshev.chebpts1(DEGREE + 1)
    found = np.polynomial.chebyshev.chebfit(part, special.stdtrit(2 / (part + 1), share), DEGREE)
    return [float(one) for one in found]


def both_tails(freedom: Array, size: Array) -> Array:
    """The share of the distribution that is at least so large, on either side."""
    if isinstance(size, np.ndarray):
        return 2 * special.stdtr(freedom, -size)
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
