"""One look for all pictures."""

from __future__ import annotations

import textwrap
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from xcid._numbers import format_number
from xcid._require import require
from xcid.cid.drawn import unit_of_scale
from xcid.records import Array, Explanation, Flags
from xcid.show import wording
from xcid.show.wording import colours, rows
from xcid.show.wording.names import elide

MOST_LETTERS = 28
MOST_LETTERS_OF_LEVELS = 16
SMALL = 8  # points of what explains a picture
LINE = 64  # letters of a line above or below a picture
BINS = 60  # of an axis: dots of one bin stand on each other
WIDTH = 0.8  # of the fullest bin, where lines are 1 apart
FEWEST = 12  # so many dots fill the width
WIDE, LETTER, GAP = 280, 6.4, 12  # points: of a picture between its names, of a letter of a tick, and between two
CYCLE = (  # colours that can be distinguished
    colours.POSITIVE, colours.OPPOSES, colours.SUPPORTS, "#CC79A7", colours.NEGATIVE, colours.UNSIGNED, colours.INK,
)  # fmt: skip


def make_rank_map() -> Any:
    """Dark for low, bright for high; the palest end, which white paper swallows, is left out."""
    maps = require("matplotlib.colors", extra="plot")
    viridis = require("matplotlib", extra="plot").colormaps["viridis"]
    return maps.ListedColormap(viridis(np.linspace(0.0, 0.88, 256)), name="low to high")


def shorten_name(name: str, most: int = MOST_LETTERS) -> str:
    """A name that leaves room for the picture."""
    return escape_dollars(elide(name, most))


def escape_dollars(text: str) -> str:
    r"""Text that matplotlib takes as it is: a dollar sign would start a formula.

    Examples
    --------
    >>> escape_dollars("price in $")
    'price in \\$'
    """
    return text.replace("$", r"\$")


def format_tick(value: float) -> str:
    """A number with the minus sign that matplotlib sets."""
    return format_number(value).replace("-", "−")


def label_cell(one: Explanation, feature: int) -> str:
    """A feature of a single row with its value, and why it has no score where it has none; an average has no value."""
    name, note = shorten_name(one.feature_names[feature]), wording.format_status(one.feature_status[0, feature])
    return f"{name}{note}" if one.n_rows is not None else f"{name} = {shorten_name(one.shown(0, feature))}{note}"


def title_row(one: Explanation) -> str:
    """A single row, what the model predicts, and what was lacking; what was asked stands under the picture."""
    note = wording.format_status(one.status[0]) if wording.is_explained(one) else ""
    return fold_text(f"{wording.title_row(one)}{note}")


def fold_text(text: str) -> str:
    """Text in lines that fit above or below a picture."""
    return escape_dollars("\n".join(textwrap.fill(line, LINE) for line in text.splitlines()))


def make_axes(ax: Any, width: float, height: float) -> Any:
    """The given axes, or those of a new figure of so many inches."""
    if ax is not None:
        return ax
    pyplot = require("matplotlib.pyplot", extra="plot")
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def make_lines(ax: Any, labels: Sequence[str], beside: Sequence[str] = ()) -> Any:
    """Axes with a line for each label, from the bottom up, and text beside its right end."""
    n_letters = max(map(len, labels), default=0) + max(map(len, beside), default=0)
    ax = make_axes(ax, 4.7 + 0.075 * n_letters, 1.9 + 0.28 * len(labels))
    for line, text in enumerate(beside):
        place = {"xycoords": ("axes fraction", "data"), "xytext": (6, 0), "textcoords": "offset points"}
        ax.annotate(text, (1, line), **place, va="center", fontsize=SMALL + 1, annotation_clip=False)
    ax.set_yticks(np.arange(len(labels)), labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    ax.tick_params(axis="y", length=0)
    ax.axvline(0, color=colours.INK, linewidth=0.8)
    ax.spines[["top", "right", "left"]].set_visible(False)
    return ax


def remove_frame(ax: Any) -> None:
    """Take ticks and frame away."""
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)


def explain_axis(ax: Any, explanation: Explanation, *notes: str) -> None:
    """Say under the axis in which unit scores are, where those of a single row begin and end, and what marks mean."""
    whole = rows.explain_sum(explanation).replace("-", "−") if len(explanation) == 1 else ""
    caption(ax, whole or wording.explain_score(explanation), *notes, explanation.question)
    space_ticks(ax)


def caption(ax: Any, *texts: str) -> None:
    """Write under the axis what a picture is of: its unit, its marks, and what was asked."""
    ax.set_xlabel("\n".join(fold_text(text) for text in texts if text), fontsize=SMALL + 1)


def space_ticks(ax: Any) -> None:
    """Write the numbers of an even axis as they are written elsewhere, and only as many as have room."""
    if ax.get_xscale() != "linear":
        return
    longest = max(len(format_tick(float(f"{end:.2g}"))) for end in ax.get_xlim())
    points = min(WIDE, ax.get_window_extent().width / ax.figure.dpi * 72)
    ax.locator_params(axis="x", nbins=int(np.clip(points / (LETTER * longest + GAP), 2, 8)))
    ax.xaxis.set_major_formatter(lambda value, place: format_tick(value))


def measure_limits(explanation: Explanation, chosen: Any) -> Array | None:
    """(2, n) how far limits lie to either side of chosen scores, as ``errorbar`` takes it; None without limits."""
    if explanation.lower is None or explanation.upper is None or not wording.has_limits(explanation):
        return None
    values = explanation.values[chosen]
    return np.maximum([values - explanation.lower[chosen], explanation.upper[chosen] - values], 0.0)


def explain_marks(limits: Array | None, is_hollow: Flags, said: str) -> str:
    """What lines and hollow marks mean, where there are any."""
    hollow = f"hollow: {wording.NOT_SIGNIFICANT}" if is_hollow.any() else ""
    return "; ".join(filter(None, ["" if limits is None else f"lines: {said}", hollow]))


def choose_faces(edges: Sequence[str], is_hollow: Flags) -> list[str]:
    """Fill what is significant."""
    return ["none" if hollow else colour for colour, hollow in zip(edges, is_hollow, strict=True)]


def name_levels(ax: Any, places: Array, names: Sequence[str], room: int, **look: Any) -> None:
    """Name levels under a picture, on a slope where they need more than some letters of room."""
    shown = [shorten_name(name, MOST_LETTERS_OF_LEVELS) for name in names]
    if len(shown) * max(map(len, shown), default=0) > room:
        look |= {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
    ax.set_xticks(places, shown, **look)


def add_missing_tick(ax: Any, ends: tuple[float, float], beyond: float, write: Callable[[float], str]) -> None:
    """Keep the ticks between two ends, and add one for missing cells beyond them."""
    ticks = [tick for tick in ax.get_xticks() if ends[0] <= tick <= ends[1]]
    ax.set_xticks([*ticks, beyond], [*map(write, ticks), "missing"])


def make_signed_map() -> Any:
    """From what works against the prediction over white to what supports it."""
    maps = require("matplotlib.colors", extra="plot")
    return maps.LinearSegmentedColormap.from_list("signed", [colours.OPPOSES, "#ffffff", colours.SUPPORTS])


def draw_heat(ax: Any, shares: Array, names: Sequence[str], vmax: float = 1.0, **look: Any) -> None:
    """A square of shares with their figures, with colours for 0 to 1 unless ``look`` says other ends; NaN is white."""
    shown: dict[str, Any] = {"vmin": 0.0, "vmax": vmax, "cmap": "Blues"}
    ax.imshow(shares, **shown | look)
    for row, column in zip(*np.nonzero(~np.isnan(shares)), strict=True):
        ink = "white" if abs(shares[row, column]) > 0.6 * vmax else colours.INK
        figure = f"{shares[row, column]:.{2 if vmax >= 0.1 else 3}f}".replace("-", "−")  # small ones would all be 0.01
        ax.text(column, row, figure, ha="center", va="center", color=ink, fontsize=SMALL + 1)
    ax.set_xticks(np.arange(len(names)), [shorten_name(name) for name in names], rotation=30, ha="right")
    ax.set_yticks(np.arange(len(names)), [shorten_name(name) for name in names])
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def find_ends(points: Array, margin: float) -> tuple[float, float]:
    """The ends of an axis for all finite points, with a share of their range as room on either side."""
    there = points[np.isfinite(points)]
    low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    room = margin * (high - low) or 1.0
    return low - room, high + room


def set_readable_scale(ax: Any, points: Array, margin: float) -> tuple[float, float]:
    """Give an axis for points its scale and its ends: even, or closer towards far ends where few points lie."""
    return set_scale(ax, points, margin, unit_of_scale(points))


def set_scale(ax: Any, points: Array, margin: float, width: float) -> tuple[float, float]:
    """Give an axis for points a scale that is even up to some width, or all along where that is 0, and its ends."""
    ends = find_ends(points, margin)
    if width:
        low, high = find_ends(np.arcsinh(points / width), margin)
        ends = float(np.sinh(low) * width), float(np.sinh(high) * width)
        ax.set_xscale("asinh", linear_width=width)
        ticks = choose_ticks(*ends, width)
        ax.set_xticks(ticks, map(format_tick, ticks))
        ax.set_xticks([], minor=True)
    ax.set_xlim(*ends)
    return ends


def choose_ticks(low: float, high: float, width: float) -> list[float]:
    """Ticks of a scale that is even up to some width: 0 and powers of ten beyond that.

    Examples
    --------
    >>> choose_ticks(-0.5, 220.0, 0.7)
    [0.0, 1.0, 10.0, 100.0]
    """
    least, most = (int(np.floor(np.log10(size))) for size in (width, max(-low, high, width)))
    powers = [10.0**power for power in range(least + 1, most + 1)]
    return [tick for tick in [*(-power for power in reversed(powers)), 0.0, *powers] if low <= tick <= high]


def stack_dots(values: Array, length: float) -> Array:
    """(n,) offsets from the middle of a line for dots that would cover each other, on an axis of a length."""
    if not len(values):
        return np.zeros(0)
    code = np.round((values - values.min()) / (length or 1.0) * BINS).astype(np.int64)
    order = np.argsort(code, kind="stable")
    count = np.bincount(code)
    place = np.empty(len(values))
    place[order] = np.arange(len(values)) - np.repeat(np.cumsum(count) - count, count)
    step = WIDTH / max(int(count.max()), FEWEST)
    return step * (place - (count[code] - 1) / 2)
