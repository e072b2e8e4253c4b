"""Quantus: ``metric(model=..., explain_func=explain_func, explain_func_kwargs={"background": train}, ...)``."""

from __future__ import annotations

from typing import Any

from xcid.records import Array
from xcid_lab.adapters._targets import Targets


def explain_func(model: Any, inputs: Any, targets: Any, **settings: Any) -> Array:
    """Attributions of (n, ...) inputs of a ``torch.nn.Module``, for the (n,) classes that are named for them.

    ``background`` (N, ...) shows what is usual; by default the inputs themselves, which should then be some dozens at
    least. It may have ``weights`` (N,), and a ``seed`` may be given too. What Quantus adds beside these
    (a device, say) makes no difference.
    """
    background = settings.get("background")
    explain = Targets(model, inputs if background is None else background, settings.get("weights"))
    return explain(inputs, targets, seed=settings.get("seed", 0))
