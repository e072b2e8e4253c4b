"""Modules of torch: where they live, and how they are asked without a trace."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from xcid._require import require


def home_of(module: Any) -> tuple[Any, Any]:
    """Device and precision of the first weights that are floating-point numbers."""
    torch = require("torch", extra="torch")
    weights = (weight for part in (module.parameters(), module.buffers()) for weight in part)
    like = next((weight for weight in weights if weight.is_floating_point()), torch.empty(0, dtype=torch.float32))
    return like.device, like.dtype


@contextlib.contextmanager
def evaluating(module: Any) -> Iterator[None]:
    """Put a module in evaluation mode for a while, and every part of it back into its own."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode
