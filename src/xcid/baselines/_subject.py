"""What the baselines share: a checked model with its table, a counter, and the way into an Explanation."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from xcid._check import as_int
from xcid._kernels.streams import SEEDS
from xcid._kernels.thinning import thinned
from xcid.models import Predictor, names_for, wrap
from xcid.records import Array, Explanation, Integers, Unsigned
from xcid.space import Constraints, Features, FeatureSpace, labels

MEMORY = 2**28  # bytes that one call of the model may take

Method: TypeAlias = Callable[[Array, Array, Unsigned], tuple[Array, Integers]]


@dataclass(frozen=True, slots=True, eq=False)
class Subject:
    """A model and the table that it is explained on.

    Attributes
    ----------
    space : FeatureSpace
    predict : Predictor
    outputs : (N, k)
        Of the background.
    """

    space: FeatureSpace
    predict: Predictor
    outputs: Array

    @classmethod
    def of(cls, model: Any, background: Any) -> Subject:
        """Learn the table and try the model, as :class:`xcid.Explainer` does."""
        space = FeatureSpace.of(background, names_for(model, background))
        return cls(space, *wrap(model, space, MEMORY))

    @property
    def is_regression(self) -> bool:
        """One number a row, no classes."""
        return self.outputs.shape[1] == 1

    def sample(self, count: int) -> Array:
        """(at most count, d) background rows, spread evenly over it."""
        return self.space.background[thinned(len(self.space.background), count)]

    def explain(self, X: Any, seed: int, method: Method, settings: dict[str, Any]) -> Explanation:
        """Score the rows of a table by ``method(rows, outputs, keys) -> (n, d) values, (n,) evaluations``."""
        rows = self.space.encode(X)
        outputs = self.predict(rows)
        values, n_evaluations = method(rows, outputs, self.space.keys(rows, as_int(seed, "seed")))
        features, n = Features.of(self.space, Constraints()), len(rows)
        return Explanation(
            values=values,
            importance=_shares(values),
            direction=np.sign(values),
            status=np.full(n, "ok"),
            feature_status=features.status(rows),
            n_evaluations=n_evaluations + 1,  # and the row itself
            n_flips=np.zeros(n, dtype=np.int64),
            n_positive=np.zeros(n),
            n_negative=np.zeros(n),
            index=labels(X, n),
            feature_names=self.space.names,
            data=rows,
            column_names=self.space.names,
            features=features.columns,
            outputs=outputs,
            output_names=self.predict.read.names,
            levels=tuple(tuple(str(level) for level in column.levels) for column in self.space.columns),
            units=tuple(column.unit for column in self.space.columns),
            scales=tuple(self.space.scales.tolist()),
            settings={name: str(value) for name, value in (settings | {"seed": seed}).items()},
        )


class Counting:
    """A predictor that counts the rows that it is asked about."""

    def __init__(self, predict: Callable[[Array], Array]) -> None:
        self.predict, self.n_rows = predict, 0

    def __call__(self, matrix: Array) -> Array:
        self.n_rows += len(matrix)
        return self.predict(matrix)


def seeds_of(keys: Unsigned) -> list[int]:
    """Seeds of 32 bits for a library that wants some, from the keys of rows."""
    return (SEEDS.of(keys) >> np.uint64(32)).tolist()


def _shares(values: Array) -> Array:
    size = np.abs(values)
    total = size.sum(axis=1, keepdims=True)
    return np.divide(size, total, out=np.zeros_like(size), where=total > 0)
