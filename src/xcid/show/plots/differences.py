"""Two explanations beside each other: differences with their limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._check import as_int
from xcid.records import Comparison
from xcid.show import wording
from xcid.show.plots import _style
from xcid.show.wording import colours, differences

FACTORS = (1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 1_000, 10_000, 100_000)  # that an axis of odds may name
NAMED = 0.18  # share of the axis that the name of a factor takes


def comparison(found: Comparison, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the differences between two explanations, at ``most`` so many, the largest on top, on ``ax`` or new Axes.

    Lines are 95% limits; dots of differences that are not significant, with p-values
    adjusted for the number of features, are hollow.
    """
    order = wording.largest(found.difference, as_int(most, "most", at_least=1))[::-1]
    values, is_hollow = found.difference[order], ~found.significant[order]
    ax = _style.lines(ax, [_style.short(found.feature_names[at]) for at in order])
    limits, places = np.abs([values - found.lower[order], found.upper[order] - values]), np.arange(len(order))
    ax.errorbar(values, places, xerr=limits, fmt="none", ecolor=colours.INK, elinewidth=1, capsize=2)
    edges = [colours.SUPPORTS if value >= 0 else colours.OPPOSES for value in values]
    filled = ["white" if hollow else edge for edge, hollow in zip(edges, is_hollow, strict=True)]
    ax.scatter(values, places, s=36, facecolors=filled, edgecolors=edges, linewidths=1.3, zorder=3)
    if found.unit == "log odds":
        _name_factors(ax)
    ax.set_title(_style.plain(differences.title(found).replace(": ", "\n")), fontsize=10)
    left_out = wording.left_out(len(found), len(order)).replace("score", "difference")
    notes = [differences.axis(found), _style.marks(limits, is_hollow), left_out]
    ax.set_xlabel(_style.plain("\n".join(filter(None, notes))), fontsize=_style.SMALL + 1)
    return ax


def _name_factors(ax: Any) -> None:
    """Write what odds are multiplied and divided by where their logarithms are drawn."""
    left, right = ax.get_xlim()
    ticks, names, last = [0.0], ["×1"], 0.0
    for factor in FACTORS:
        place = float(np.log(factor))
        if place - last < NAMED / 2 * (right - left):
            continue
        if place <= max(right, -left):
            last = place
        for at, name in ((place, f"×{factor:,g}"), (-place, f"÷{factor:,g}")):
            if left <= at <= right:
                ticks.append(at)
                names.append(name)
    ax.set_xticks(ticks, names)
    ax.set_xlim(left, right)
