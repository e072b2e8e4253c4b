"""OpenXAI: an explainer with ``get_explanations(inputs, label)``."""

from __future__ import annotations

from typing import Any

from xcid.adapters._targets import Targets


class OpenXAI:
    """Explains inputs of a ``torch.nn.Module`` as OpenXAI's own explainers do; ``data`` (N, d) is the training data.

    Its rows may have ``weights`` (N,).
    """

    def __init__(self, model: Any, data: Any, *, seed: int = 0, weights: Any = None) -> None:
        self.explain, self.seed = Targets(model, data, weights), seed

    def get_explanations(self, inputs: Any, label: Any = None) -> Any:
        """Scores of the inputs' shape, for the labels or the predicted classes; tensors for tensors."""
        scores = self.explain(inputs, label, seed=self.seed)
        return inputs.new_tensor(scores) if hasattr(inputs, "new_tensor") else scores
