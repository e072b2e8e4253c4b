"""Networks whose first layer is linear: what samples take from elsewhere passes through it once for all rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
from scipy.special import expit, softmax

from xcid._kernels.arrays import blocks
from xcid.native.seen import Part
from xcid.records import Array

Layer: TypeAlias = Callable[[Any], Any]
"""From (N, h) numbers to as many or others."""
MOST_CELLS = 2**18  # of the first layer at a time: they stay in the processor's cache


@dataclass(frozen=True, slots=True, eq=False)
class Network:
    """A linear layer of (m, h) weights, and further layers, in the precision of the weights."""

    weights: Any
    start: Any  # (h,)
    layers: tuple[Layer, ...]

    @property
    def fewest_rows(self) -> int:
        """Rows for which this is faster than asking."""
        return 1

    def planned(self, part: Part) -> Callable[[Array], Array]:
        """From (n, m) cells to the outputs of all samples of a plan."""
        dtype = self.weights.dtype
        lent = np.where(part.taken, part.new, 0.0).astype(dtype) @ self.weights + self.start  # (s, h)
        kept = (~part.taken).astype(dtype)  # (s, m)

        def outputs(cells: Array) -> Array:
            size = max(1, MOST_CELLS // lent.size)
            return np.concatenate(
                [self._few(cells[some].astype(dtype), kept, lent) for some in blocks(len(cells), size)]
            )

        return outputs

    def outputs(self, cells: Array) -> Array:
        """(n, k) outputs of (n, m) cells by themselves."""
        found = cells.astype(self.weights.dtype) @ self.weights + self.start
        return np.asarray(self._rest(found), dtype=np.float64)

    def _rest(self, found: Any) -> Any:
        """What further layers make of the first."""
        for layer in self.layers:
            found = layer(found)
        return found

    def _few(self, cells: Any, kept: Any, lent: Any) -> Array:
        """(n, s, k) outputs of some rows."""
        (n_samples, n_hidden), n_rows = lent.shape, len(cells)
        own = np.moveaxis(cells[:, :, None] * self.weights, 0, 1).reshape(len(self.weights), -1)  # (m, n h)
        hidden = (kept @ own).reshape(n_samples, n_rows, n_hidden)
        hidden += lent[:, None]
        found = self._rest(hidden.reshape(-1, n_hidden))
        return np.swapaxes(found.reshape(n_samples, n_rows, -1), 0, 1).astype(np.float64)


def affine(weights: Any, start: Any, given: Any) -> Any:
    """Another linear layer."""
    return given @ weights + start


def positive(given: Any) -> Any:
    """Nothing below 0."""
    return np.maximum(given, 0, out=given)


def shares(given: Any) -> Any:
    """Probabilities of all columns."""
    return softmax(given, axis=1)


def pair(given: Any) -> Any:
    """Probabilities of two classes, from that of the second."""
    return np.concatenate([1 - given, given], axis=1)


def same(given: Any) -> Any:
    """As it was."""
    return given


ACTIVATIONS: dict[str, Layer] = {
    "identity": same,
    "logistic": expit,
    "tanh": np.tanh,
    "relu": positive,
    "softmax": shares,
    "exp": np.exp,
}


def perceptron(model: Any) -> Network | None:
    """scikit-learn's network."""
    is_pair = model.out_activation_ == "logistic"
    if not is_pair and model.n_outputs_ > 1 and model.out_activation_ != "softmax":
        return None
    if is_pair and model.n_outputs_ > 1:  # several labels for one row
        return None
    (weights, *others), (start, *starts) = model.coefs_, model.intercepts_
    layers = list[Layer]()
    for more in zip(others, starts, strict=True):
        layers += [ACTIVATIONS[model.activation], partial(affine, *more)]
    layers.append(ACTIVATIONS[model.out_activation_])
    return Network(weights, start, (*layers, pair) if is_pair else tuple(layers))
