"""The evidence: densities of C+ and C- of each feature, as in the paper's Figure 1."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid._require import require
from xcid.plots import _style
from xcid.records import Array, DensityPair, Explanation
from xcid.wording import colours

MOST_COLUMNS = 4
MOST_LETTERS = 24
ROOM = 30  # letters in a line under a picture
MOST_TICKS = 4


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
            _draw_shares(ax, one.evidence(0, feature))
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
    own = _draw_levels(ax, pair, levels, own) if levels else _draw_number(ax, pair, own)
    if one.units[column]:
        dates = np.round(ax.get_xticks()).astype(np.int64).astype(f"datetime64[{one.units[column]}]")
        ax.set_xticks(ax.get_xticks(), [str(date)[:10] for date in dates], rotation=30, fontsize=_style.SMALL)
    ax.axvline(own, color=colours.INK, linewidth=1, linestyle=":")


def _draw_number(ax: Any, pair: DensityPair, own: float) -> float:
    """Draw curves, and stems for atoms; missing cells stand to the right of all. Gives the place of the own value."""
    cells, atoms = pair[~pair.atoms], pair[pair.atoms]
    ax.fill_between(cells.points, np.minimum(cells.p, cells.q), color=colours.OVERLAP, alpha=0.5, linewidth=0)
    ax.plot(cells.points, cells.p, color=colours.POSITIVE)
    ax.plot(cells.points, cells.q, color=colours.NEGATIVE)
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    missing = np.isnan(atoms.points)
    left, right = _style.span(np.concatenate([cells.points, atoms.points, [own]]), 0.04)
    ax.set_xlim(left, right)
    are_whole = bool(np.all(np.isnan(pair.points) | (pair.points == np.round(pair.points))))
    ax.locator_params(axis="x", nbins=MOST_TICKS, integer=are_whole)
    beyond = right + 0.1 * (right - left)
    if missing.any() or np.isnan(own):
        _style.missing_tick(ax, (left, right - 0.1 * (right - left)), beyond, _style.number)
        ax.set_xlim(left, beyond + 0.04 * (right - left))
    if atoms.points.size:
        _stems(ax, replace(atoms, points=np.where(missing, beyond, atoms.points)))
    return beyond if np.isnan(own) else own


def _draw_levels(ax: Any, pair: DensityPair, levels: tuple[str, ...], own: float) -> float:
    """Draw paired bars of the masses of levels, missing cells last. Gives the place of the own level."""
    place = np.where(np.isnan(pair.points), len(levels), pair.points)
    _paired_bars(ax, place, pair.p, pair.q, 0.4)
    names = [*levels, "missing"]
    _style.level_ticks(ax, place, [names[int(at)] for at in place], ROOM, fontsize=_style.SMALL)
    return len(levels) if np.isnan(own) else own


def _draw_shares(ax: Any, pair: DensityPair) -> None:
    """Draw the joint densities of a group over the share of flips at each place: as far apart as they are."""
    edges = np.linspace(0, 1, 11)
    p, q = (np.histogram(pair.points, edges, weights=pair.weights * mass)[0] for mass in (pair.p, pair.q))
    _paired_bars(ax, (edges[1:] + edges[:-1]) / 2, p, q, 0.04)
    ax.set_xlabel("share of flips among like perturbations", fontsize=_style.SMALL)


def _paired_bars(ax: Any, place: Array, p: Array, q: Array, width: float) -> None:
    """Masses side by side on a scale from 0 to 1; what both have is shaded across the two."""
    ax.bar(place - width / 2, p, width=width, color=colours.POSITIVE)
    ax.bar(place + width / 2, q, width=width, color=colours.NEGATIVE)
    ax.bar(place, np.minimum(p, q), width=2 * width, color=colours.OVERLAP, alpha=0.5)
    _mass_scale(ax)
    ax.spines[["top", "right"]].set_visible(False)


def _stems(ax: Any, atoms: DensityPair) -> None:
    """Atoms side by side on a scale of their own."""
    left, right = ax.get_xlim()
    scale = ax.twinx()
    _mass_scale(scale)
    scale.spines[["top", "left"]].set_visible(False)
    shift = 0.012 * (right - left)
    for way, mass, colour in ((-shift, atoms.p, colours.POSITIVE), (shift, atoms.q, colours.NEGATIVE)):
        scale.vlines(atoms.points + way, 0, mass, color=colour, linewidth=2)
        scale.scatter(atoms.points + way, mass, s=14, color=colour, linewidths=0)
    ax.set_xlim(left, right)


def _mass_scale(ax: Any) -> None:
    ax.set(ylim=(0, 1), yticks=[0, 1])
    ax.tick_params(axis="y", labelsize=_style.SMALL)
