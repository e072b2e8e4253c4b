"""Perturb a layer and run the rest of the network."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from xcid._require import require
from xcid.errors import warn
from xcid.records import Array, Explanation, Integers
from xcid.torch._memory import halved
from xcid.torch._network import Tensor
from xcid.torch._rows import Ask, RowExplainer, gathered

if TYPE_CHECKING:
    from xcid.torch.layers import Explaining, Task


@dataclass(frozen=True, slots=True)
class PerturbLayer:
    """Activations are the features: those of background inputs take their places, and the rest of the network is run.

    The whole network is run on the row's own input with the output of the layer replaced, so that it is exact for any
    architecture, also where connections skip the layer.
    """

    def ready(self, task: Task) -> Explaining:
        """Record the background's activations."""
        return _Perturbed(task)


class _Perturbed:
    def __init__(self, task: Task) -> None:
        self.task = task
        found = task.layer.activations(task.network, task.background)
        self.shape = tuple(found.shape[1:])
        self.maps = task.units.maps(found)
        self.table = task.units.values(self.maps)
        self._check_summaries()
        self.order = np.argsort(self.table, axis=0, kind="stable")
        names = task.units.names(task.layer.name, self.shape)
        place = {row.tobytes(): at for at, row in reversed(list(enumerate(self.table)))}

        def ask(rows: Any) -> Array:
            """Answers for rows of the background."""
            at = [place[row.tobytes()] for row in np.ascontiguousarray(rows, dtype=np.float64)]
            return task.network(task.background[at])

        kinds: dict[str, Any] = dict.fromkeys(names, "continuous")
        self.explainer = RowExplainer(ask, self.table, feature_names=names, kinds=kinds, **task.settings)

    def __call__(self, inputs: Tensor, seed: int) -> Explanation:
        """Explain each input by the network with that input."""
        torch = require("torch", extra="torch")
        pieces = []
        for row in torch.split(inputs, 1):
            own = self.task.units.maps(self.task.layer.activations(self.task.network, row))
            pieces.append(self.explainer.explained(self.task.units.values(own), self._rest(row, own), seed))
        return gathered(pieces, self.explainer.setup.max_evidence_bytes)

    def _rest(self, row: Tensor, own: Tensor) -> Ask:
        """The network on one input, as a function of the values of the layer's units."""
        torch = require("torch", extra="torch")
        values = self.task.units.values(own)[0]
        bank = torch.cat([own, self.maps])
        unit = torch.arange(bank.shape[1])

        def maps(part: Array) -> Tensor:
            if bank.shape[2] == 1:
                return torch.as_tensor(part)[:, :, None]
            return bank[torch.as_tensor(self._lenders(part, values)), unit]

        return rest_of(self.task, row, maps, self.shape)

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
                f"{blind.sum()} of {len(blind)} units of {self.task.layer.name!r} have maps that differ and the same "
                "summary for all of them, as after a normalisation: they cannot be perturbed; give another one, such "
                "as per=xcid.torch.Channels(summary=numpy.std)"
            )


def rest_of(task: Task, row: Tensor, maps: Callable[[Array], Tensor], shape: tuple[int, ...]) -> Ask:
    """The whole network on one input with the layer's output replaced, as a function of rows that stand for maps."""
    network = task.network

    def some(part: Array) -> Array:
        new = task.units.activations(maps(part), shape).to(network.device)
        with task.layer.replaced(new):
            return network.ask(network.place(row).expand(len(part), *row.shape[1:]))

    return lambda rows: np.concatenate(list(halved(some, np.asarray(rows, dtype=np.float64), network.at_once)))
