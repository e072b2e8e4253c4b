"""Scores of many rows, or of many runs of one row, as dots."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xcid._check import whole
from xcid._data import Array, Explanation, Flags
from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter
from xcid.plots import _style

BINS = 60  # of the scores: dots of one bin stand on each other


def beeswarm(explanation: Explanation, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the scores of all rows, a line for each feature, the most important on top.

    A dot is a row. Its colour is the rank of its own value of the feature: dark for low, bright for high; grey for
    missing cells and groups.

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
    order = np.argsort(-np.abs(explanation.values).mean(axis=0), kind="stable")[: whole(most, "most", at_least=1)][::-1]
    ax = _axes(ax, len(order))
    for line, feature in enumerate(order):
        values = explanation.values[:, feature]
        colour, known = _ranks(explanation, int(feature))
        height = line + _stacked(values)
        ax.scatter(values[~known], height[~known], s=9, color=_style.OVERLAP, linewidths=0)
        ax.scatter(values[known], height[known], s=9, c=colour[known], cmap="viridis", vmin=0, vmax=1, linewidths=0)
    ax.set_yticks(np.arange(len(order)), [_style.short(explanation.feature_names[i]) for i in order])
    ax.set_ylim(-0.6, len(order) - 0.4)
    ax.axvline(0, color=_style.INK, linewidth=0.8)
    ax.set_xlabel(_style.axis_label(explanation))
    ax.spines[["top", "right", "left"]].set_visible(False)
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
    order = np.argsort(-np.abs(values.mean(axis=0)), kind="stable")[: whole(most, "most", at_least=1)][::-1]
    ax = _axes(ax, len(order))
    places = np.arange(len(order))
    if len(several) == 1 and first.spread is not None:
        ax.errorbar(values[0, order], places, xerr=first.spread[0, order], fmt="o", color=_style.POSITIVE, capsize=2)
    else:
        for line, feature in enumerate(order):
            ax.scatter(values[:, feature], np.full(len(values), line), s=16, color=_style.POSITIVE, alpha=0.5)
    ax.set_yticks(places, [_style.cell_label(first, int(i)) for i in order])
    ax.axvline(0, color=_style.INK, linewidth=0.8)
    ax.set_xlabel(_style.axis_label(first))
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _axes(ax: Any, n_lines: int) -> Any:
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="plot")
    _, made = pyplot.subplots(figsize=(6, 1 + 0.35 * n_lines), layout="constrained")
    return made


def _ranks(explanation: Explanation, feature: int) -> tuple[Array, Flags]:
    """(n,) ranks of the own values in [0, 1], and which of them there are."""
    columns = explanation.features[feature]
    own = explanation.data[:, columns[0]] if len(columns) == 1 else np.full(len(explanation), np.nan)
    known = ~np.isnan(own)
    _, rank = np.unique(own[known], return_inverse=True)
    colour = np.zeros(len(own))
    colour[known] = rank / max(int(rank.max(initial=0)), 1)
    return colour, known


def _stacked(values: Array) -> Array:
    """(n,) heights within a line: dots of one bin spread about its middle."""
    span = float(np.ptp(values)) or 1.0
    code = np.round((values - values.min()) / span * BINS).astype(np.int64)
    order = np.argsort(code, kind="stable")
    count = np.bincount(code)
    place = np.empty(len(values))
    place[order] = np.arange(len(values)) - np.repeat(np.cumsum(count) - count, count)
    step = 0.8 / max(int(count.max()), 12)
    height: Array = step * (place - (count[code] - 1) / 2)
    return height
