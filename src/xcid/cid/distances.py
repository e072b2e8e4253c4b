"""The overlap o(p, q) = ∫min(p, q) / ∫max(p, q) of the paper, its d_k = k - o, and what is compared with it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from xcid._check import as_float
from xcid._kernels.arrays import namespace
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array


class Distance(Protocol):
    """Anything that compares densities on common points; a plain function qualifies."""

    def __call__(self, p: Array, q: Array, weights: Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class Overlap:
    """d_k as an object, with k chosen at construction; d_1 is a metric."""

    k: float = 1.0

    def __post_init__(self) -> None:
        _check_k(self.k)

    def __call__(self, p: Array, q: Array, weights: Array) -> Array:
        """Compare (..., g) densities with (..., g) quadrature weights."""
        return self.k - _overlap(p, q, weights)

    def of_variation(self, variation: Array) -> Array:
        """The same of densities with mass 1 and a given total variation T: their overlap is (1 - T) / (1 + T)."""
        return self.k - (1 - variation) / (1 + variation)


def overlap(p: npt.ArrayLike, q: npt.ArrayLike, weights: npt.ArrayLike) -> Array:
    """Compute the overlap of two densities.

    Parameters
    ----------
    p, q : (..., g)
        Densities on common points; they need not have mass 1.
    weights : (..., g) or (g,)
        Quadrature weights: widths of cells, or 1 for atoms.

    Returns
    -------
    (...,)
        In [0, 1]; 1 where both are 0 everywhere.

    Examples
    --------
    The worked example of the paper, with one cell for [0, 2] and one for (2, 5]:

    >>> float(overlap([1 / 2, 0], [19 / 40, 1 / 60], [2, 3]).round(6))
    0.904762
    """
    return _overlap(*_checked(p, q, weights))


def d_k(p: npt.ArrayLike, q: npt.ArrayLike, weights: npt.ArrayLike, k: float = 1.0) -> Array:
    """Compute the dissimilarity d_k = k - overlap, for k >= 1.

    Examples
    --------
    >>> float(d_k([1 / 2, 0], [19 / 40, 1 / 60], [2, 3]).round(6)), round(2 / 21, 6)
    (0.095238, 0.095238)
    """
    _check_k(k)
    return k - overlap(p, q, weights)


def total_variation(p: Array, q: Array, weights: Array) -> Array:
    """Half the integral of ``|p - q|``; for unit masses d_1 = 2T / (1 + T), so that both rank alike."""
    result: Array = 0.5 * np.einsum("...g,...g->...", np.abs(p - q), weights)
    return result


def hellinger(p: Array, q: Array, weights: Array) -> Array:
    """Root of half the integral of (sqrt p - sqrt q)**2."""
    gap = np.sqrt(p) - np.sqrt(q)
    result: Array = np.sqrt(0.5 * np.einsum("...g,...g,...g->...", gap, gap, weights))
    return result


def _overlap(p: Array, q: Array, weights: Array) -> Array:
    xp = namespace(p)
    smaller = xp.einsum("...g,...g->...", xp.minimum(p, q), weights)
    larger = xp.einsum("...g,...g->...", xp.maximum(p, q), weights)
    there = larger > 0
    share: Array = xp.where(there, smaller / xp.where(there, larger, 1.0), 1.0).clip(max=1.0)
    return share


def _check_k(k: float) -> None:
    if not (np.isfinite(as_float(k, "k")) and k >= 1):
        raise InvalidParameter(f"k must be a finite number of at least 1, not {k}")


def _checked(p: npt.ArrayLike, q: npt.ArrayLike, weights: npt.ArrayLike) -> tuple[Array, Array, Array]:
    arrays = {}
    for name, value in (("p", p), ("q", q), ("weights", weights)):
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidData(f"{name} must be an array of numbers: {error}") from error
        if array.ndim == 0:
            raise InvalidData(f"{name} must have at least one axis, the points; it is a single number")
        if not np.all(np.isfinite(array)) or np.any(array < 0):
            bad = np.argwhere(~np.isfinite(array) | (array < 0))[0].tolist()
            raise InvalidData(f"{name} must be finite and not negative; {name}{bad} is {array[tuple(bad)]}")
        arrays[name] = array
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise InvalidData(f"the shapes do not fit together: {shapes}") from error
    return arrays["p"], arrays["q"], arrays["weights"]


def variability(positive: npt.ArrayLike, negative: npt.ArrayLike) -> Array:
    """Compute (1/m) Σ (x+ - x-)², the mean squared difference of paired counterfactuals, for each feature.

    It knows nothing of the distribution, depends on how the sets are ordered, and has the squared unit of the feature.

    Parameters
    ----------
    positive, negative : (m, d) or (m,)
        As many counterfactuals of C+ as of C-, in any order that is fixed.

    Returns
    -------
    (d,) or ()

    Examples
    --------
    >>> variability([[1.0, 0.0], [2.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]).tolist()
    [2.5, 0.5]
    """
    try:
        first, second = (np.asarray(part, dtype=np.float64) for part in (positive, negative))
    except (TypeError, ValueError) as error:
        raise InvalidData(f"counterfactuals must be numbers: {error}") from error
    if first.shape != second.shape or first.ndim not in (1, 2) or not len(first):
        raise InvalidData(f"give as many positives as negatives, (m, d) each, not {first.shape} and {second.shape}")
    return np.asarray(np.mean((first - second) ** 2, axis=0))
