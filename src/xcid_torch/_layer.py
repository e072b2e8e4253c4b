"""A layer of a network: found by its name, cut into units, watched, or replaced, by hooks that never stay."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from xcid._check import as_int, require_callable
from xcid._faults import Piece
from xcid._require import require
from xcid.errors import InvalidParameter, ModelError
from xcid.records import Array
from xcid_torch._network import Network, Tensor, halved, in_blocks
from xcid_torch._rows import Ask

MOST_NAMES = 12
Explain: TypeAlias = Callable[[Tensor, int], Piece]


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


class How(Protocol):
    """A way to explain a layer."""

    def ready(self, layer: Layer, background: Tensor, settings: dict[str, Any]) -> Explain:
        """Make what all inputs share, and give a function that explains a single (1, ...) input with a seed."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A module inside a network, whose output is cut into units."""

    network: Network
    name: str
    module: Any
    units: Units

    @classmethod
    def of(cls, network: Network, layer: Any, units: Units) -> Layer:
        """Find a layer by its name in ``model.named_modules()``, or the name of a module."""
        named = {name: module for name, module in network.model.named_modules() if name}
        if isinstance(layer, str):
            if layer in named:
                return cls(network, layer, named[layer], units)
            near = difflib.get_close_matches(layer, named, n=5, cutoff=0.4)
            some = f"the nearest are {near}" if near else f"there are {list(named)[:MOST_NAMES]}"
            raise InvalidParameter(f"the model has no layer {layer!r}: {some} ({len(named)} in all)")
        for name, module in named.items():
            if module is layer:
                return cls(network, name, module, units)
        what = f"a {type(layer).__name__} of another model" if hasattr(layer, "forward") else repr(layer)
        raise InvalidParameter(f"layer must be a name from model.named_modules() or a module of this model, not {what}")

    def activations(self, inputs: Tensor) -> Tensor:
        """(n, ...) what the layer gives for n inputs, on the CPU."""
        torch = require("torch", extra="torch")

        def some(part: Tensor) -> Tensor:
            seen: list[Tensor] = []

            def keep(module: Any, given: Any, made: Any) -> None:
                seen.append(_first(made).detach().cpu().clone())

            with self.module.register_forward_hook(keep):
                self.network.ask(self.network.place(part))
            self._check(seen, len(part))
            return seen[0]

        return torch.cat(list(halved(some, inputs, self.network.at_once)))

    def values(self, inputs: Tensor) -> Array:
        """(n, u) one number for each unit of the layer."""
        return self.units.values(self.units.maps(self.activations(inputs)))

    def rest(self, row: Tensor, maps: Callable[[Array], Tensor], shape: tuple[int, ...]) -> Ask:
        """The network on one input with the layer's output replaced, as a function of rows that stand for maps."""
        network = self.network

        def some(part: Array) -> Array:
            new = self.units.activations(maps(part), shape).to(network.device)

            def give(module: Any, given: Any, made: Any) -> Any:
                replaced = new.to(_first(made))
                return (replaced, *made[1:]) if isinstance(made, tuple) else replaced

            with self.module.register_forward_hook(give):
                return network.ask(network.place(row).expand(len(part), *row.shape[1:]))

        return lambda rows: in_blocks(some, np.asarray(rows, dtype=np.float64), network.at_once)

    def _check(self, seen: list[Tensor], n_inputs: int) -> None:
        if len(seen) != 1:
            raise InvalidParameter(
                f"the layer {self.name!r} is run {len(seen)} times for an input: choose a layer that is run once"
            )
        if seen[0].ndim < 2 or len(seen[0]) != n_inputs:
            raise InvalidParameter(
                f"the layer {self.name!r} gives the shape {tuple(seen[0].shape)} for {n_inputs} inputs: its first axis "
                "must be that of the inputs, and there must be another one"
            )


def _first(made: Any) -> Tensor:
    """The tensor among what a layer gives: recurrent and attention layers give others beside it."""
    found = made[0] if isinstance(made, tuple) and made else made
    if not hasattr(found, "detach"):
        raise ModelError(f"the layer gives {type(made).__name__}, not a tensor: choose another layer")
    return found
