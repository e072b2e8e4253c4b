"""A comparison as a picture: faithfulness with its margins, and which methods agree."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._require import require
from xcid.lab.comparison.measure import MASKINGS, Comparison
from xcid.metrics import Interval
from xcid.plots import _style
from xcid.wording import colours

COLOURS = {"comp": colours.SUPPORTS, "suff": colours.OPPOSES}
MARKERS = dict(zip(MASKINGS, "os", strict=True))


def draw(comparison: Comparison) -> Any:
    """A matplotlib Figure, apart from those of pyplot."""
    figure = require("matplotlib.figure", extra="plot").Figure(
        figsize=(11, 2.2 + 0.45 * len(comparison.methods)), layout="constrained"
    )
    left, right = figure.subplots(1, 2)
    _faithfulness(left, comparison)
    _agreement(right, comparison)
    return figure


def _faithfulness(ax: Any, comparison: Comparison) -> None:
    places = np.arange(len(comparison.methods))
    for shift, (name, marker) in zip((-0.12, 0.12), MARKERS.items(), strict=True):
        for kind, colour in COLOURS.items():
            figures = [comparison.figures[method][f"{kind}, {name}"] for method in comparison.methods]
            means, margins = [one.mean for one in figures], [_finite(one) for one in figures]
            ax.errorbar(
                means, places + shift, xerr=margins, fmt=marker, color=colour, capsize=2, label=f"{kind}, {name}"
            )
    ax.axvline(0, color=colours.INK, linewidth=0.8)
    ax.set_yticks(places, comparison.methods)
    ax.invert_yaxis()
    ax.set_xlabel("fall of the output, ± two standard errors")
    ax.set_title("faithfulness: comp high, suff low")
    ax.legend(fontsize="small", frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    ax.spines[["top", "right"]].set_visible(False)


def _agreement(ax: Any, comparison: Comparison) -> None:
    names = comparison.methods
    shares = np.array([[comparison.agreement[a, b].mean for b in names] for a in names])
    _style.heat(ax, shares, names)
    ax.set_title(f"share of the top {comparison.k} in common")


def _finite(figure: Interval) -> float:
    return figure.margin if np.isfinite(figure.margin) else 0.0
