"""One look for all pictures; the colours are Okabe and Ito's, which colour-blind people can tell apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xcid import wording
from xcid._require import require
from xcid.records import Array, Explanation, Flags

POSITIVE = "#0072B2"
NEGATIVE = "#E69F00"
OVERLAP = "#999999"
INK = "#333333"
HOLDS, PULLS, UNSIGNED = wording.HOLDS, wording.PULLS, wording.UNSIGNED
MOST_LETTERS = 28
SMALL = 8  # points of what explains a picture
_CYCLE = (POSITIVE, PULLS, HOLDS, "#CC79A7", NEGATIVE, UNSIGNED, INK)


def cycle(count: int) -> list[str]:
    """Colours that can be told apart, over again where there are many."""
    return [_CYCLE[at % len(_CYCLE)] for at in range(count)]


def signs(explanation: Explanation, values: Array) -> list[str]:
    """A colour for each score."""
    return [wording.colour(explanation, value) for value in values]


def ranks() -> Any:
    """Dark for low, bright for high; the palest end, which white paper swallows, is left out."""
    colours = require("matplotlib.colors", extra="plot")
    viridis = require("matplotlib", extra="plot").colormaps["viridis"]
    return colours.ListedColormap(viridis(np.linspace(0.0, 0.88, 256)), name="low to high")


def short(name: str) -> str:
    """A name that leaves room for the picture; a dollar sign would start a formula."""
    return plain(wording.elide(name, MOST_LETTERS))


def plain(text: str) -> str:
    r"""Text that matplotlib takes as it is.

    Examples
    --------
    >>> plain("price in $")
    'price in \\$'
    """
    return text.replace("$", r"\$")


def number(value: float) -> str:
    """A number with the minus sign that matplotlib sets."""
    return f"{value:.4g}".replace("-", "−")


def cell_label(one: Explanation, feature: int) -> str:
    """A feature of a single row with its value, and why it has no score where it has none."""
    status = str(one.feature_status[0, feature])
    note = "" if status == "ok" else f" ({status})"
    return f"{short(one.feature_names[feature])} = {short(one.shown(0, feature))}{note}"


def axis_label(explanation: Explanation) -> str:
    """What a score means."""
    return "score: + holds the output in place, − pulls away" if wording.is_signed(explanation) else "d1"


def title(one: Explanation) -> str:
    """A single row, what the model says of it, and what was lacking."""
    status = str(one.status[0])
    return plain(f"row {one.index[0]}: {wording.answer(one)}{'' if status == 'ok' else f' ({status})'}")


def lines(ax: Any, labels: Sequence[str]) -> Any:
    """Axes with a line for each label, from the bottom up; a figure as large as they need where none are given."""
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        width = 4.7 + 0.075 * max(map(len, labels), default=0)
        _, ax = pyplot.subplots(figsize=(width, 1.3 + 0.28 * len(labels)), layout="constrained")
    ax.set_yticks(np.arange(len(labels)), labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    ax.tick_params(axis="y", length=0)
    ax.axvline(0, color=INK, linewidth=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def explain_axis(ax: Any, explanation: Explanation, *notes: str) -> None:
    """Say under the axis what a score means, and what the marks mean."""
    ax.set_xlabel("\n".join([axis_label(explanation), *filter(None, notes)]), fontsize=SMALL + 1)


def left_out(n_features: int, n_shown: int) -> str:
    """Say that there are more features than there is room for."""
    return f"{n_features - n_shown} more features have smaller scores" if n_features > n_shown else ""


def faces(colours: Sequence[str], is_noise: Flags) -> list[str]:
    """What cannot be told from noise is hollow."""
    return ["none" if hollow else colour for colour, hollow in zip(colours, is_noise, strict=True)]


def heat(ax: Any, shares: Array, names: Sequence[str]) -> None:
    """A square of shares from 0 to 1 with their figures."""
    ax.imshow(shares, vmin=0, vmax=1, cmap="Blues")
    for row, column in np.ndindex(shares.shape):
        ink = "white" if shares[row, column] > 0.6 else INK
        ax.text(column, row, f"{shares[row, column]:.2f}", ha="center", va="center", color=ink, fontsize=SMALL + 1)
    ax.set_xticks(np.arange(len(names)), [short(name) for name in names], rotation=30, ha="right")
    ax.set_yticks(np.arange(len(names)), [short(name) for name in names])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
