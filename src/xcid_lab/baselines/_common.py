"""What the baselines share: a checked model with its table, a counter, and the way into an Explanation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid._check import as_int
from xcid._kernels.random import SEEDS
from xcid.explanation import Explanation
from xcid.records import Array, Integers, Unsigned
from xcid.subject import Subject
from xcid.table import labels


class Found(NamedTuple):
    """What a method says of n rows."""

    values: Array  # (n, d)
    n_evaluations: Integers  # (n,) beside the rows themselves
    lower: Array | None = None  # (n, d) limits that hold a value with 95%, where the method has some
    upper: Array | None = None
    n_flips: Integers | None = None  # (n,) where the method rests on rows that flip the output


Method: TypeAlias = Callable[[Array, Array, Unsigned], Found]


def explained(subject: Subject, X: Any, seed: int, method: Method, settings: dict[str, Any]) -> Explanation:
    """Score the rows of a table by ``method(rows, outputs, keys)``."""
    rows = subject.space.encode(X)
    outputs = subject.predict(rows)
    found = method(rows, outputs, subject.space.keys(rows, as_int(seed, "seed")))
    n, size = len(rows), np.abs(found.values)
    total = size.sum(axis=1, keepdims=True)
    scored = subject.explanation(
        rows,
        outputs,
        values=found.values,
        importance=np.divide(size, total, out=np.zeros_like(size), where=total > 0),
        lower=found.lower,
        upper=found.upper,
        status=np.full(n, "ok") if found.n_flips is None else np.where(found.n_flips > 0, "ok", "insufficient_flips"),
        n_evaluations=found.n_evaluations + 1,  # and the row itself
        n_flips=np.zeros(n, dtype=np.int64) if found.n_flips is None else found.n_flips,
        n_positive=np.zeros(n),
        n_negative=np.zeros(n),
        index=labels(X, n),
        settings={name: str(value) for name, value in (settings | {"seed": seed} | subject.record).items()},
    )
    return Explanation.of(scored)


class Counting:
    """A predictor that counts the rows that it is called with."""

    def __init__(self, predict: Callable[[Array], Array]) -> None:
        self.predict, self.n_rows = predict, 0

    def __call__(self, matrix: Array) -> Array:
        self.n_rows += len(matrix)
        return self.predict(matrix)


def seeds_of(keys: Unsigned) -> list[int]:
    """Seeds of 32 bits for a library that wants some, from the keys of rows."""
    return (SEEDS.of(keys) >> np.uint64(32)).tolist()
