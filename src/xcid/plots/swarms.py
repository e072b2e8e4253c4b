"""Scores of many rows, or of many runs of one row, as dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid.errors import InvalidData, InvalidParameter
from xcid.plots import _style
from xcid.plots._places import ranks, stacked
from xcid.records import Array, Explanation
from xcid.wording import colours


def beeswarm(explanation: Explanation, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the scores of all rows, a line for each of at ``most`` so many features, the most important on top.

    A dot is a row. Its colour is the rank of its own value of the feature: dark for low, bright for high, and for
    levels their order; grey for missing cells and groups.
    """
    if not len(explanation):
        raise InvalidData("there are no rows to draw")
    order = wording.largest(np.abs(explanation.values).mean(axis=0), as_int(most, "most", at_least=1))[::-1]
    ax = _style.lines(ax, [_style.short(explanation.feature_names[at]) for at in order])
    length = float(np.ptp(explanation.values[:, order]))
    for line, feature in enumerate(order):
        values, rank = explanation.values[:, feature], ranks(_own(explanation, int(feature)))
        known, height = ~np.isnan(rank), line + stacked(values, length)
        ax.scatter(values[~known], height[~known], s=9, color=colours.OVERLAP, linewidths=0)
        drawn = ax.scatter(
            values[known], height[known], s=9, c=rank[known], cmap=_style.ranks(), vmin=0, vmax=1, linewidths=0
        )
    _draw_scale(ax, drawn)
    _style.explain_axis(ax, explanation, wording.left_out(len(explanation.feature_names), len(order)))
    return ax


def stability(runs: Explanation | Sequence[Explanation], row: int = 0, *, ax: Any = None, most: int = 20) -> Any:
    """Draw how the scores of one row differ between runs.

    Several ``runs`` of the same rows with other seeds are dots. A single explanation with ``repeats`` is drawn as its
    mean, with one standard deviation of its runs to either side.
    """
    several = [runs[row]] if isinstance(runs, Explanation) else [run[row] for run in runs]
    if not several or (len(several) == 1 and several[0].spread is None):
        raise InvalidParameter("there is only one run: give several, or explain with repeats=10")
    first = several[0]
    values = np.array([run.values[0] for run in several])  # (runs, d)
    mean = values.mean(axis=0)
    order = wording.largest(mean, as_int(most, "most", at_least=1))[::-1]
    ax = _style.lines(ax, [_style.cell_label(first, int(at)) for at in order])
    places = np.arange(len(order))
    if len(several) == 1 and first.spread is not None:
        note, look = "lines: one standard deviation of a run", {"fmt": "o", "markersize": 4, "capsize": 2}
        ax.errorbar(mean[order], places, xerr=first.spread[0, order], color=colours.POSITIVE, **look)
    else:
        note = f"dots: {len(several)} runs; bars: their means"
        for line, feature in enumerate(order):
            ax.scatter(values[:, feature], np.full(len(values), line), s=16, color=colours.POSITIVE, alpha=0.5)
        ax.plot(mean[order], places, "|", color=colours.INK, markersize=12)
    ax.set_title(_style.title(first), fontsize=10)
    _style.explain_axis(ax, first, note, wording.left_out(len(mean), len(order)))
    return ax


def _own(explanation: Explanation, feature: int) -> Array:
    """(n,) the rows' own values of a feature; a group has none."""
    columns = explanation.features[feature]
    return explanation.data[:, columns[0]] if len(columns) == 1 else np.full(len(explanation), np.nan)


def _draw_scale(ax: Any, drawn: Any) -> None:
    """A slim scale from low to high."""
    scale = ax.figure.colorbar(drawn, ax=ax, ticks=[0, 1], aspect=40, pad=0.02)
    scale.ax.set_yticklabels(["low", "high"], fontsize=_style.SMALL)
    scale.ax.tick_params(length=0)
    scale.set_label("own value", fontsize=_style.SMALL, labelpad=-12)
    scale.outline.set_visible(False)
