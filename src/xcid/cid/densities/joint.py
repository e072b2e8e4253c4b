"""The joint density of several columns, of whatever kinds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special

from xcid._check import as_float, as_int
from xcid._kernels.arrays import number_distinct, sum_weights
from xcid.errors import InvalidParameter
from xcid.records import Array, DensityPair, Flags, Integers

MOST_PAIRS = 2**21  # distances between points and samples held at a time


@dataclass(frozen=True, slots=True)
class Joint:
    """Two densities of several columns at once, by a product kernel.

    In a column of levels, at a missing cell and at a value that piles up (as in :class:`Mixed`) the kernel is equality;
    elsewhere it is Gaussian with Silverman's bandwidth for as many dimensions as are smooth, pooled over both sets.

    There is no grid in many dimensions. The points are drawn from the estimate itself: each sample, moved by its
    kernel along a low-discrepancy sequence, weighs its mass divided by p + q there. So weighted sums over the points
    are integrals, of columns of levels exact ones. A point is labelled by p / (p + q), the share of C+ at its place:
    the distribution of that share has the d1 of the joint distribution itself.

    Parameters
    ----------
    draws : int
        Points in all, at least; every sample gets the same number of them.
    share, repeats
        When a value piles up; see :class:`Mixed`.

    Examples
    --------
    >>> import numpy as np
    >>> corners = np.array([[0.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0]])  # each column alone tells nothing
    >>> same = np.array([1.0, 1.0, 0.0, 0.0])
    >>> pair = Joint()(corners, same, 1 - same, np.array([True, True]))
    >>> float(np.sum(pair.weights * np.minimum(pair.p, pair.q)))
    0.0
    """

    draws: int = 2_048
    share: float = 0.05
    repeats: int = 5

    def __post_init__(self) -> None:
        as_int(self.draws, "draws", at_least=1)
        as_int(self.repeats, "repeats", at_least=2)
        if not 0 < as_float(self.share, "share") <= 1:
            raise InvalidParameter(f"the share of an atom must lie in (0, 1], not {self.share}")

    def __call__(self, values: Array, positive: Array, negative: Array, discrete: Flags) -> DensityPair:
        """Estimate the densities of (s, k) samples with (s,) weights; ``discrete`` (k,) columns are made of levels."""
        used = (positive > 0) | (negative > 0)
        values, masses = values[used], np.stack([_unit(positive[used]), _unit(negative[used])], axis=1)
        code, scaled = self._coordinates(values, masses, discrete)
        is_smooth = np.any(code < 0)
        repeats = -(-self.draws // max(len(values), 1)) if is_smooth else 1
        at = np.repeat(np.arange(len(values)), repeats)
        points = scaled[at] + special.ndtri(sequence(len(at), scaled.shape[1])) * (code[at] < 0)
        p, q = _densities(points, code[at], scaled, code, masses).T
        total = p + q
        return DensityPair(p / total, p, q, masses.sum(axis=1)[at] / repeats / total, np.ones(len(at), dtype=bool))

    def _coordinates(self, values: Array, masses: Array, discrete: Flags) -> tuple[Integers, Array]:
        """(s, k) codes of exact values, -1 for smooth ones, and (s, k) smooth values in units of their bandwidth."""
        filled = np.where(np.isnan(values), np.inf, values).T
        code, _ = number_distinct(filled, np.ones(filled.shape, dtype=bool))
        mass = np.broadcast_to(masses.mean(axis=1), code.shape)
        n_points = int(code.max(initial=0)) + 1
        piles = sum_weights(code, mass, n_points) >= self.share
        piles &= sum_weights(code, np.ones(code.shape), n_points) >= self.repeats
        exact = np.take_along_axis(piles, code, axis=1) | discrete[:, None] | np.isinf(filled)
        spread = np.array(
            [np.std(one[~fixed]) if (~fixed).any() else 0.0 for one, fixed in zip(filled, exact, strict=True)]
        )
        exact |= spread[:, None] == 0
        n_smooth = max(int(np.sum(~exact.all(axis=1))), 1)
        n_samples = 1 / np.maximum(np.sum(mass[0] ** 2), np.finfo(np.float64).tiny)  # effective, by Kish
        bandwidth = spread * (4 / (n_smooth + 2) / n_samples) ** (1 / (n_smooth + 4))
        scaled = np.where(exact, 0.0, np.where(exact, 0.0, filled) / np.where(spread == 0, 1.0, bandwidth)[:, None])
        return np.where(exact, code, -1).T, scaled.T


def _unit(weights: Array) -> Array:
    total = weights.sum()
    return weights / total if total > 0 else weights


def sequence(n: int, k: int) -> Array:
    """(n, k) numbers in (0, 1): a Kronecker sequence of the roots of x**(k+1) = x + 1 (Roberts' R-sequence)."""
    root = 2.0
    for _ in range(64):
        root = (1 + root) ** (1 / (k + 1))
    steps = (1 / root) ** np.arange(1, k + 1)
    return (np.arange(1, n + 1)[:, None] * steps + 0.5) % 1 * (1 - 1e-12) + 5e-13


def _densities(points: Array, point_code: Integers, samples: Array, code: Integers, masses: Array) -> Array:
    """(g, 2) densities of both sets at the points, up to a factor that is common to a point's two."""
    result = np.empty((len(points), 2))
    block = max(1, MOST_PAIRS // max(len(samples), 1))
    for start in range(0, len(points), block):
        part = slice(start, start + block)
        exponent = np.zeros((len(points[part]), len(samples)))
        for column in range(samples.shape[1]):
            exponent -= 0.5 * (points[part, column, None] - samples[:, column]) ** 2
            exponent[point_code[part, column, None] != code[:, column]] = -np.inf
        result[part] = np.exp(exponent) @ masses
    return result
