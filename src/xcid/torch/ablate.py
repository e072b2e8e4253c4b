"""Switch units of a layer off and run the rest of the network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from xcid._check import require_callable
from xcid._faults import Failed
from xcid._require import require
from xcid.records import Array, Explanation
from xcid.torch import fills
from xcid.torch._layer import Explain, Layer
from xcid.torch._network import Tensor, as_array
from xcid.torch._parts import Distinct, by_parts, explained_parts, question, setup_of_parts


@dataclass(frozen=True, slots=True)
class AblateLayer:
    """Units are kept or filled, by one value or map for all: their mean over the background, or nothing.

    ``fill`` goes from the activations of an input and those of the background to what units are filled with: it is
    ``Mean()`` or ``Zero()``, or ``Background()`` for those of other inputs.
    """

    fill: fills.Fill = field(default_factory=fills.Mean)

    def __post_init__(self) -> None:
        require_callable(self.fill, "fill", "xcid.torch.Zero()")

    def ready(self, layer: Layer, background: Tensor, settings: dict[str, Any]) -> Explain:
        """Record the background's activations."""
        torch = require("torch", extra="torch")
        found = layer.activations(background)
        known, shape = as_array(found), tuple(found.shape[1:])

        def asking(row: Tensor, own: Tensor) -> tuple[Distinct, int]:
            """The network on one input as a function of where its units come from, and how many fills they have."""
            filled = torch.as_tensor(fills.checked(self.fill, as_array(own[0]), known)).to(own.dtype)
            bank = layer.units.maps(torch.cat([own, filled]))  # (1 + b, u, m)
            unit = torch.arange(bank.shape[1])

            def maps(part: Array) -> Tensor:
                return bank[torch.as_tensor(part.astype(np.int64)), unit]

            return Distinct(layer.rest(row, maps, shape)), len(filled)

        ask, n_fills = asking(background[:1], found[:1])
        settings = {**settings, "outcome": question(settings["outcome"], layer.network(background))}
        setup = setup_of_parts(ask, layer.units.names(layer.name, shape), n_fills, settings)

        def explain(row: Tensor, seed: int) -> Explanation | Failed:
            return by_parts(explained_parts(setup, asking(row, layer.activations(row))[0], seed))

        return explain
