"""Two questions to a model before the first explanation: is it deterministic, and does a row stand for itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from xcid.errors import ModelError, warn
from xcid.records import Array

ROWS = 22  # asked three times: together, together again, and in parts
TOLERANCE = 1e-6  # relative to the largest output
RANDOM = (
    "the model is not deterministic: {rows} background rows got another answer when asked again (by up to {gap:.3g}), "
    "so explanations will not repeat: switch its randomness off or fix its seed"
)
DEPENDENT = (
    "the model's answer for a row depends on the other rows of the call: {rows} background rows got another answer in "
    "a smaller call (by up to {gap:.3g}), so explanations depend on how rows are put together: give a model that "
    "answers each row by itself"
)


def preflight(predict: Callable[[Array], Array], background: Array, n_outputs: int, precision: float) -> None:
    """Warn about a model whose answer for a row changes from call to call or with the rows beside it.

    Where the model fails there is nothing to compare, and the error comes when it is asked in earnest. ``precision`` is
    the machine precision of its answers: a network in single precision may differ by some units of it.
    """
    rows, tolerance = background[:ROWS], max(TOLERANCE, 100 * precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a model says of these few rows it says again of others
        first, again = (_answers(predict, rows, n_outputs) for _ in range(2))
        parts = np.split(rows, [1, 1 + len(rows) // 2])  # the first row alone, and two halves of the rest
        split = np.concatenate([_answers(predict, part, n_outputs) for part in parts if len(part)])
    for other, message in ((again, RANDOM), (split, DEPENDENT)):
        gaps = np.abs(first - other)
        scale = np.fmax(np.abs(first), np.abs(other)).max(axis=0)
        changed = np.any(gaps > tolerance * scale, axis=1)  # never a row that got no answer
        if changed.any():
            warn(message.format(rows=f"{changed.sum()} of {len(rows)}", gap=np.nanmax(gaps)))
            return


def _answers(predict: Callable[[Array], Array], rows: Array, n_outputs: int) -> Array:
    """Outputs of the rows; NaN where the model fails, as some do on a single row."""
    try:
        return predict(rows)
    except ModelError:
        return np.full((len(rows), n_outputs), np.nan)
