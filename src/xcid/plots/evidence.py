"""The evidence: densities of C+ and C- of each feature, as in the paper's Figure 1."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._check import whole
from xcid._data import DensityPair, Explanation
from xcid._require import require
from xcid.plots import _style


def densities(explanation: Explanation, row: int = 0, *, axes: Any = None, most: int = 12) -> Any:
    """Draw the densities of C+ and C- of the features of one row, most important first.

    The overlap is shaded, the row's own value marked, d1 printed. Atoms are stems whose height is their mass, on the
    right-hand scale from 0 to 1.

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
        figure, grid = pyplot.subplots(
            n_rows, n_columns, figsize=(3.1 * n_columns, 2.4 * n_rows + 0.4), squeeze=False, layout="constrained"
        )
        axes = grid.ravel()
        for unused in axes[len(order) :]:
            unused.set_visible(False)
        axes = axes[: len(order)]
    for ax, feature in zip(np.ravel(axes), order, strict=False):
        _draw(ax, one.evidence(0, int(feature)))
        ax.axvline(one.data[0, feature], color=_style.INK, linewidth=1, linestyle=":")
        ax.set_title(f"{one.feature_names[feature]}   d1 = {one.importance[0, feature]:.2f}", fontsize=10)
    figure = np.ravel(axes)[0].figure
    handles, labels = np.ravel(axes)[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return axes


def _draw(ax: Any, pair: DensityPair) -> None:
    cells, atoms = pair[~pair.atoms], pair[pair.atoms]
    ax.fill_between(cells.points, np.minimum(cells.p, cells.q), color=_style.OVERLAP, alpha=0.5, label="overlap")
    ax.plot(cells.points, cells.p, color=_style.POSITIVE, label="C+ (output flips)")
    ax.plot(cells.points, cells.q, color=_style.NEGATIVE, label="C- (output stays)")
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    if atoms.points.size:
        _draw_atoms(ax, atoms)


def _draw_atoms(ax: Any, atoms: DensityPair) -> None:
    """Stems side by side on a scale of their own."""
    scale = ax.twinx()
    scale.set_ylim(0, 1)
    scale.set_yticks([0, 1])
    scale.tick_params(labelsize=7)
    scale.spines[["top", "left"]].set_visible(False)
    left, right = ax.get_xlim()
    shift = 0.012 * (right - left)
    scale.vlines(atoms.points - shift, 0, atoms.p, color=_style.POSITIVE, linewidth=3)
    scale.vlines(atoms.points + shift, 0, atoms.q, color=_style.NEGATIVE, linewidth=3)
