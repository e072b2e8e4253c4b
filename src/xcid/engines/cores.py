"""How many cores the libraries below us use at a time."""

from __future__ import annotations

import contextlib
from typing import Any


def one_core_for_products(**others: int) -> contextlib.AbstractContextManager[Any]:
    """Keep NumPy's matrix products to the thread that asks for them: threads do not fight, and sums have one order.

    ``openmp=4`` also limits the threads of models that use OpenMP. It takes threadpoolctl, which scikit-learn brings;
    without it nothing is limited.
    """
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return contextlib.nullcontext()
    limits: contextlib.AbstractContextManager[Any] = threadpool_limits({"blas": 1, **others})
    return limits
