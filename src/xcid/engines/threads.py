"""Several threads of this process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from xcid._check import as_int
from xcid._require import one_core_each
from xcid.explainer import Explainer
from xcid.explanation import Explanation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Threads:
    """Explain blocks of rows in several threads at once.

    It helps where the model lets other threads run while it computes, as scikit-learn's forests, XGBoost, LightGBM,
    torch and NumPy do, and where its outputs do not depend on what other threads call. Each thread's matrix products
    are kept to one core, so that they do not fight; the model's own threads are its own affair.

    Examples
    --------
    >>> import numpy as np, xcid
    >>> from xcid.engines import Threads
    >>> background = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = xcid.Explainer(lambda X: X[:, 1] > 0, background)
    >>> explanation = Threads(2)(explainer, background)
    >>> bool(np.allclose(explanation.values, explainer(background).values))
    True
    """

    workers: int = 2

    def __post_init__(self) -> None:
        as_int(self.workers, "workers", at_least=1)

    def __call__(self, explainer: Explainer, X: Any, *, seed: int = 0) -> Explanation:
        """Explain one row or many; the result is that of ``explainer(X, seed=seed)``."""
        with one_core_each(), ThreadPoolExecutor(self.workers) as pool:

            def apply(function: Callable[[Any], T], parts: list[Any]) -> Iterator[T]:
                waiting: list[Future[T]] = []
                for part in parts:  # no more ahead than there are workers for: results take memory
                    waiting.append(pool.submit(function, part))
                    if len(waiting) > 2 * self.workers:
                        yield waiting.pop(0).result()
                yield from (future.result() for future in waiting)

            return explainer(X, seed=seed, apply=apply)
