"""The evidence: densities of C+ and C- of each feature, as in the paper's Figure 1."""

from __future__ import annotations

import textwrap
from dataclasses import replace
from typing import Any

import numpy as np

from xcid import directions
from xcid._check import as_int
from xcid._require import require
from xcid.cid.drawn import DrawnPair, drawn, kept_shares
from xcid.records import Array, DensityPair, Explanation
from xcid.show import wording
from xcid.show.plots import _style
from xcid.show.wording import colours
from xcid.show.wording import rows as words

MOST_COLUMNS = 4
MOST_LETTERS = 24  # of a value
ROOM = 30  # letters of all names of levels that stand side by side
LINE = 36  # letters in a line under a picture
MOST_TICKS = 4


def densities(explanation: Explanation, row: int = 0, *, axes: Any = None, most: int = 12) -> Any:
    """Draw the densities of C+ and C- of the features of one row, those with the largest values first.

    What both have is shaded, the row's own value marked, d1 printed, and words say how many of either set keep the own
    value. Curves hold the noise of few samples, which is taken out of d1: theirs stands in brackets where it differs.
    Values that are taken again and again have lines as high as their shares, on the right-hand scale; levels are
    paired bars; missing cells stand last. Curves have no scale: the area under one is the share of all other values.
    They end where values end, but for those of a plain kernel, which have the d1 that is printed. ``axes`` is an array
    of Axes, one for each feature drawn, and comes back.
    """
    one = explanation[row]
    order = wording.rank_largest(one.values[0], as_int(most, "most", at_least=1)).tolist()
    if axes is None:
        axes = _grid(one, len(order))
    flat = np.ravel(axes)
    for ax, feature in zip(flat, order, strict=False):
        cloud, density = directions.require_evidence(one)
        found = drawn(cloud, 0, feature, density) if len(one.details.features[feature]) == 1 else None
        pair = directions.evidence(one, 0, feature) if found is None else found.pair
        if found is None:
            _draw_shares(ax, pair)
        else:
            _draw_column(ax, one, feature, found)
        name = _style.shorten_name(one.feature_names[feature])
        noise = words.measure_noise(one, 0, feature, pair)
        as_drawn = "" if noise is None else f" ({noise:.2f} as drawn)"
        ax.set_title(f"{name}\nd1 = {one.importance[0, feature]:.2f}{as_drawn}", fontsize=10)
        _say_why(ax, one, feature, found)
    _draw_legend(flat[0].figure, words.name_flips(one))
    return axes


def _say_why(ax: Any, one: Explanation, feature: int, found: DrawnPair | None) -> None:
    """Put into words what is seen."""
    if one.cloud is None:
        return
    shown = _style.shorten_name(one.shown(0, feature), MOST_LETTERS)
    said = words.word_evidence(kept_shares(one.cloud, 0, feature, found), shown, wording.choose_verb(one))
    lines = textwrap.wrap(said.replace(" %", "\N{NO-BREAK SPACE}%"), LINE)
    ax.set_xlabel("\n".join([*filter(None, [ax.get_xlabel()]), *lines]), fontsize=_style.SMALL)


def _grid(one: Explanation, count: int) -> Any:
    """(count,) axes of a new figure that is named for its row."""
    n_columns = min(MOST_COLUMNS, count)
    n_rows = -(-count // n_columns)
    size = (max(3.1 * n_columns, 4.6), 2.7 * n_rows + 1.3)  # room for the question and the legend
    pyplot = require("matplotlib.pyplot", extra="plot")
    figure, grid = pyplot.subplots(n_rows, n_columns, figsize=size, squeeze=False, layout="constrained")
    n_features = len(one.feature_names)
    what = "scores" if one.base_values is None else "contributions"
    note = f"\nlargest {what}: {count} of {n_features} features" if n_features > count else ""
    figure.suptitle(f"{_style.title_row(one)}{note}\n{_style.fold_text(one.question)}", fontsize=10)
    for unused in grid.ravel()[count:]:
        unused.set_visible(False)
    return grid.ravel()[:count]


def _draw_legend(figure: Any, flips: str) -> None:
    patch = require("matplotlib.patches", extra="plot").Patch
    line = require("matplotlib.lines", extra="plot").Line2D
    handles = [
        patch(color=colours.POSITIVE, label=flips),
        patch(color=colours.NEGATIVE, label=words.STAYS),
        patch(color=colours.OVERLAP, alpha=0.5, linewidth=0, label=words.BOTH),
        line([], [], color=colours.INK, linewidth=1, linestyle=":", label=words.OWN),
        line([], [], color=colours.INK, linewidth=2, marker="o", markersize=4, label=words.AT_ONE_VALUE),
    ]
    n_columns = 3 if figure.get_figwidth() > 11 else 2 if figure.get_figwidth() > 8 else 1
    place = {"loc": "outside lower center", "ncols": n_columns}
    figure.legend(handles=handles, frameon=False, fontsize=_style.SMALL + 1, **place)


def _draw_column(ax: Any, one: Explanation, feature: int, found: DrawnPair) -> None:
    """Draw the densities of a feature that is one column, and mark its own value."""
    (column,) = one.details.features[feature]
    levels, own = one.details.levels[column], float(one.data[0, column])
    own = _draw_levels(ax, found.pair, levels, own) if levels else _draw_number(ax, found, own)
    if one.details.units[column]:
        dates = np.round(ax.get_xticks()).astype(np.int64).astype(f"datetime64[{one.details.units[column]}]")
        ax.set_xticks(ax.get_xticks(), [str(date)[:10] for date in dates], rotation=30, fontsize=_style.SMALL)
    ax.axvline(own, color=colours.INK, linewidth=1, linestyle=":")


def _draw_number(ax: Any, found: DrawnPair, own: float) -> float:
    """Draw curves, and stems for atoms; missing cells stand to the right of all. Gives the place of the own value."""
    pair = replace(found.pair, points=found.values(found.pair.points))
    cells, atoms = pair[~pair.atoms], pair[pair.atoms]
    ax.fill_between(cells.points, np.minimum(cells.p, cells.q), color=colours.OVERLAP, alpha=0.5, linewidth=0)
    ax.plot(cells.points, cells.p, color=colours.POSITIVE)
    ax.plot(cells.points, cells.q, color=colours.NEGATIVE)
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    missing = np.isnan(atoms.points)
    left, right = _style.set_scale(ax, np.concatenate([cells.points, atoms.points, [own]]), 0.04, found.width)
    if not found.width:
        are_whole = bool(np.all(np.isnan(pair.points) | (pair.points == np.round(pair.points))))
        ax.locator_params(axis="x", nbins=MOST_TICKS, integer=are_whole)
    low, high = found.places(np.array([left, right]))
    last, beyond, end = found.values(high + (high - low) * np.array([-0.1, 0.1, 0.14])).tolist()
    if missing.any() or np.isnan(own):
        _style.add_missing_tick(ax, (left, last), beyond, _style.format_tick)
        ax.set_xlim(left, end)
    if atoms.points.size:
        _stems(ax, replace(atoms, points=np.where(missing, beyond, atoms.points)))
    return beyond if np.isnan(own) else own


def _draw_levels(ax: Any, pair: DensityPair, levels: tuple[str, ...], own: float) -> float:
    """Draw paired bars of the masses of levels, missing cells last. Gives the place of the own level."""
    place = np.where(np.isnan(pair.points), len(levels), pair.points)
    _paired_bars(ax, place, pair.p, pair.q, 0.4)
    names = [*levels, "missing"]
    _style.name_levels(ax, place, [names[int(at)] for at in place], ROOM, fontsize=_style.SMALL)
    return len(levels) if np.isnan(own) else own


def _draw_shares(ax: Any, pair: DensityPair) -> None:
    """Draw the joint densities of a group over the share of flips at each place: as far apart as they are."""
    edges = np.linspace(0, 1, 11)
    p, q = (np.histogram(pair.points, edges, weights=pair.weights * mass)[0] for mass in (pair.p, pair.q))
    _paired_bars(ax, (edges[1:] + edges[:-1]) / 2, p, q, 0.04)
    ax.set_xlabel("share of flips among similar perturbations", fontsize=_style.SMALL)


def _paired_bars(ax: Any, place: Array, p: Array, q: Array, width: float) -> None:
    """Masses side by side on a scale from 0 to 1; what both have is shaded across the two."""
    ax.bar(place - width / 2, p, width=width, color=colours.POSITIVE)
    ax.bar(place + width / 2, q, width=width, color=colours.NEGATIVE)
    ax.bar(place, np.minimum(p, q), width=2 * width, color=colours.OVERLAP, alpha=0.5)
    _mass_scale(ax)
    ax.spines[["top", "right"]].set_visible(False)


def _stems(ax: Any, atoms: DensityPair) -> None:
    """Atoms at their values on a scale of their own: C+ as thin lines before the thick ones of C-."""
    left, right = ax.get_xlim()
    scale = ax.twinx()
    _mass_scale(scale)
    scale.spines[["top", "left"]].set_visible(False)
    for mass, colour, width in ((atoms.q, colours.NEGATIVE, 6), (atoms.p, colours.POSITIVE, 2.5)):
        there = mass > 0
        scale.vlines(atoms.points[there], 0, mass[there], color=colour, linewidth=width)
        dots = {"s": 22 + 4 * width, "color": colour, "edgecolors": "white", "linewidths": 0.6, "zorder": 3}
        scale.scatter(atoms.points[there], mass[there], **dots)
    ax.set_xlim(left, right)


def _mass_scale(ax: Any) -> None:
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 1], ["0", "100%"])
    ax.tick_params(axis="y", labelsize=_style.SMALL)
