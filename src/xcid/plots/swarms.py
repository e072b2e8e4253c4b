"""Scores of many rows, or of many runs of one row, as dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid.errors import InvalidData, InvalidParameter
from xcid.plots import _style
from xcid.plots._stack import stacked
from xcid.records import Array, Explanation, Flags


def beeswarm(explanation: Explanation, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the scores of all rows, a line for each feature, the most important on top.

    A dot is a row. Its colour is the rank of its own value of the feature: dark for low, bright for high, and for
    levels their order; grey for missing cells and groups.

    Parameters
    ----------
    explanation : Explanation
    ax : matplotlib Axes, optional
    most : int
        Features shown.

    Returns
    -------
    matplotlib Axes
    """
    if not len(explanation):
        raise InvalidData("there are no rows to draw")
    order = wording.largest(np.abs(explanation.values).mean(axis=0), as_int(most, "most", at_least=1))[::-1]
    ax = _style.lines(ax, [_style.short(explanation.feature_names[i]) for i in order])
    span = float(np.ptp(explanation.values[:, order]))
    for line, feature in enumerate(order):
        values = explanation.values[:, feature]
        colour, known = _ranks(explanation, int(feature))
        height = line + stacked(values, span)
        ax.scatter(values[~known], height[~known], s=9, color=_style.OVERLAP, linewidths=0)
        drawn = ax.scatter(
            values[known], height[known], s=9, c=colour[known], cmap=_style.ranks(), vmin=0, vmax=1, linewidths=0
        )
    _draw_scale(ax, drawn)
    _style.explain_axis(ax, explanation, _style.left_out(len(explanation.feature_names), len(order)))
    return ax


def stability(runs: Explanation | Sequence[Explanation], row: int = 0, *, ax: Any = None, most: int = 20) -> Any:
    """Draw how the scores of one row differ between runs.

    Parameters
    ----------
    runs : Explanation or sequence of Explanation
        Runs of the same rows with other seeds: each is a dot. Or one explanation with ``repeats``: its mean, with one
        standard deviation of its runs to either side.
    row : int
    ax : matplotlib Axes, optional
    most : int
        Features shown.

    Returns
    -------
    matplotlib Axes
    """
    several = [runs[row]] if isinstance(runs, Explanation) else [run[row] for run in runs]
    if not several or (len(several) == 1 and several[0].spread is None):
        raise InvalidParameter("there is only one run: give several, or explain with repeats=10")
    first = several[0]
    values = np.array([run.values[0] for run in several])  # (runs, d)
    order = wording.largest(values.mean(axis=0), as_int(most, "most", at_least=1))[::-1]
    ax = _style.lines(ax, [_style.cell_label(first, int(i)) for i in order])
    places = np.arange(len(order))
    if len(several) == 1 and first.spread is not None:
        note = "lines: one standard deviation of a run"
        ax.errorbar(
            values[0, order], places, xerr=first.spread[0, order], fmt="o", markersize=4, color=_style.POSITIVE,
            capsize=2,
        )  # fmt: skip
    else:
        note = f"dots: {len(several)} runs; bars: their means"
        for line, feature in enumerate(order):
            ax.scatter(values[:, feature], np.full(len(values), line), s=16, color=_style.POSITIVE, alpha=0.5)
        ax.plot(values.mean(axis=0)[order], places, "|", color=_style.INK, markersize=12)
    ax.set_title(_style.title(first), fontsize=10)
    _style.explain_axis(ax, first, note, _style.left_out(values.shape[1], len(order)))
    return ax


def _draw_scale(ax: Any, drawn: Any) -> None:
    """A slim scale from low to high."""
    scale = ax.figure.colorbar(drawn, ax=ax, ticks=[0, 1], aspect=40, pad=0.02)
    scale.ax.set_yticklabels(["low", "high"], fontsize=_style.SMALL)
    scale.ax.tick_params(length=0)
    scale.set_label("own value", fontsize=_style.SMALL, labelpad=-12)
    scale.outline.set_visible(False)


def _ranks(explanation: Explanation, feature: int) -> tuple[Array, Flags]:
    """(n,) ranks of the own values in [0, 1], and which of them there are."""
    columns = explanation.features[feature]
    own = explanation.data[:, columns[0]] if len(columns) == 1 else np.full(len(explanation), np.nan)
    known = ~np.isnan(own)
    _, rank = np.unique(own[known], return_inverse=True)
    colour = np.zeros(len(own))
    colour[known] = rank / max(int(rank.max(initial=0)), 1)
    return colour, known
