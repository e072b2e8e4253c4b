"""Kernel functions K(u) with unit mass, their integrals, and where they are not smooth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xcid.records import Array


@dataclass(frozen=True, slots=True, eq=False)
class Shape:
    """A kernel: density, distribution function, reach (beyond it there is no mass that matters), kinks."""

    name: str
    pdf: Callable[[Array], Array]
    cdf: Callable[[Array], Array]
    reach: float
    kinks: tuple[float, ...]


def _gaussian_pdf(u: Array) -> Array:
    result: Array = np.exp(-0.5 * u * u) / np.sqrt(2 * np.pi)
    return result


def _gaussian_cdf(u: Array) -> Array:
    from scipy.special import ndtr  # imported late: it costs half the start-up time and the default path does without

    result: Array = ndtr(u)
    return result


def _epanechnikov_pdf(u: Array) -> Array:
    return np.maximum(0.75 * (1 - u * u), 0)


def _epanechnikov_cdf(u: Array) -> Array:
    u = np.clip(u, -1, 1)
    return 0.25 * (2 + 3 * u - u**3)


def _exponential_pdf(u: Array) -> Array:
    result: Array = 0.5 * np.exp(-np.abs(u))
    return result


def _exponential_cdf(u: Array) -> Array:
    tail = 0.5 * np.exp(-np.abs(u))
    return np.where(u < 0, tail, 1 - tail)


def _tophat_pdf(u: Array) -> Array:
    return np.where(np.abs(u) < 1, 0.5, 0.0)


def _tophat_cdf(u: Array) -> Array:
    return 0.5 * (np.clip(u, -1, 1) + 1)


def _triangular_pdf(u: Array) -> Array:
    return np.maximum(1 - np.abs(u), 0)


def _triangular_cdf(u: Array) -> Array:
    u = np.clip(u, -1, 1)
    return 0.5 + u - 0.5 * u * np.abs(u)


def _cosine_pdf(u: Array) -> Array:
    return np.where(np.abs(u) < 1, np.pi / 4 * np.cos(np.pi / 2 * u), 0.0)


def _cosine_cdf(u: Array) -> Array:
    result: Array = 0.5 * (1 + np.sin(np.pi / 2 * np.clip(u, -1, 1)))
    return result


SHAPES = {
    shape.name: shape
    for shape in (
        Shape("gaussian", _gaussian_pdf, _gaussian_cdf, 6.0, ()),
        Shape("epanechnikov", _epanechnikov_pdf, _epanechnikov_cdf, 1.0, (-1.0, 1.0)),
        Shape("exponential", _exponential_pdf, _exponential_cdf, 16.0, (0.0,)),
        Shape("tophat", _tophat_pdf, _tophat_cdf, 1.0, (-1.0, 1.0)),
        Shape("triangular", _triangular_pdf, _triangular_cdf, 1.0, (-1.0, 0.0, 1.0)),
        Shape("cosine", _cosine_pdf, _cosine_cdf, 1.0, (-1.0, 1.0)),
    )
}
