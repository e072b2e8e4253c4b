"""Scores of one feature against its values."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid._require import require
from xcid.errors import InvalidData, InvalidParameter
from xcid.plots import _style
from xcid.plots._stack import stacked
from xcid.records import Array, Explanation

MOST_LETTERS = 18
ROOM = 70  # letters in a line under the picture


def scatter(explanation: Explanation, feature: int | str, *, ax: Any = None, most_limits: int = 60) -> Any:
    """Draw the scores of one feature over all rows against the feature's own values.

    A dot is a row; hollow ones cannot be told from noise. Levels are strips of dots, side by side where their scores
    are alike; missing cells are the last strip.

    Parameters
    ----------
    explanation : Explanation
    feature : int or str
    ax : matplotlib Axes, optional
    most_limits : int
        95 % limits are drawn where there are at most this many rows; 0 for none.

    Returns
    -------
    matplotlib Axes
    """
    column = _column(explanation, feature)
    most_limits = as_int(most_limits, "most_limits", at_least=0)
    if not len(explanation):
        raise InvalidData("there are no rows to draw")
    if ax is None:
        _, ax = require("matplotlib.pyplot", extra="plot").subplots(figsize=(6, 4), layout="constrained")
    at = explanation.position(feature)
    values, is_noise = explanation.values[:, at], wording.noise(explanation)[:, at]
    places = _places(ax, explanation, column, values)
    ax.axhline(0, color=_style.INK, linewidth=0.8, zorder=0)
    notes = []
    if explanation.lower is not None and explanation.upper is not None and len(explanation) <= most_limits:
        reach = np.maximum([values - explanation.lower[:, at], explanation.upper[:, at] - values], 0.0)
        ax.errorbar(places, values, yerr=reach, fmt="none", ecolor=_style.OVERLAP, elinewidth=0.8, zorder=1)
        notes.append("lines: 95 % limits")
    if is_noise.any():
        notes.append(f"hollow: {wording.NOISE}")
    colours = _style.signs(explanation, values)
    ax.scatter(places, values, s=20, facecolors=_style.faces(colours, is_noise), edgecolors=colours, linewidths=1)
    ax.set_xlabel("\n".join(filter(None, [_style.short(explanation.feature_names[at]), "; ".join(notes)])))
    ax.set_ylabel("score (+ holds, − pulls away)" if wording.is_signed(explanation) else "d1")
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _column(explanation: Explanation, feature: int | str) -> int:
    columns = explanation.features[explanation.position(feature)]
    if len(columns) > 1:
        names = [explanation.column_names[column] for column in columns]
        raise InvalidParameter(f"{feature!r} is a group of the columns {names}: it has no one value to draw against")
    return columns[0]


def _places(ax: Any, explanation: Explanation, column: int, values: Array) -> Array:
    """(n,) where dots stand, with the ticks of the axis."""
    own, levels = explanation.data[:, column], explanation.levels[column]
    missing = np.isnan(own)
    if levels:
        return _strips(ax, np.where(missing, len(levels), own), [*levels, "missing"], values)
    low, high = (float(own[~missing].min()), float(own[~missing].max())) if not missing.all() else (0.0, 0.0)
    room = (high - low) or 1.0
    _draw_number_ticks(ax, explanation, column, (low - 0.05 * room, high + 0.05 * room))
    if not missing.any():
        return own
    beyond = high + 0.15 * room
    ticks = [tick for tick in ax.get_xticks() if low - 0.05 * room <= tick <= high + 0.05 * room]
    ax.set_xticks([*ticks, beyond], [*(_tick(explanation, column, tick) for tick in ticks), "missing"])
    ax.set_xlim(low - 0.05 * room, beyond + 0.1 * room)
    strip = 0.1 * room * stacked(values[missing], float(np.ptp(values)))
    places = own.copy()
    places[missing] = beyond + strip
    return places


def _strips(ax: Any, code: Array, names: list[str], values: Array) -> Array:
    """A strip for each level that some row has."""
    there, strip = np.unique(code, return_inverse=True)
    places = strip.astype(np.float64)
    for at in range(len(there)):
        places[strip == at] += stacked(values[strip == at], float(np.ptp(values)))
    labels = [wording.elide(names[int(level)], MOST_LETTERS) for level in there]
    slope = (
        {"rotation": 30, "ha": "right", "rotation_mode": "anchor"} if len(labels) * max(map(len, labels)) > ROOM else {}
    )
    ax.set_xticks(np.arange(len(there)), map(_style.plain, labels), **slope)
    ax.set_xlim(-0.6, len(there) - 0.4)
    return places


def _draw_number_ticks(ax: Any, explanation: Explanation, column: int, limits: tuple[float, float]) -> None:
    ax.set_xlim(*limits)
    if explanation.units[column]:
        ax.locator_params(axis="x", nbins=5)
        ticks = [tick for tick in ax.get_xticks() if limits[0] <= tick <= limits[1]]
        ax.set_xticks(ticks, [_tick(explanation, column, tick) for tick in ticks])


def _tick(explanation: Explanation, column: int, tick: float) -> str:
    return explanation.cell(float(tick), column)[:10] if explanation.units[column] else _style.number(tick)
