"""The subjects of the races: fitted models, a model that costs next to nothing, and rows of random numbers."""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from xcid.lab.subjects import Subject, fitted
from xcid.records import Array

MODEL_SEED = 0


@functools.cache
def in_frames(table: str, name: str) -> Subject:
    """A model fitted on a data frame, as the paper's stack wants it."""
    return fitted(table, name, MODEL_SEED)


@functools.cache
def in_arrays(table: str, name: str) -> Subject:
    """A model fitted on an array, which no contestant has to make a table for."""
    return fitted(table, name, MODEL_SEED, np.asarray)


def linear(n_columns: int) -> Callable[[Array], Array]:
    """A model that costs next to nothing: what is left is the cost of explaining."""
    weights = np.random.default_rng(MODEL_SEED).normal(size=n_columns) / np.sqrt(n_columns)
    return lambda X: 1 / (1 + np.exp(-(X @ weights)))


class Timed:
    """A model's function that counts the processor's seconds inside it."""

    def __init__(self, predict: Callable[[Any], Any]) -> None:
        self.predict, self.seconds = predict, 0.0

    def __call__(self, X: Any) -> Any:
        """Ask the model."""
        start = time.process_time()
        answers = self.predict(X)
        self.seconds += time.process_time() - start
        return answers


def cloud_of(n_rows: int, n_columns: int, seed: int = 0) -> Array:
    """(n, d) rows of normal numbers."""
    return np.random.default_rng(seed).normal(size=(n_rows, n_columns))
