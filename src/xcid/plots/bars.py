"""Scores of one row as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._check import whole
from xcid._data import SIGNIFICANT, Array, Explanation
from xcid._require import require
from xcid.plots import _style


def bar(explanation: Explanation, row: int = 0, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the scores of one row, largest on top.

    Parameters
    ----------
    explanation : Explanation
    row : int
    ax : matplotlib Axes, optional
    most : int
        Features shown.

    Returns
    -------
    matplotlib Axes
    """
    one = explanation[row]
    values = one.values[0]
    order = np.argsort(-np.abs(values), kind="stable")[: whole(most, "most", at_least=1)][::-1]
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        _, ax = pyplot.subplots(figsize=(6, 1 + 0.35 * len(order)), layout="constrained")
    colours = [_style.HOLDS if values[i] >= 0 else _style.PULLS for i in order]
    ax.barh(np.arange(len(order)), values[order], color=colours)
    if one.lower is not None and one.upper is not None:
        _draw_limits(ax, values[order], one.lower[0, order], one.upper[0, order])
    if one.p_values is not None:  # what cannot be told from noise is pale
        for drawn, p_value in zip(ax.patches, one.p_values[0, order], strict=False):
            drawn.set_alpha(1.0 if p_value <= SIGNIFICANT else 0.35)
    ax.set_yticks(np.arange(len(order)), [_style.cell_label(one, int(i)) for i in order])
    ax.axvline(0, color=_style.INK, linewidth=0.8)
    ax.set_xlabel(_style.axis_label(one))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _draw_limits(ax: Any, values: Array, lower: Array, upper: Array) -> None:
    """Draw 95 % limits."""
    reach = np.maximum([values - lower, upper - values], 0.0)
    ax.errorbar(values, np.arange(len(values)), xerr=reach, fmt="none", ecolor=_style.INK, elinewidth=1, capsize=2)
