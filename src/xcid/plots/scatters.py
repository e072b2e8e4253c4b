"""Scores of one feature against its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid.errors import InvalidData, InvalidParameter
from xcid.plots import _style
from xcid.plots._places import span, stacked, strips
from xcid.records import Array, Explanation
from xcid.wording import colours

ROOM = 70  # letters in a line under the picture


def scatter(explanation: Explanation, feature: int | str, *, ax: Any = None, most_limits: int = 60) -> Any:
    """Draw the scores of one feature over all rows against the feature's own values.

    A dot is a row; hollow ones are not significant. Levels are strips of dots, side by side where their scores are
    alike; missing cells are the last strip. 95 % limits are drawn where there are at most ``most_limits`` rows.
    """
    column, at = _column(explanation, feature), explanation.position(feature)
    most_limits = as_int(most_limits, "most_limits", at_least=0)
    if not len(explanation):
        raise InvalidData("there are no rows to draw")
    ax = _style.axes(ax, 6, 4)
    values, is_hollow = explanation.values[:, at], wording.not_significant(explanation)[:, at]
    draw_axis = _draw_levels if explanation.levels[column] else _draw_numbers
    places = draw_axis(ax, explanation, column, values)
    ax.axhline(0, color=colours.INK, linewidth=0.8, zorder=0)
    limits = _style.reach(explanation, np.s_[:, at]) if len(explanation) <= most_limits else None
    if limits is not None:
        ax.errorbar(places, values, yerr=limits, fmt="none", ecolor=colours.OVERLAP, elinewidth=0.8, zorder=1)
    edges = colours.of_scores(explanation, values)
    ax.scatter(places, values, s=20, facecolors=_style.faces(edges, is_hollow), edgecolors=edges, linewidths=1)
    notes = [_style.short(explanation.feature_names[at]), _style.marks(limits, is_hollow)]
    ax.set_xlabel("\n".join(filter(None, notes)))
    ax.set_ylabel(wording.meaning(explanation).replace(", ", "\n"), fontsize=_style.SMALL + 1)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _column(explanation: Explanation, feature: int | str) -> int:
    columns = explanation.features[explanation.position(feature)]
    if len(columns) > 1:
        names = [explanation.column_names[column] for column in columns]
        raise InvalidParameter(f"{feature!r} is a group of the columns {names}: it has no one value to draw against")
    return columns[0]


def _draw_levels(ax: Any, explanation: Explanation, column: int, values: Array) -> Array:
    """Name a strip for each level that some row has; gives the (n,) places of dots."""
    own, names = explanation.data[:, column], [*explanation.levels[column], "missing"]
    there, places = strips(np.where(np.isnan(own), len(names) - 1, own), values)
    _style.level_ticks(ax, np.arange(len(there), dtype=np.float64), [names[int(level)] for level in there], ROOM)
    ax.set_xlim(-0.6, len(there) - 0.4)
    return places


def _draw_numbers(ax: Any, explanation: Explanation, column: int, values: Array) -> Array:
    """Set the axis for numbers or dates, with a strip for missing cells; gives the (n,) places of dots."""
    own = explanation.data[:, column]
    missing, ends = np.isnan(own), span(own, 0.05)
    ax.set_xlim(*ends)

    def write(tick: float) -> str:
        return explanation.cell(float(tick), column)[:10] if explanation.units[column] else _style.number(tick)

    if explanation.units[column]:
        ax.locator_params(axis="x", nbins=5)
        ticks = [tick for tick in ax.get_xticks() if ends[0] <= tick <= ends[1]]
        ax.set_xticks(ticks, map(write, ticks))
    if not missing.any():
        return own
    step = (ends[1] - ends[0]) / 11
    _style.missing_tick(ax, ends, ends[1] + step, write)
    ax.set_xlim(ends[0], ends[1] + 2 * step)
    places = own.copy()
    places[missing] = ends[1] + step + step * stacked(values[missing], float(np.ptp(values)))
    return places
