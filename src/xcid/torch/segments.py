"""Segments: ``segments(image (c, h, w)) -> (h, w)`` numbers of the part that each pixel belongs to."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from xcid._check import as_float, as_int
from xcid._require import require
from xcid.errors import InvalidParameter
from xcid.records import Array, Integers

Segments: TypeAlias = Callable[[Array], Integers]


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


def checked(segments: Segments, image: Array) -> Integers:
    """(h, w) labels 0, 1, ... of an image, from whatever cuts it."""
    labels = np.asarray(segments(image))
    if labels.shape != image.shape[-2:] or labels.dtype.kind not in "iu":
        raise InvalidParameter(
            f"the segments are {labels.dtype} of shape {labels.shape}: give an integer for each of the "
            f"{image.shape[-2]} x {image.shape[-1]} pixels"
        )
    numbered: Integers = np.unique(labels, return_inverse=True)[1].reshape(labels.shape)
    if numbered.max() == 0:
        raise InvalidParameter("the image is one segment: there is nothing to compare; cut it smaller")
    return numbered
