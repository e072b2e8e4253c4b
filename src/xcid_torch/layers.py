"""Explanations in the activation space of a layer."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from xcid._check import as_int, require_callable, warn
from xcid._faults import Piece
from xcid._require import require
from xcid.errors import InvalidParameter
from xcid.explanation import Explanation
from xcid.outcomes import Outcome
from xcid.records import Array, Integers
from xcid_torch._layer import Channels, Explain, How, Layer, Units
from xcid_torch._network import AT_ONCE, Answer, Network, Tensor, as_array, as_tensor, like
from xcid_torch._rows import (
    Distinct,
    attempted,
    by_parts,
    explained,
    explained_parts,
    gathered,
    parts_setup,
    question,
    setup_of,
)
from xcid_torch.segments import Fill, Mean, fills_of


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

        def explain(row: Tensor, seed: int) -> Piece:
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
            "per=xcid_torch.Channels(summary=numpy.std)"
        )


@dataclass(frozen=True, slots=True)
class AblateLayer:
    """Units are kept or filled, by one value or map for all: their mean over the background, or nothing.

    ``fill`` goes from the activations of an input and those of the background to what units are filled with: it is
    ``Mean()`` or ``Zero()``, or ``Background()`` for those of other inputs.
    """

    fill: Fill = field(default_factory=Mean)

    def __post_init__(self) -> None:
        require_callable(self.fill, "fill", "xcid_torch.Zero()")

    def ready(self, layer: Layer, background: Tensor, settings: dict[str, Any]) -> Explain:
        """Record the background's activations."""
        torch = require("torch", extra="torch")
        found = layer.activations(background)
        known, shape = as_array(found), tuple(found.shape[1:])

        def asking(row: Tensor, own: Tensor) -> tuple[Distinct, int]:
            """The network on one input as a function of where its units come from, and how many fills they have."""
            filled = torch.as_tensor(fills_of(self.fill, as_array(own[0]), known)).to(own.dtype)
            bank = layer.units.maps(torch.cat([own, filled]))  # (1 + b, u, m)
            unit = torch.arange(bank.shape[1])

            def maps(part: Array) -> Tensor:
                return bank[torch.as_tensor(part.astype(np.int64)), unit]

            return Distinct(layer.rest(row, maps, shape)), len(filled)

        ask, n_fills = asking(background[:1], found[:1])
        settings = {**settings, "outcome": question(settings["outcome"], layer.network(background))}
        setup = parts_setup(ask, layer.units.names(layer.name, shape), n_fills, settings)

        def explain(row: Tensor, seed: int) -> Piece:
            return by_parts(explained_parts(setup, asking(row, layer.activations(row))[0], seed))

        return explain


class LayerExplainer:
    """Explains decisions of a network by the units of one of its layers.

    The network is called in evaluation mode, without gradients, on its own device and in its own precision, and is
    given back as it was.

    Parameters
    ----------
    model : torch.nn.Module
        Several columns of answers that are no probabilities are taken as logits.
    layer : str or torch.nn.Module
        A name from ``model.named_modules()``, or the module itself.
    background : array or tensor (N, ...)
        Inputs that show what is usual: vectors, images (N, c, h, w) or tokens (N, t). At least a dozen, and half as
        many as there are units, or no score is significant.
    how : PerturbLayer, AblateLayer or WatchLayer
        Perturb the layer itself and run the rest of the network (the default), switch its units off, or perturb the
        input and watch the layer.
    per : Units
        What a unit is: by default a place along axis 1, so that a convolution's channel is one unit.
    at_once : int
        Inputs of a call; halved as often as needed where the memory does not suffice.
    answer : callable, optional
        From what the model gives to probabilities or numbers, such as ``torch.sigmoid``.
    outcome : Outcome, optional
        What counts as a flip, as for :class:`xcid.Explainer`.
    **settings
        Others of :class:`xcid.Explainer`, such as ``generator``, ``score``, ``repeats`` and ``stop``.

    Examples
    --------
    >>> import torch, xcid_torch
    >>> _ = torch.manual_seed(0)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    >>> explainer = xcid_torch.LayerExplainer(net, "1", torch.randn(60, 4))
    >>> explainer(torch.randn(2, 4)).feature_names
    ('1[0]', '1[1]', '1[2]')
    """

    def __init__(
        self,
        model: Any,
        layer: Any,
        background: Any,
        *,
        how: How | None = None,
        per: Units | None = None,
        at_once: int = AT_ONCE,
        answer: Answer | None = None,
        outcome: Outcome | None = None,
        **settings: Any,
    ) -> None:
        how, per = PerturbLayer() if how is None else how, Channels() if per is None else per
        for value, name, method, example in (
            (how, "how", "ready", "xcid_torch.PerturbLayer()"),
            (per, "per", "maps", "xcid_torch.Channels()"),
        ):
            if not hasattr(value, method) or isinstance(value, type):
                raise InvalidParameter(f"{name} must be an object like {example}, not {value!r}")
        network = Network.of(model, answer, at_once)
        self.background, self.settings = as_tensor(background, "the background"), {**settings, "outcome": outcome}
        found = Layer.of(network.settled(self.background), layer, per)
        self.explain = how.ready(found, self.background, self.settings)

    def __call__(self, X: Any, *, seed: int = 0) -> Explanation:
        """Explain (n, ...) inputs, or a single one without the first axis."""
        seed, inputs = as_int(seed, "seed"), like(X, self.background)

        def explained(rows: Tensor) -> list[Piece]:
            return [attempted(partial(self.explain, row, seed)) for row in rows.split(1)]

        return gathered(explained(inputs), self.settings, lambda: explained(self.background[:1]))
