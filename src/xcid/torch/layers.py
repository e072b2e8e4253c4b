"""Explanations in the activation space of a layer."""

from __future__ import annotations

from typing import Any

from xcid._check import as_int
from xcid.errors import InvalidParameter
from xcid.outcomes import Outcome
from xcid.records import Explanation
from xcid.torch._layer import How, Layer
from xcid.torch._network import AT_ONCE, Answer, Network, as_tensor, like
from xcid.torch._rows import gathered
from xcid.torch.perturb import PerturbLayer
from xcid.torch.units import Channels, Units


class LayerExplainer:
    """Explains decisions of a network by the units of one of its layers.

    The network is asked in evaluation mode, without gradients, on its own device and in its own precision, and is given
    back as it was.

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
    >>> import torch, xcid
    >>> _ = torch.manual_seed(0)
    >>> net = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    >>> explainer = xcid.torch.LayerExplainer(net, "1", torch.randn(60, 4))
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
            (how, "how", "ready", "xcid.torch.PerturbLayer()"),
            (per, "per", "maps", "xcid.torch.Channels()"),
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
        return gathered([self.explain(row, seed) for row in inputs.split(1)], self.settings)
