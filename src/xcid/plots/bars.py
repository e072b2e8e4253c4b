"""Scores of one row as bars."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid.plots import _style
from xcid.records import Explanation
from xcid.wording import colours


def bar(explanation: Explanation, row: int = 0, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the scores of one row, at ``most`` so many, the largest on top, on ``ax`` or new Axes.

    Lines are 95 % limits, where there are any; bars of features that are not significant are hollow.
    """
    one = explanation[row]
    order = wording.largest(one.values[0], as_int(most, "most", at_least=1))[::-1]
    values, is_hollow = one.values[0, order], wording.not_significant(one)[0, order]
    ax = _style.lines(ax, [_style.cell_label(one, int(at)) for at in order])
    edges, places = colours.of_scores(one, values), np.arange(len(order))
    ax.barh(places, values, height=0.7, color=_style.faces(edges, is_hollow), edgecolor=edges, linewidth=1)
    limits = _style.reach(one, (0, order))
    if limits is not None:
        ax.errorbar(values, places, xerr=limits, fmt="none", ecolor=colours.INK, elinewidth=1, capsize=2)
    ax.set_title(_style.title(one), fontsize=10)
    left_out = wording.left_out(len(one.feature_names), len(order))
    _style.explain_axis(ax, one, _style.marks(limits, is_hollow), left_out)
    return ax
