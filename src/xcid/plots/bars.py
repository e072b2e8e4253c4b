"""Scores of one row as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid.plots import _style
from xcid.records import Array, Explanation


def bar(explanation: Explanation, row: int = 0, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the scores of one row, largest on top.

    Lines are 95 % limits, where there are any; bars of features that cannot be told from noise are hollow.

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
    order = wording.largest(values, as_int(most, "most", at_least=1))[::-1]
    ax = _style.lines(ax, [_style.cell_label(one, int(i)) for i in order])
    colours, is_noise = _style.signs(one, values[order]), wording.noise(one)[0, order]
    places = np.arange(len(order))
    ax.barh(places, values[order], height=0.7, color=_style.faces(colours, is_noise), edgecolor=colours, linewidth=1)
    notes = []
    if one.lower is not None and one.upper is not None:
        _draw_limits(ax, values[order], one.lower[0, order], one.upper[0, order])
        notes.append("lines: 95 % limits")
    if is_noise.any():
        notes.append(f"hollow: {wording.NOISE}")
    ax.set_title(_style.title(one), fontsize=10)
    _style.explain_axis(ax, one, "; ".join(notes), _style.left_out(len(values), len(order)))
    return ax


def _draw_limits(ax: Any, values: Array, lower: Array, upper: Array) -> None:
    """Draw 95 % limits."""
    reach = np.maximum([values - lower, upper - values], 0.0)
    ax.errorbar(values, np.arange(len(values)), xerr=reach, fmt="none", ecolor=_style.INK, elinewidth=1, capsize=2)
