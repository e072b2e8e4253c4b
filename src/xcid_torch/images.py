"""Explanations of images: which segments hold the decision in place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np

from xcid._check import as_int, require_callable
from xcid._faults import Piece
from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter
from xcid.explanation import Explanation
from xcid.outcomes import Outcome
from xcid.records import Array, Integers
from xcid.setup import Setup
from xcid_torch._network import AT_ONCE, Answer, Network, Tensor, as_array, as_tensor, in_blocks, like
from xcid_torch._rows import Distinct, by_parts, explained_parts, gathered, parts_setup, question
from xcid_torch.segments import Background, Fill, Patches, Segments, fills_of, labels_of

Mix: TypeAlias = Callable[[Integers], Tensor]


class ImageExplainer:
    """Explains what a network sees in an image by its segments.

    Segments are kept or filled by balanced masks, and the score of a segment says how far keeping it holds the decision
    in place, adjusted for the others, with limits and a p-value as ever.

    Parameters
    ----------
    model : torch.nn.Module
        From (n, c, h, w) to answers; several columns that are no probabilities are taken as logits.
    background : array or tensor (N, c, h, w)
        Other images, as the model takes them: what is usual, and what segments are filled from.
    segments : Segments
        ``Patches(size)``, ``Superpixels(n)``, or a function from an image to (h, w) labels.
    fill : Fill
        ``Background()`` (the default), ``Blur()``, ``Mean()``, ``Noise()``, or a function.
    n : int, optional
        Perturbations of an image; by default 1,000, and 3,000 for more than 20 segments.
    outcome, answer, at_once, **settings
        As for :class:`LayerExplainer`.
    """

    def __init__(
        self,
        model: Any,
        background: Any,
        *,
        segments: Segments | None = None,
        fill: Fill | None = None,
        at_once: int = AT_ONCE,
        n: int | None = None,
        outcome: Outcome | None = None,
        answer: Answer | None = None,
        **settings: Any,
    ) -> None:
        self.segments = Patches() if segments is None else segments
        self.fill = Background() if fill is None else fill
        require_callable(self.segments, "segments", "xcid_torch.Patches(4)")
        require_callable(self.fill, "fill", "xcid_torch.Blur()")
        network, self.background = Network.of(model, answer, at_once), as_tensor(background, "the background")
        if self.background.ndim != 4:
            raise InvalidData(f"images have the shape (n, c, h, w), not {tuple(self.background.shape)}")
        self.network, self.known = network.settled(self.background), as_array(self.background)
        self.settings = {**settings, "outcome": question(outcome, self.network(self.background)), "n": n}
        self._setups: dict[tuple[int, int], Setup] = {}

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        """Explain (n, c, h, w) images, or a single one; features are segments by their numbers.

        Images with fewer segments than others get further ones that are constant and score 0.
        """
        seed, images = as_int(seed, "seed"), like(X, self.background)

        def explained(some: Tensor) -> list[Piece]:
            return [by_parts(self.explained(image, seed)[0]) for image in some]

        return gathered(explained(images), self.settings, lambda: explained(self.background[:1]))

    def labels(self, image: Any) -> Integers:
        """(h, w) the segment of each pixel of one image."""
        return labels_of(self.segments, as_array(like(image, self.background)[0]))

    def map(self, explanation: Explanation, image: Any, row: int = 0) -> Array:
        """(h, w) the score of each pixel's segment, for one of the explained images."""
        labels, values = self.labels(image), explanation[row].values[0]
        if labels.max() >= len(values):
            raise InvalidParameter(
                f"the image has {labels.max() + 1} segments and the explanation {len(values)}: "
                f"give the image of row {row}"
            )
        return values[labels]

    def explained(self, image: Tensor, seed: int) -> tuple[Piece, Mix]:
        """Explain the sources of one (c, h, w) image's segments; beside it, how to make the images of its samples."""
        plain = as_array(image)
        labels = labels_of(self.segments, plain)
        mix, n_fills = self._mixer(plain, labels)
        setup = self._setup(int(labels.max()) + 1, n_fills)
        return explained_parts(setup, self._ask(mix), seed), mix

    def _setup(self, n_segments: int, n_fills: int) -> Setup:
        """What is set up once for so many segments; what answers look like it learns from the background."""
        key = n_segments, n_fills
        if key not in self._setups:
            first = self.known[0]
            mix, _ = self._mixer(first, np.zeros(first.shape[-2:], dtype=np.int64))
            names = [f"segment {at}" for at in range(n_segments)]
            self._setups[key] = parts_setup(self._ask(mix), names, n_fills, self.settings)
        return self._setups[key]

    def _ask(self, mix: Mix) -> Distinct:
        """The network as a function of where segments come from."""
        return Distinct(lambda sources: in_blocks(lambda part: self.network(mix(part)), sources, self.network.at_once))

    def _mixer(self, image: Array, labels: Integers) -> tuple[Mix, int]:
        """How to mix an image with its fills, and how many fills there are.

        From (s, f) sources of its segments (0 is the image, b its b-th fill) come (s, c, h, w) images.
        """
        torch = require("torch", extra="torch")
        filled = fills_of(self.fill, image, self.known)
        stack = torch.as_tensor(np.concatenate([image[None], filled])).to(self.background.dtype)
        places, (height, width) = torch.as_tensor(labels), labels.shape
        rows, columns = torch.arange(height)[:, None], torch.arange(width)

        def mix(sources: Integers) -> Tensor:
            return stack[torch.as_tensor(sources)[:, places], :, rows, columns].movedim(-1, 1)

        return mix, len(filled)
