"""Scores for the class that is named for each row, of a model that takes inputs of any shape."""

from __future__ import annotations

import math
import re
import warnings
from typing import Any

import numpy as np

from xcid._require import require
from xcid.errors import InvalidData
from xcid.explainer import Explainer
from xcid.models.libraries import is_instance
from xcid.models.tables import LOGITS, NUMBER
from xcid.outcomes import Outcome, ToClass
from xcid.outcomes.classes import are_probabilities
from xcid.records import Array


class Targets:
    """Explains what supports a class: above 0 where the present value does, in whatever class the row is.

    The model is that of an Explainer; raw answers of a torch module become probabilities (by softmax, one column by the
    logistic function). The background (N, ...) shows what inputs are usual; it may have (N,) weights.
    """

    def __init__(self, model: Any, background: Any, weights: Any = None) -> None:
        usual = as_array(background)
        if len(usual) < 2 or usual.ndim < 2:
            raise InvalidData(f"the reference data need at least two inputs; their shape is {usual.shape}")
        self.shape = usual.shape[1:]
        flat = usual.reshape(len(usual), -1)
        if is_instance(model, "torch", "Module"):
            self.explainer = _of_module(require("torch", extra="torch").nn, model, flat, self.shape, weights)
        elif len(self.shape) > 1:
            self.explainer = Explainer(lambda matrix: model(matrix.reshape(-1, *self.shape)), flat, weights=weights)
        else:
            self.explainer = Explainer(model, flat, weights=weights)

    def __call__(self, inputs: Any, targets: Any, *, seed: int = 0) -> Array:
        """Scores of the inputs' shape for (n,) classes, one for all inputs, or None for the predicted ones."""
        given = as_array(inputs)
        if given.shape[1:] != self.shape or not len(given):
            raise InvalidData(f"inputs of the shape (n, {', '.join(map(str, self.shape))}) are due, not {given.shape}")
        rows = given.reshape(len(given), math.prod(self.shape))
        predicted = self.explainer.subject.predict(rows).argmax(axis=1)
        wanted = predicted if targets is None else _classes(targets, len(rows))
        scores = np.empty(rows.shape)
        for target in np.unique(wanted):
            chosen = np.flatnonzero(wanted == target)
            scores[chosen] = self.explainer.with_outcome(self._into(int(target)))(rows[chosen], seed=seed).values
        return scores.reshape(given.shape)

    def _into(self, target: int) -> Outcome:
        names = self.explainer.subject.predict.read.names
        if not 0 <= target < len(names):
            raise InvalidData(f"there is no class {target}: the model has {len(names)}")
        return ToClass(names[target], soft=are_probabilities(self.explainer.subject.outputs))


def as_array(values: Any) -> Array:
    """An array of numbers from an array, a list or a tensor on any device."""
    plain = values.detach().cpu().numpy() if hasattr(values, "detach") else values
    return np.asarray(plain, dtype=np.float64)


def _classes(targets: Any, size: int) -> Any:
    classes = as_array(targets).astype(np.int64).ravel()
    if len(classes) not in (1, size):
        raise InvalidData(f"there are {len(classes)} targets for {size} inputs")
    return np.broadcast_to(classes, (size,))


def _of_module(nn: Any, model: Any, flat: Array, shape: tuple[int, ...], weights: Any) -> Explainer:
    """Wrap a module in layers that shape its inputs and turn its answers into probabilities."""
    layers = [nn.Unflatten(1, shape), model] if len(shape) > 1 else [model]
    with warnings.catch_warnings():
        for guess in (LOGITS, NUMBER):
            warnings.filterwarnings("ignore", message=re.escape(guess))
        explainer = Explainer(nn.Sequential(*layers), flat, weights=weights)
    if are_probabilities(explainer.subject.outputs):
        return explainer
    return Explainer(nn.Sequential(*layers, nn.Sigmoid()), flat, weights=weights)
