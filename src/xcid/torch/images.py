"""Explanations of images: which segments hold the decision in place."""

from __future__ import annotations

from typing import Any

from xcid._check import as_int
from xcid.errors import InvalidParameter
from xcid.outcomes import Outcome
from xcid.records import Array, Explanation, Integers
from xcid.torch._mixtures import Mixtures
from xcid.torch._network import AT_ONCE, Answer, Network, as_tensor, like
from xcid.torch._parts import by_parts
from xcid.torch._rows import gathered
from xcid.torch.fills import Background, Fill
from xcid.torch.segments import Patches, Segments


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
        network, known = Network.of(model, answer, at_once), as_tensor(background, "the background")
        cut, fill = Patches() if segments is None else segments, Background() if fill is None else fill
        settings = {**settings, "outcome": outcome, "n": n}
        self.mixtures = Mixtures(network.settled(known), known, cut, fill, settings)

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        """Explain (n, c, h, w) images, or a single one; features are segments by their numbers.

        Images with fewer segments than others get further ones that are constant and score 0.
        """
        seed, images = as_int(seed, "seed"), like(X, self.mixtures.background)
        return gathered([by_parts(self.mixtures(image, seed)[0]) for image in images], self.mixtures.settings)

    def labels(self, image: Any) -> Integers:
        """(h, w) the segment of each pixel of one image."""
        return self.mixtures.labels(like(image, self.mixtures.background)[0])

    def map(self, explanation: Explanation, image: Any, row: int = 0) -> Array:
        """(h, w) the score of each pixel's segment, for one of the explained images."""
        labels, values = self.labels(image), explanation[row].values[0]
        if labels.max() >= len(values):
            raise InvalidParameter(
                f"the image has {labels.max() + 1} segments and the explanation {len(values)}: "
                f"give the image of row {row}"
            )
        return values[labels]
