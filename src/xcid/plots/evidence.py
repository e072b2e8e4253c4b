"""The evidence: densities of C+ and C- of each feature, as in the paper's Figure 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid._require import require
from xcid.plots import _style
from xcid.plots._pair import draw_levels, draw_number, draw_shares
from xcid.records import Explanation
from xcid.wording import colours

MOST_COLUMNS = 4
MOST_LETTERS = 24


def densities(explanation: Explanation, row: int = 0, *, axes: Any = None, most: int = 12) -> Any:
    """Draw the densities of C+ and C- of the features of one row, most important first.

    The overlap is shaded, the row's own value marked, d1 printed. Atoms are stems whose height is their mass, on the
    right-hand scale from 0 to 1; levels are paired bars; missing cells stand last. Curves have no scale: the area under
    one is the mass that is not in its atoms. ``axes`` is an array of Axes, one for each feature drawn, and comes back.
    """
    one = explanation[row]
    order = wording.largest(one.importance[0], as_int(most, "most", at_least=1)).tolist()
    if axes is None:
        axes = _grid(one, len(order))
    flat = np.ravel(axes)
    for ax, feature in zip(flat, order, strict=False):
        if len(one.features[feature]) > 1:
            draw_shares(ax, one.evidence(0, feature))
        else:
            _draw_column(ax, one, feature)
        name = _style.short(one.feature_names[feature], MOST_LETTERS)
        ax.set_title(f"{name}   d1 = {one.importance[0, feature]:.2f}", fontsize=10)
    _draw_legend(flat[0].figure)
    return axes


def _grid(one: Explanation, count: int) -> Any:
    """(count,) axes of a new figure that is named for its row."""
    n_columns = min(MOST_COLUMNS, count)
    n_rows = -(-count // n_columns)
    size = (max(3.1 * n_columns, 4.6), 2.4 * n_rows + 0.7)  # room for the legend
    pyplot = require("matplotlib.pyplot", extra="plot")
    figure, grid = pyplot.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained")
    n_features = len(one.feature_names)
    note = f"\nlargest d1: {count} of {n_features} features" if n_features > count else ""
    figure.suptitle(f"{_style.title(one)}{note}", fontsize=10)
    for unused in grid.ravel()[count:]:
        unused.set_visible(False)
    return grid.ravel()[:count]


def _draw_legend(figure: Any) -> None:
    patch = require("matplotlib.patches", extra="plot").Patch
    line = require("matplotlib.lines", extra="plot").Line2D
    handles = [
        patch(color=colours.POSITIVE, label="C+ (output flips)"),
        patch(color=colours.NEGATIVE, label="C− (output stays)"),
        patch(color=colours.OVERLAP, alpha=0.5, linewidth=0, label="overlap"),
        line([], [], color=colours.INK, linewidth=1, linestyle=":", label="own value"),
        line([], [], color=colours.INK, linewidth=2, marker="o", markersize=4, label="atom: share at one value"),
    ]
    n_columns = 5 if figure.get_figwidth() > 9 else 3 if figure.get_figwidth() > 6 else 2
    place = {"loc": "outside lower center", "ncols": n_columns}
    figure.legend(handles=handles, frameon=False, fontsize=_style.SMALL + 1, **place)


def _draw_column(ax: Any, one: Explanation, feature: int) -> None:
    """Draw the densities of a feature that is one column, and mark its own value."""
    (column,) = one.features[feature]
    pair, levels, own = one.evidence(0, feature), one.levels[column], float(one.data[0, column])
    own = draw_levels(ax, pair, levels, own) if levels else draw_number(ax, pair, own)
    if one.units[column]:
        dates = np.round(ax.get_xticks()).astype(np.int64).astype(f"datetime64[{one.units[column]}]")
        ax.set_xticks(ax.get_xticks(), [str(date)[:10] for date in dates], rotation=30, fontsize=_style.SMALL)
    ax.axvline(own, color=colours.INK, linewidth=1, linestyle=":")
