"""Images whose segments are kept or filled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from xcid._check import require_callable
from xcid._faults import Failed
from xcid._require import require
from xcid.errors import InvalidData
from xcid.records import Array, Explanation, Integers
from xcid.torch import fills, segments
from xcid.torch._memory import in_blocks
from xcid.torch._network import Network, Tensor, as_array
from xcid.torch._parts import Distinct, explained, explainer_of, question
from xcid.torch._rows import RowExplainer

Mix = Callable[[Integers], Tensor]


class Mixtures:
    """Perturbs images by their segments, and explains them; the arguments are those of an ImageExplainer."""

    def __init__(
        self,
        network: Network,
        background: Tensor,
        cut: segments.Segments,
        fill: fills.Fill,
        settings: dict[str, Any],
    ) -> None:
        require_callable(cut, "segments", "xcid.torch.Patches(4)")
        require_callable(fill, "fill", "xcid.torch.Blur()")
        if background.ndim != 4:
            raise InvalidData(f"images have the shape (n, c, h, w), not {tuple(background.shape)}")
        self.network, self.cut, self.fill = network, cut, fill
        self.background, self.known = background, as_array(background)
        self.settings = {**settings, "outcome": question(settings["outcome"], network(background))}
        self._explainers: dict[tuple[int, int], RowExplainer] = {}

    def labels(self, image: Tensor) -> Integers:
        """(h, w) the segment of each pixel of a (c, h, w) image."""
        return segments.checked(self.cut, as_array(image))

    def __call__(self, image: Tensor, seed: int) -> tuple[Explanation | Failed, Mix]:
        """Explain one (c, h, w) image; beside it, how to make the images that its samples stand for."""
        labels = self.labels(image)
        mix, n_fills = self._mixer(as_array(image), labels)
        explainer = self._explainer(int(labels.max()) + 1, n_fills)
        return explained(explainer, self._ask(mix), seed), mix

    def _explainer(self, n_segments: int, n_fills: int) -> RowExplainer:
        """The Explainer for so many segments; what answers look like it learns from the background."""
        key = n_segments, n_fills
        if key not in self._explainers:
            first = self.known[0]
            mix, _ = self._mixer(first, np.zeros(first.shape[-2:], dtype=np.int64))
            names = [f"segment {at}" for at in range(n_segments)]
            self._explainers[key] = explainer_of(self._ask(mix), names, n_fills, self.settings)
        return self._explainers[key]

    def _ask(self, mix: Mix) -> Distinct:
        """The network as a function of where segments come from."""
        return Distinct(lambda sources: in_blocks(lambda part: self.network(mix(part)), sources, self.network.at_once))

    def _mixer(self, image: Array, labels: Integers) -> tuple[Mix, int]:
        """From (s, f) sources of an image's segments (0 is the image, b its b-th fill) to (s, c, h, w) mixed images.

        Beside it, how many fills there are.
        """
        torch = require("torch", extra="torch")
        filled = fills.checked(self.fill, image, self.known)
        stack = torch.as_tensor(np.concatenate([image[None], filled])).to(self.background.dtype)
        places, (height, width) = torch.as_tensor(labels), labels.shape
        rows, columns = torch.arange(height)[:, None], torch.arange(width)

        def mix(sources: Integers) -> Tensor:
            return stack[torch.as_tensor(sources)[:, places], :, rows, columns].movedim(-1, 1)

        return mix, len(filled)
