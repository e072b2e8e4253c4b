"""A layer of a network: found by its name, watched, or replaced, by hooks that never stay."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from xcid._faults import Failed
from xcid._require import require
from xcid.errors import InvalidParameter, ModelError
from xcid.records import Array, Explanation
from xcid.torch._memory import halved, in_blocks
from xcid.torch._network import Network, Tensor
from xcid.torch._rows import Ask
from xcid.torch.units import Units

MOST_NAMES = 12

Explain: TypeAlias = Callable[[Tensor, int], Explanation | Failed]


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
            with self._hooked(lambda module, given, made: seen.append(_first(made).detach().cpu().clone())):
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

            with self._hooked(give):
                return network.ask(network.place(row).expand(len(part), *row.shape[1:]))

        return lambda rows: in_blocks(some, np.asarray(rows, dtype=np.float64), network.at_once)

    @contextlib.contextmanager
    def _hooked(self, hook: Callable[[Any, Any, Any], Any]) -> Iterator[None]:
        handle = self.module.register_forward_hook(hook)
        try:
            yield
        finally:
            handle.remove()

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
