"""Scores over an image, and over the words of a text."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid._require import require
from xcid.errors import InvalidData
from xcid.records import Array, Explanation
from xcid.show import wording
from xcid.show.plots import _style
from xcid.show.wording import colours

LINE = 60  # letters
STEP = 1.9  # from line to line, in heights of a letter
DEEPEST = 0.8  # of colours over an image
TINY = 1e-12


def image(explanation: Explanation, picture: Any, scores: Any, row: int = 0, *, ax: Any = None) -> Any:
    """Draw scores over an image: what supports the prediction, and what works against it.

    The image is grey, so that colours are scores; segments that are not significant have no colour.

    Parameters
    ----------
    explanation : Explanation of :class:`xcid_torch.ImageExplainer`
    picture : (h, w), (c, h, w) or (h, w, c) array, the image of the row
    scores : (h, w) array
        The score of each pixel, from ``ImageExplainer.map``.
    row : int
    ax : matplotlib Axes, optional
    """
    one, grey = explanation[row], _average_channels(np.asarray(picture, dtype=np.float64))
    over = np.asarray(scores, dtype=np.float64)
    if over.shape != grey.shape:
        raise InvalidData(f"the map has the shape {over.shape}, and the image {grey.shape}: give one score per pixel")
    ax = _style.make_axes(ax, 4.6, 4.4)
    most, low = max(float(np.abs(over).max()), TINY), float(grey.min())
    faint = one.values[0][wording.is_faint(one)[0]]
    depth = np.where(np.isin(over, faint), 0.0, np.abs(over) / most)
    ax.imshow(grey, cmap="gray", vmin=low, vmax=max(float(grey.max()), low + TINY))
    ax.imshow(np.sign(over), cmap=_style.make_signed_map(), vmin=-1, vmax=1, alpha=DEEPEST * depth)
    scale = require("matplotlib.cm", extra="plot").ScalarMappable(cmap=_style.make_signed_map())
    scale.set_clim(-most, most)
    bar = ax.figure.colorbar(scale, ax=ax, shrink=0.8)
    bar.set_label(wording.explain_score(one), fontsize=_style.SMALL)
    bar.outline.set_visible(False)
    ax.set_title(_style.title_row(one), fontsize=10)
    _style.caption(ax, f"uncoloured: {wording.NOT_SIGNIFICANT}" if faint.size else "", one.question)
    _style.remove_frame(ax)
    return ax


def tokens(explanation: Explanation, row: int = 0, *, ax: Any = None) -> Any:
    """Draw the words of a text on their scores: the deeper the colour, the stronger the score.

    Words that are not significant stand on white. The explanation is one of :class:`xcid_torch.TextExplainer`.
    """
    one = explanation[row]
    there = [at for at in range(len(one.feature_names)) if not np.isnan(one.data[0, one.details.features[at][0]])]
    words, values = [one.shown(0, at) for at in there], one.values[0, there]
    places = _wrap_words(words)
    n_lines = places[-1][1] + 1 if places else 1
    most = max(float(np.abs(values).max(initial=0.0)), TINY)
    is_white = wording.is_faint(one)[0, there]
    tints = np.where(is_white[:, None], 1.0, _style.make_signed_map()((values / most + 1) / 2))
    ax = _style.make_axes(ax, 7, 1.1 + 0.3 * n_lines)
    patch = require("matplotlib.patches", extra="plot").Rectangle
    centred = {"ha": "center", "va": "center", "family": "monospace", "fontsize": 9, "color": colours.INK}
    for word, (column, line), tint in zip(words, places, tints, strict=True):
        pale = (*(0.35 + 0.65 * tint[:3]), 1.0)
        ax.add_patch(patch((column - 0.35, -STEP * line - 0.7), len(word) + 0.7, 1.4, color=pale, linewidth=0))
        ax.text(column + len(word) / 2, -STEP * line, _style.escape_dollars(word), **centred)
    width = max([LINE, *(column + len(word) for word, (column, _) in zip(words, places, strict=True))])
    ax.set_xlim(-1, width + 1)
    ax.set_ylim(-STEP * n_lines + 0.4, 1.2)
    ax.set_title(_style.title_row(one), fontsize=10)
    raises, lowers = wording.word_directions(one)
    legend = f"green: {raises}; orange: {lowers}; white: {wording.NOT_SIGNIFICANT}"
    _style.caption(ax, f"{legend}; strongest: {_style.format_tick(most)}", one.question)
    _style.remove_frame(ax)
    return ax


def _average_channels(picture: Array) -> Array:
    """(h, w) the mean of the channels, wherever their axis is."""
    if picture.ndim == 2:
        return picture
    if picture.ndim != 3:
        raise InvalidData(f"an image has the shape (h, w), (c, h, w) or (h, w, c), not {picture.shape}")
    return picture.mean(axis=0 if picture.shape[0] <= picture.shape[2] else 2)


def _wrap_words(words: list[str]) -> list[tuple[int, int]]:
    """Where each word of a text begins: (column, line)."""
    places, column, line = [], 0, 0
    for word in words:
        if column and column + len(word) > LINE:
            column, line = 0, line + 1
        places.append((column, line))
        column += len(word) + 2
    return places
