"""Segments of an image, and what fills them.

``segments(image (c, h, w)) -> (h, w)`` numbers the part that each pixel belongs to, and ``fill(image (c, h, w),
background (N, c, h, w)) -> (b, c, h, w)`` makes what a part may be replaced with. Several fills of an image are like
several background rows: each perturbation takes one of them, in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from scipy import ndimage

from xcid._check import as_float, as_int
from xcid._kernels.arrays import thinned
from xcid._require import require
from xcid.errors import InvalidParameter
from xcid.records import Array, Integers

Segments: TypeAlias = Callable[[Array], Integers]
Fill: TypeAlias = Callable[[Array, Array], Array]


@dataclass(frozen=True, slots=True)
class Patches:
    """Squares of a grid; those at the lower and right edge are smaller where the size does not divide the image.

    ``size`` is the side of a square in pixels.

    Examples
    --------
    >>> Patches(2)(np.zeros((1, 2, 5))).tolist()
    [[0, 0, 1, 1, 2], [0, 0, 1, 1, 2]]
    """

    size: int = 4

    def __post_init__(self) -> None:
        as_int(self.size, "size (pixels)", at_least=1)

    def __call__(self, image: Array) -> Integers:
        height, width = image.shape[-2:]
        across = -(-width // self.size)
        rows, columns = np.arange(height) // self.size, np.arange(width) // self.size
        return rows[:, None] * across + columns


@dataclass(frozen=True, slots=True)
class Superpixels:
    """About ``n`` regions of like colour, by scikit-image's SLIC; each image has its own. The extra is ``image``.

    ``compactness`` says how square they are: more weight for nearness, less for colour.
    """

    n: int = 50
    compactness: float = 10.0

    def __post_init__(self) -> None:
        as_int(self.n, "n (superpixels)", at_least=2)
        if not as_float(self.compactness, "compactness") > 0:
            raise InvalidParameter(f"compactness must be above 0, not {self.compactness}")

    def __call__(self, image: Array) -> Integers:
        slic = require("skimage.segmentation", extra="image").slic
        low, high = image.min(), image.max()
        scaled = (image - low) / (high - low if high > low else 1.0)
        colour_range = 100.0 if len(image) == 3 else 1.0  # three channels are taken as colours and brought to Lab
        found = slic(
            np.moveaxis(scaled, 0, -1),
            n_segments=self.n,
            compactness=self.compactness * colour_range / 100,
            start_label=0,
            channel_axis=-1,
        )
        return np.unique(found, return_inverse=True)[1].reshape(found.shape)


def labels_of(segments: Segments, image: Array) -> Integers:
    """(h, w) labels 0, 1, ... of an image, from whatever cuts it."""
    labels = np.asarray(segments(image))
    if labels.shape != image.shape[-2:] or labels.dtype.kind not in "iu":
        raise InvalidParameter(
            f"the segments are {labels.dtype} of shape {labels.shape}: give an integer for each of the "
            f"{image.shape[-2]} x {image.shape[-1]} pixels"
        )
    numbered = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
    if numbered.max() == 0:
        raise InvalidParameter("the image is one segment: there is nothing to compare; cut it smaller")
    return numbered


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


def fills_of(fill: Fill, image: Array, background: Array) -> Array:
    """(b, c, h, w) fills of an image, from whatever makes them."""
    found = np.asarray(fill(image, background), dtype=np.float64)
    if found.ndim != image.ndim + 1 or found.shape[1:] != image.shape or not len(found):
        raise InvalidParameter(
            f"the fill has the shape {found.shape}: it must be (b, {', '.join(map(str, image.shape))})"
        )
    if not np.isfinite(found).all():
        raise InvalidParameter("the fill has pixels that are not finite")
    return found
