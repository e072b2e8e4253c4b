"""A layer of a network: found by its name, watched, or replaced, by hooks that never stay."""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from xcid._require import require
from xcid.errors import InvalidParameter, ModelError
from xcid.torch._memory import halved
from xcid.torch._network import Network, Tensor

MOST_NAMES = 12


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A module inside a network.

    Attributes
    ----------
    name : str
    module : torch.nn.Module
    """

    name: str
    module: Any

    @classmethod
    def of(cls, model: Any, layer: Any) -> Layer:
        """Find a layer by its name in ``model.named_modules()``, or the name of a module."""
        named = {name: module for name, module in model.named_modules() if name}
        if isinstance(layer, str):
            if layer in named:
                return cls(layer, named[layer])
            near = difflib.get_close_matches(layer, named, n=5, cutoff=0.4)
            some = f"the nearest are {near}" if near else f"there are {list(named)[:MOST_NAMES]}"
            raise InvalidParameter(f"the model has no layer {layer!r}: {some} ({len(named)} in all)")
        for name, module in named.items():
            if module is layer:
                return cls(name, module)
        raise InvalidParameter(
            f"layer must be a name from model.named_modules() or a module of this model, not {_short(layer)}"
        )

    def activations(self, network: Network, inputs: Tensor) -> Tensor:
        """(n, ...) what the layer gives for n inputs, on the CPU."""
        torch = require("torch", extra="torch")

        def some(part: Tensor) -> Tensor:
            seen: list[Tensor] = []
            with _hooked(self.module, lambda module, given, made: seen.append(_first(made).detach().cpu().clone())):
                network.ask(network.place(part))
            self._check(seen, len(part))
            return seen[0]

        return torch.cat(list(halved(some, inputs, network.at_once)))

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

    @contextlib.contextmanager
    def replaced(self, by: Tensor) -> Iterator[None]:
        """Let the layer give something else, whatever it is asked."""

        def give(module: Any, given: Any, made: Any) -> Any:
            new = by.to(_first(made))
            return (new, *made[1:]) if isinstance(made, tuple) else new

        with _hooked(self.module, give):
            yield


@contextlib.contextmanager
def _hooked(module: Any, hook: Callable[[Any, Any, Any], Any]) -> Iterator[None]:
    handle = module.register_forward_hook(hook)
    try:
        yield
    finally:
        handle.remove()


def _first(made: Any) -> Tensor:
    """The tensor among what a layer gives: recurrent and attention layers give others beside it."""
    found = made[0] if isinstance(made, tuple) and made else made
    if not hasattr(found, "detach"):
        raise ModelError(f"the layer gives {type(made).__name__}, not a tensor: choose another layer")
    return found


def _short(layer: Any) -> str:
    return f"a {type(layer).__name__} of another model" if hasattr(layer, "forward") else repr(layer)
