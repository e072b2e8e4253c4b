"""Perturb a layer and run the rest of the network."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xcid._faults import Failed
from xcid._require import require
from xcid.errors import warn
from xcid.records import Array, Explanation, Integers
from xcid.torch._layer import Explain, Layer
from xcid.torch._network import Tensor
from xcid.torch._rows import explained, setup_of


@dataclass(frozen=True, slots=True)
class PerturbLayer:
    """Activations are the features: those of background inputs take their places, and the rest of the network is run.

    All of the network is run on the row's own input with the output of the layer replaced, so that it is exact for any
    architecture, also where connections skip the layer.
    """

    def ready(self, layer: Layer, background: Tensor, settings: dict[str, Any]) -> Explain:
        """Record the background's activations."""
        torch = require("torch", extra="torch")
        units, found = layer.units, layer.activations(background)
        shape, lent = tuple(found.shape[1:]), units.maps(found)
        table = units.values(lent)
        _warn_of_summaries(layer.name, lent, table)
        order, unit = np.argsort(table, axis=0, kind="stable"), torch.arange(lent.shape[1])
        place = {row.tobytes(): at for at, row in reversed(list(enumerate(table)))}

        def ask(rows: Any) -> Array:
            """Answers for rows of the background."""
            at = [place[row.tobytes()] for row in np.ascontiguousarray(rows, dtype=np.float64)]
            return layer.network(background[at])

        setup = setup_of(ask, table, units.names(layer.name, shape), "continuous", settings)

        def explain(row: Tensor, seed: int) -> Explanation | Failed:
            """Explain one input by the network with that input."""
            own = units.maps(layer.activations(row))
            values, bank = units.values(own), torch.cat([own, lent])

            def maps(part: Array) -> Tensor:
                if bank.shape[2] == 1:
                    return torch.as_tensor(part)[:, :, None]
                return bank[torch.as_tensor(_lenders(part, values[0], table, order)), unit]

            return explained(setup, values, layer.rest(row, maps, shape), seed)

        return explain


def _lenders(part: Array, values: Array, table: Array, order: Integers) -> Integers:
    """(s, u) whose map each unit takes: 0 for the row itself, else 1 + the background row nearest in value."""
    lenders = np.empty(part.shape, dtype=np.int64)
    for unit, sorting in enumerate(order.T):
        known, wanted = table[sorting, unit], part[:, unit]
        above = np.clip(np.searchsorted(known, wanted), 1, len(known) - 1)
        nearer = wanted - known[above - 1] <= known[above] - wanted
        lenders[:, unit] = 1 + sorting[np.where(nearer, above - 1, above)]
    return np.where(part == values, 0, lenders)


def _warn_of_summaries(layer: str, maps: Tensor, table: Array) -> None:
    """Warn where summaries are the same for maps that are not."""
    differ = (maps != maps[:1]).flatten(2).any(dim=2).any(dim=0).numpy()
    blind = differ & (np.ptp(table, axis=0) == 0)
    if blind.any():
        warn(
            f"{blind.sum()} of {len(blind)} units of {layer!r} have maps that differ and the same summary for all of "
            "them, as after a normalisation: they cannot be perturbed; give another one, such as "
            "per=xcid.torch.Channels(summary=numpy.std)"
        )
