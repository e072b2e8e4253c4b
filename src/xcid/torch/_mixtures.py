"""Images whose segments are kept or filled."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from xcid._check import require_callable
from xcid._faults import Failed
from xcid._require import require
from xcid.errors import InvalidData
from xcid.records import Array, Explanation, Integers
from xcid.torch._masks import Counting, distinct, explainer_of, question
from xcid.torch._network import Network, Tensor
from xcid.torch._rows import RowExplainer
from xcid.torch.fills import Background, Fill
from xcid.torch.fills import checked as filled_by
from xcid.torch.segments import Patches, Segments
from xcid.torch.segments import checked as cut


class Mixtures:
    """Perturbs images by their segments, and explains them.

    Parameters
    ----------
    network : Network
        Whose answers are settled.
    background : tensor (N, c, h, w)
    segments, fill :
        As for :class:`xcid.torch.ImageExplainer`.
    settings : dict
        Of :class:`xcid.Explainer`, and ``n``.
    """

    def __init__(
        self,
        network: Network,
        background: Tensor,
        segments: Segments | None,
        fill: Fill | None,
        settings: dict[str, Any],
    ) -> None:
        self.segments: Segments = Patches() if segments is None else segments
        self.fill: Fill = Background() if fill is None else fill
        require_callable(self.segments, "segments", "xcid.torch.Patches(4)")
        require_callable(self.fill, "fill", "xcid.torch.Blur()")
        if background.ndim != 4:
            raise InvalidData(f"images have the shape (n, c, h, w), not {tuple(background.shape)}")
        self.network, self.background, self.known = network, background, array(background)
        self.settings = {**settings, "outcome": question(settings.get("outcome"), network(background))}
        self.n = self.settings.pop("n", None)
        self._explainers: dict[tuple[int, int], RowExplainer] = {}

    def labels(self, image: Tensor) -> Integers:
        """(h, w) the segment of each pixel of a (c, h, w) image."""
        return cut(self.segments, array(image))

    def __call__(self, image: Tensor, seed: int) -> tuple[Explanation | Failed, Callable[[Integers], Tensor]]:
        """Explain one (c, h, w) image; beside it, how to make the images that its samples stand for."""
        plain, labels = array(image), self.labels(image)
        filled = filled_by(self.fill, plain, self.known)
        mix = mixer(plain, filled, labels, self.background.dtype)
        counting, n_segments = Counting(self._ask(mix)), int(labels.max()) + 1
        piece = self._explainer(n_segments, len(filled)).explained(np.zeros((1, n_segments)), distinct(counting), seed)
        if isinstance(piece, Failed):
            return piece, mix
        return replace(piece, n_evaluations=np.array([counting.asked])), mix

    def _explainer(self, n_segments: int, n_fills: int) -> RowExplainer:
        """The Explainer for so many segments; what answers look like it learns from the background."""
        key = n_segments, n_fills
        if key not in self._explainers:
            first = self.known[0]
            everything = np.zeros(first.shape[-2:], dtype=np.int64)
            mix = mixer(first, filled_by(self.fill, first, self.known), everything, self.background.dtype)
            names = [f"segment {at}" for at in range(n_segments)]
            self._explainers[key] = explainer_of(self._ask(mix), names, n_fills, self.n, self.settings)
        return self._explainers[key]

    def _ask(self, mix: Callable[[Integers], Tensor]) -> Callable[[Integers], Array]:
        """The network as a function of where segments come from."""
        size = self.network.at_once
        return lambda sources: np.concatenate(
            [self.network(mix(sources[start : start + size])) for start in range(0, len(sources), size)]
        )


def mixer(image: Array, filled: Array, labels: Integers, dtype: Any) -> Callable[[Integers], Tensor]:
    """From (s, f) sources of an image's segments (0 is the image, b its b-th fill) to (s, c, h, w) mixed images."""
    torch = require("torch", extra="torch")
    stack = torch.as_tensor(np.concatenate([image[None], filled])).to(dtype)
    places, (height, width) = torch.as_tensor(labels), labels.shape
    rows, columns = torch.arange(height)[:, None], torch.arange(width)
    return lambda sources: stack[torch.as_tensor(sources)[:, places], :, rows, columns].movedim(-1, 1)


def array(tensor: Tensor) -> Array:
    """A tensor in NumPy's double precision."""
    found: Array = tensor.double().cpu().numpy()
    return found
