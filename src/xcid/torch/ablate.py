"""Switch units of a layer off and run the rest of the network."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from xcid._check import require_callable
from xcid._faults import Failed
from xcid._require import require
from xcid.records import Array, Explanation
from xcid.torch import fills
from xcid.torch._masks import FILLED, KEPT, Counting, distinct, explainer_of, question, told
from xcid.torch._network import Tensor
from xcid.torch._rows import Ask, gathered
from xcid.torch.perturb import rest_of

if TYPE_CHECKING:
    from xcid.torch.layers import Explaining, Task


@dataclass(frozen=True, slots=True)
class AblateLayer:
    """Units are kept or filled, by one value or map for all: their mean over the background, or nothing.

    Parameters
    ----------
    fill : Fill
        From the activations of an input and those of the background to what units are filled with: ``Mean()`` or
        ``Zero()``, or ``Background()`` for those of other inputs.
    """

    fill: fills.Fill = field(default_factory=fills.Mean)

    def __post_init__(self) -> None:
        require_callable(self.fill, "fill", "xcid.torch.Zero()")

    def ready(self, task: Task) -> Explaining:
        """Record the background's activations."""
        return _Ablated(task, self.fill)


class _Ablated:
    def __init__(self, task: Task, fill: fills.Fill) -> None:
        self.task, self.fill = task, fill
        found = task.layer.activations(task.network, task.background)
        self.known: Array = found.double().numpy()
        self.shape = tuple(found.shape[1:])
        names = task.units.names(task.layer.name, self.shape)
        settings = {**task.settings, "outcome": question(task.settings["outcome"], task.network(task.background))}
        n, first = settings.pop("n", None), self.known[0]
        bank = self._bank(found[:1], first)
        reference = self._ask(task.background[:1], bank)
        self.explainer = explainer_of(reference, names, len(bank) - 1, n, settings)

    def __call__(self, inputs: Tensor, seed: int) -> Explanation:
        """Explain each input."""
        torch = require("torch", extra="torch")
        pieces = []
        for row in torch.split(inputs, 1):
            own = self.task.layer.activations(self.task.network, row)
            counting = Counting(self._ask(row, self._bank(own, own[0].double().numpy())))
            n_units = len(self.explainer.space.names)
            piece = self.explainer.explained(np.zeros((1, n_units)), distinct(counting), seed)
            if not isinstance(piece, Failed):
                piece = told(piece, [(FILLED, KEPT)] * n_units, np.ones(n_units), counting.asked)
            pieces.append(piece)
        return gathered(pieces, self.explainer.setup.max_evidence_bytes)

    def _bank(self, own: Tensor, plain: Array) -> Tensor:
        """(1 + b, u, m) maps of the input itself and of its fills."""
        torch = require("torch", extra="torch")
        filled = torch.as_tensor(fills.checked(self.fill, plain, self.known)).to(own.dtype)
        return self.task.units.maps(torch.cat([own, filled]))

    def _ask(self, row: Tensor, bank: Tensor) -> Ask:
        torch = require("torch", extra="torch")
        unit = torch.arange(bank.shape[1])

        def maps(part: Array) -> Tensor:
            return bank[torch.as_tensor(part.astype(np.int64)), unit]

        return rest_of(self.task, row, maps, self.shape)
