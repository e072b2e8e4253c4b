"""Scores over an image, and over the words of a text."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xcid import wording
from xcid._require import require
from xcid.errors import InvalidData
from xcid.plots import _style
from xcid.records import Array, Explanation

LINE = 60  # letters
STEP = 1.9  # from line to line, in heights of a letter
DEEPEST = 0.8  # of colours over an image
TINY = 1e-12


def image(explanation: Explanation, picture: Any, scores: Any, row: int = 0, *, ax: Any = None) -> Any:
    """Draw scores over an image: what holds the output in place, and what pulls away from it.

    The image is grey, so that colours are scores; segments that cannot be told from noise have no colour.

    Parameters
    ----------
    explanation : Explanation
        Of :class:`xcid.torch.ImageExplainer`.
    picture : array (h, w), (c, h, w) or (h, w, c)
        The image of the row.
    scores : array (h, w)
        The score of each pixel, from ``ImageExplainer.map``.
    row : int
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    one, grey = explanation[row], _grey(np.asarray(picture, dtype=np.float64))
    over = np.asarray(scores, dtype=np.float64)
    if over.shape != grey.shape:
        raise InvalidData(f"the map has the shape {over.shape}, and the image {grey.shape}: give one score for a pixel")
    if ax is None:
        _, ax = require("matplotlib.pyplot", extra="plot").subplots(figsize=(4.4, 4), layout="constrained")
    most, low = max(float(np.abs(over).max()), TINY), float(grey.min())
    ax.imshow(grey, cmap="gray", vmin=low, vmax=max(float(grey.max()), low + TINY))
    noise = one.values[0][wording.noise(one)[0]]
    depth = np.where(np.isin(over, noise), 0.0, np.abs(over) / most)
    ax.imshow(np.sign(over), cmap=_signed(), vmin=-1, vmax=1, alpha=DEEPEST * depth)
    scale = require("matplotlib.cm", extra="plot").ScalarMappable(cmap=_signed())
    scale.set_clim(-most, most)
    bar = ax.figure.colorbar(scale, ax=ax, shrink=0.8)
    bar.set_label(_style.axis_label(one), fontsize=_style.SMALL)
    bar.outline.set_visible(False)
    ax.set_title(_style.title(one), fontsize=10)
    ax.set_xlabel(f"uncoloured: {wording.NOISE}" if noise.size else "", fontsize=_style.SMALL)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return ax


def tokens(explanation: Explanation, row: int = 0, *, ax: Any = None) -> Any:
    """Draw the words of a text on their scores: the deeper the colour, the more a word holds the output or pulls away.

    Words that cannot be told from noise stand on white.

    Parameters
    ----------
    explanation : Explanation
        Of :class:`xcid.torch.TextExplainer`.
    row : int
    ax : matplotlib Axes, optional

    Returns
    -------
    matplotlib Axes
    """
    one = explanation[row]
    there = [at for at in range(len(one.feature_names)) if not np.isnan(one.data[0, one.features[at][0]])]
    words = [one.shown(0, at) for at in there]
    values, is_noise = one.values[0, there], wording.noise(one)[0, there]
    places, n_lines = _lines(words)
    if ax is None:
        pyplot = require("matplotlib.pyplot", extra="plot")
        _, ax = pyplot.subplots(figsize=(7, 0.75 + 0.3 * n_lines), layout="constrained")
    most = max(float(np.abs(values).max(initial=0.0)), TINY)
    colours = np.where(is_noise[:, None], 1.0, _signed()((values / most + 1) / 2))
    patch = require("matplotlib.patches", extra="plot").Rectangle
    for word, (column, line), colour in zip(words, places, colours, strict=True):
        pale = (*(0.35 + 0.65 * colour[:3]), 1.0)
        ax.add_patch(patch((column - 0.35, -STEP * line - 0.7), len(word) + 0.7, 1.4, color=pale, linewidth=0))
        ax.text(
            column + len(word) / 2, -STEP * line, _style.plain(word), ha="center", va="center", family="monospace",
            fontsize=9, color=_style.INK,
        )  # fmt: skip
    width = max([LINE, *(column + len(word) for word, (column, _) in zip(words, places, strict=True))])
    ax.set_xlim(-1, width + 1)
    ax.set_ylim(-STEP * n_lines + 0.4, 1.2)
    ax.set_title(_style.title(one), fontsize=10)
    ax.set_xlabel(f"{_legend()}; white: {wording.NOISE}; strongest: {_style.number(most)}", fontsize=_style.SMALL)
    ax.set_xticks([])
    ax.set_yticks([])
    ax.spines[:].set_visible(False)
    return ax


def _legend() -> str:
    return "green: holds the output in place; red: pulls away"


def _signed() -> Any:
    """From what pulls away over white to what holds."""
    colours = require("matplotlib.colors", extra="plot")
    return colours.LinearSegmentedColormap.from_list("pulls to holds", [_style.PULLS, "#ffffff", _style.HOLDS])


def _grey(picture: npt.NDArray[np.float64]) -> Array:
    """(h, w) the mean of the channels, wherever their axis is."""
    if picture.ndim == 2:
        return picture
    if picture.ndim != 3:
        raise InvalidData(f"an image has the shape (h, w), (c, h, w) or (h, w, c), not {picture.shape}")
    grey: Array = picture.mean(axis=0 if picture.shape[0] <= picture.shape[2] else 2)
    return grey


def _lines(words: list[str]) -> tuple[list[tuple[int, int]], int]:
    """Where each word begins, as (column, line), and how many lines there are."""
    places, column, line = [], 0, 0
    for word in words:
        if column and column + len(word) > LINE:
            column, line = 0, line + 1
        places.append((column, line))
        column += len(word) + 2
    return places, line + 1
