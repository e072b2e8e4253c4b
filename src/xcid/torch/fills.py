"""Fills: ``fill(image (c, h, w), background (N, c, h, w)) -> (b, c, h, w)`` what a segment may be replaced with.

Several fills of an image are like several background rows: each perturbation takes one of them, in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import ndimage

from xcid._check import as_float, as_int
from xcid._kernels.thinning import thinned
from xcid.errors import InvalidParameter
from xcid.records import Array

Fill: TypeAlias = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Background:
    """Segments of other images, at the same place: what is there instead, and the recommended fill.

    At most ``most`` images are used, evenly spread over the background.
    """

    most: int = 256

    def __post_init__(self) -> None:
        as_int(self.most, "most (images)", at_least=1)

    def __call__(self, image: Array, background: Array) -> Array:
        return background[thinned(len(background), self.most)]


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of the background, pixel by pixel, or unit by unit."""

    def __call__(self, image: Array, background: Array) -> Array:
        return background.mean(axis=0, keepdims=True)


@dataclass(frozen=True, slots=True)
class Zero:
    """Nothing: black pixels, or silent units."""

    def __call__(self, image: Array, background: Array) -> Array:
        return np.zeros((1, *image.shape))


@dataclass(frozen=True, slots=True)
class Blur:
    """The image itself, blurred: colours stay, details go.

    ``share`` is the standard deviation of the Gaussian, as a share of the shorter side.
    """

    share: float = 0.125

    def __post_init__(self) -> None:
        if not 0 < as_float(self.share, "share") <= 1:
            raise InvalidParameter(f"share must lie in (0, 1], not {self.share}")

    def __call__(self, image: Array, background: Array) -> Array:
        sigma = self.share * min(image.shape[-2:])
        return np.asarray([ndimage.gaussian_filter(image, (0, sigma, sigma), mode="nearest")])


@dataclass(frozen=True, slots=True)
class Noise:
    """Independent pixels with the mean and the spread of each of the background's channels.

    There are ``draws`` such fills of an image.
    """

    draws: int = 64

    def __post_init__(self) -> None:
        as_int(self.draws, "draws", at_least=1)

    def __call__(self, image: Array, background: Array) -> Array:
        random = np.random.default_rng(0).standard_normal((self.draws, *image.shape))
        mean, spread = (part(background, axis=(0, 2, 3))[:, None, None] for part in (np.mean, np.std))
        return np.clip(mean + spread * random, background.min(), background.max())


def checked(fill: Fill, image: Array, background: Array) -> Array:
    """(b, c, h, w) fills of an image, from whatever makes them."""
    found = np.asarray(fill(image, background), dtype=np.float64)
    if found.ndim != image.ndim + 1 or found.shape[1:] != image.shape or not len(found):
        raise InvalidParameter(
            f"the fill has the shape {found.shape}: it must be (b, {', '.join(map(str, image.shape))})"
        )
    if not np.isfinite(found).all():
        raise InvalidParameter("the fill has pixels that are not finite")
    return found
