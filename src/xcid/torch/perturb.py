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
from xcid.torch._rows import RowExplainer


@dataclass(frozen=True, slots=True)
class PerturbLayer:
    """Activations are the features: those of background inputs take their places, and the rest of the network is run.

    All of the network is run on the row's own input with the output of the layer replaced, so that it is exact for any
    architecture, also where connections skip the layer.
    """

    def ready(self, layer: Layer, background: Tensor, settings: dict[str, Any]) -> Explain:
        """Record the background's activations."""
        return _Perturbed(layer, background, settings)


class _Perturbed:
    def __init__(self, layer: Layer, background: Tensor, settings: dict[str, Any]) -> None:
        found = layer.activations(background)
        self.layer, self.shape = layer, tuple(found.shape[1:])
        self.maps = layer.units.maps(found)
        self.table = layer.units.values(self.maps)
        self._check_summaries()
        self.order = np.argsort(self.table, axis=0, kind="stable")
        place = {row.tobytes(): at for at, row in reversed(list(enumerate(self.table)))}

        def ask(rows: Any) -> Array:
            """Answers for rows of the background."""
            at = [place[row.tobytes()] for row in np.ascontiguousarray(rows, dtype=np.float64)]
            return layer.network(background[at])

        names = layer.units.names(layer.name, self.shape)
        self.explainer = RowExplainer.of(ask, self.table, names, "continuous", settings)

    def __call__(self, row: Tensor, seed: int) -> Explanation | Failed:
        """Explain one input by the network with that input."""
        torch = require("torch", extra="torch")
        own = self.layer.units.maps(self.layer.activations(row))
        values = self.layer.units.values(own)
        bank = torch.cat([own, self.maps])
        unit = torch.arange(bank.shape[1])

        def maps(part: Array) -> Tensor:
            if bank.shape[2] == 1:
                return torch.as_tensor(part)[:, :, None]
            return bank[torch.as_tensor(self._lenders(part, values[0])), unit]

        return self.explainer.explained(values, self.layer.rest(row, maps, self.shape), seed)

    def _lenders(self, part: Array, values: Array) -> Integers:
        """(s, u) whose map each unit takes: 0 for the row itself, else 1 + the background row nearest in value."""
        lenders = np.empty(part.shape, dtype=np.int64)
        for unit, order in enumerate(self.order.T):
            known = self.table[order, unit]
            above = np.clip(np.searchsorted(known, part[:, unit]), 1, len(known) - 1)
            nearer = part[:, unit] - known[above - 1] <= known[above] - part[:, unit]
            lenders[:, unit] = 1 + order[np.where(nearer, above - 1, above)]
        return np.where(part == values, 0, lenders)

    def _check_summaries(self) -> None:
        """Warn where summaries are the same for maps that are not."""
        differ = (self.maps != self.maps[:1]).flatten(2).any(dim=2).any(dim=0).numpy()
        blind = differ & (np.ptp(self.table, axis=0) == 0)
        if blind.any():
            warn(
                f"{blind.sum()} of {len(blind)} units of {self.layer.name!r} have maps that differ and the same "
                "summary for all of them, as after a normalisation: they cannot be perturbed; give another one, such "
                "as per=xcid.torch.Channels(summary=numpy.std)"
            )
