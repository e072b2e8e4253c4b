"""What the units of a layer are: channels with their maps, or single cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from xcid._check import as_int, require_callable
from xcid.errors import InvalidParameter
from xcid.records import Array
from xcid.torch._network import Tensor


class Units(Protocol):
    """Cuts the activations of a layer into units, each with a map of cells that change together."""

    def maps(self, activations: Tensor) -> Tensor:
        """(n, u, m) maps of (n, ...) activations."""

    def activations(self, maps: Tensor, shape: tuple[int, ...]) -> Tensor:
        """(n, ...) activations of (n, u, m) maps."""

    def values(self, maps: Tensor) -> Array:
        """(n, u) one number for each map."""

    def names(self, layer: str, shape: tuple[int, ...]) -> list[str]:
        """(u,) names."""


@dataclass(frozen=True, slots=True)
class Channels:
    """Units are the places along one axis; a unit's map is everything else, all of which changes at once.

    The units of a linear layer are its single outputs, those of a convolution its channels. For a transformer's
    (n, tokens, width) they are positions of tokens, or places of the width with ``axis=-1``.

    Parameters
    ----------
    axis : int
        Axis of the units, counted with that of the inputs.
    summary : callable
        ``summary(maps (n, u, m), axis=-1) -> (n, u)``: the number that stands for a map in the scores.
    """

    axis: int = 1
    summary: Callable[..., Any] = np.mean

    def __post_init__(self) -> None:
        if as_int(self.axis, "axis") == 0:
            raise InvalidParameter("axis 0 is that of the inputs: units have another one")
        require_callable(self.summary, "summary", "numpy.mean")

    def maps(self, activations: Tensor) -> Tensor:
        if not -activations.ndim < self.axis < activations.ndim:
            raise InvalidParameter(
                f"axis {self.axis} is not among those of activations of shape {tuple(activations.shape)}"
            )
        moved = activations.movedim(self.axis, 1)
        return moved.reshape(len(moved), moved.shape[1], -1)

    def activations(self, maps: Tensor, shape: tuple[int, ...]) -> Tensor:
        at = self.axis - 1 if self.axis > 0 else self.axis + len(shape)
        others = [size for place, size in enumerate(shape) if place != at]
        return maps.reshape(len(maps), maps.shape[1], *others).movedim(1, self.axis)

    def values(self, maps: Tensor) -> Array:
        numbers = maps.double().numpy()
        if numbers.shape[2] == 1:
            return np.ascontiguousarray(numbers[:, :, 0])
        found = np.asarray(self.summary(numbers, axis=-1), dtype=np.float64)
        if found.shape != numbers.shape[:2] or not np.isfinite(found).all():
            raise InvalidParameter(
                f"the summary gave shape {found.shape} for maps of shape {numbers.shape}: it must give a finite number "
                "for each map, along the axis that it is given"
            )
        return found

    def names(self, layer: str, shape: tuple[int, ...]) -> list[str]:
        """(u,) names such as ``conv[3]``."""
        return [f"{layer}[{at}]" for at in range(shape[self.axis - 1 if self.axis > 0 else self.axis])]


@dataclass(frozen=True, slots=True)
class Cells:
    """Every single cell of the activations is a unit."""

    def maps(self, activations: Tensor) -> Tensor:
        return activations.reshape(len(activations), -1, 1)

    def activations(self, maps: Tensor, shape: tuple[int, ...]) -> Tensor:
        return maps.reshape(len(maps), *shape)

    def values(self, maps: Tensor) -> Array:
        return maps[:, :, 0].double().numpy()

    def names(self, layer: str, shape: tuple[int, ...]) -> list[str]:
        """(u,) names such as ``conv[3, 0, 2]``."""
        return [f"{layer}[{', '.join(map(str, place))}]" for place in np.ndindex(*shape)]
