"""Two questions to a model before the first explanation: is it deterministic, and does a row stand for itself."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from xcid.errors import ModelError, warn
from xcid.records import Array, Flags

ROWS = 22  # asked three times: whole, whole again, and in parts
TOLERANCE = 1e-6  # relative to the largest output


def preflight(predict: Callable[[Array], Array], background: Array, n_outputs: int, precision: float) -> None:
    """Warn about a model whose answer for a row changes from call to call or with the rows beside it.

    Parameters
    ----------
    predict : callable
        From (n, d) rows to (n, k) outputs; where it fails there is nothing to compare, and the error comes when the
        model is asked in earnest.
    background : (N, d)
    n_outputs : int
    precision : float
        The machine precision of the model's answers: a network in single precision may differ by some units of it.
    """
    rows, tolerance = background[:ROWS], max(TOLERANCE, 100 * precision)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what a model says of these few rows it says again of others
        whole = _answers(predict, rows, n_outputs)
        again = _answers(predict, rows, n_outputs)
        split = np.concatenate([_answers(predict, part, n_outputs) for part in _split(rows)])
    changed = _differ(whole, again, tolerance)
    if changed.any():
        warn(
            f"the model is not deterministic: {changed.sum()} of {len(rows)} background rows got another answer when "
            f"asked again (by up to {_gap(whole, again):.3g}), so explanations will not repeat: switch its randomness "
            "off or fix its seed"
        )
        return
    changed = _differ(whole, split, tolerance)
    if changed.any():
        warn(
            f"the model's answer for a row depends on the other rows of the call: {changed.sum()} of {len(rows)} "
            f"background rows got another answer in a smaller call (by up to {_gap(whole, split):.3g}), so "
            "explanations depend on how rows are put together: give a model that answers each row by itself"
        )


def _split(rows: Array) -> list[Array]:
    """The first row alone, and two halves of the rest."""
    return [part for part in np.split(rows, [1, 1 + len(rows) // 2]) if len(part)]


def _answers(predict: Callable[[Array], Array], rows: Array, n_outputs: int) -> Array:
    """Outputs of the rows; NaN where the model fails, as some do on a single row."""
    try:
        return predict(rows)
    except ModelError:
        return np.full((len(rows), n_outputs), np.nan)


def _differ(first: Array, second: Array, tolerance: float) -> Flags:
    """(n,) which rows differ; never one that got no answer."""
    scale = np.fmax(np.abs(first), np.abs(second)).max(axis=0)
    return np.any(np.abs(first - second) > tolerance * scale, axis=1)


def _gap(first: Array, second: Array) -> float:
    return float(np.nanmax(np.abs(first - second)))
