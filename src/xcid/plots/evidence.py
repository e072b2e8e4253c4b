"""The evidence: densities of C+ and C- of each feature, as in the paper's Figure 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._check import whole
from xcid._data import Explanation
from xcid._require import require
from xcid.plots import _style
from xcid.plots._pair import draw_levels, draw_number, draw_shares


def densities(explanation: Explanation, row: int = 0, *, axes: Any = None, most: int = 12) -> Any:
    """Draw the densities of C+ and C- of the features of one row, most important first.

    The overlap is shaded, the row's own value marked, d1 printed. Atoms are stems whose height is their mass, on the
    right-hand scale from 0 to 1; levels are paired bars; missing cells stand last.

    Parameters
    ----------
    explanation : Explanation
    row : int
    axes : array of matplotlib Axes, optional
        One for each feature drawn.
    most : int
        Features shown.

    Returns
    -------
    array of matplotlib Axes
    """
    one = explanation[row]
    order = np.argsort(-one.importance[0], kind="stable")[: whole(most, "most", at_least=1)]
    if axes is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        n_columns = min(4, len(order))
        n_rows = -(-len(order) // n_columns)
        _, grid = pyplot.subplots(
            n_rows, n_columns, figsize=(3.1 * n_columns, 2.4 * n_rows + 0.4), squeeze=False, layout="constrained"
        )
        axes = grid.ravel()
        for unused in axes[len(order) :]:
            unused.set_visible(False)
        axes = axes[: len(order)]
    for ax, feature in zip(np.ravel(axes), order, strict=False):
        if len(one.features[feature]) > 1:
            draw_shares(ax, one.evidence(0, int(feature)))
        else:
            _draw_column(ax, one, int(feature))
        ax.set_title(f"{one.feature_names[feature]}   d1 = {one.importance[0, feature]:.2f}", fontsize=10)
    patch = require("matplotlib.patches", extra="plot").Patch
    handles = [
        patch(color=_style.POSITIVE, label="C+ (output flips)"),
        patch(color=_style.NEGATIVE, label="C- (output stays)"),
        patch(color=_style.OVERLAP, alpha=0.5, label="overlap"),
    ]
    np.ravel(axes)[0].figure.legend(handles=handles, loc="outside lower center", ncols=3, frameon=False)
    return axes


def _draw_column(ax: Any, one: Explanation, feature: int) -> None:
    """Draw the densities of a feature that is one column, and mark its own value."""
    (column,) = one.features[feature]
    pair, levels, own = one.evidence(0, feature), one.levels[column], float(one.data[0, column])
    own = draw_levels(ax, pair, levels, own) if levels else draw_number(ax, pair, own)
    if one.units[column]:
        dates = np.round(ax.get_xticks()).astype(np.int64).astype(f"datetime64[{one.units[column]}]")
        ax.set_xticks(ax.get_xticks(), [str(date)[:10] for date in dates], rotation=30, fontsize=8)
    ax.axvline(own, color=_style.INK, linewidth=1, linestyle=":")
