"""Draw one pair of densities: curves and stems of a number, or paired bars of levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xcid import wording
from xcid.plots import _style
from xcid.records import Array, DensityPair

MOST_LETTERS = 16
ROOM = 30  # letters in a line under a picture
MOST_TICKS = 4


def draw_number(ax: Any, pair: DensityPair, own: float) -> float:
    """Draw curves, and stems for atoms; missing cells stand to the right of all. Gives the place of the own value."""
    cells, atoms = pair[~pair.atoms], pair[pair.atoms]
    ax.fill_between(cells.points, np.minimum(cells.p, cells.q), color=_style.OVERLAP, alpha=0.5, linewidth=0)
    ax.plot(cells.points, cells.p, color=_style.POSITIVE)
    ax.plot(cells.points, cells.q, color=_style.NEGATIVE)
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    missing = np.isnan(atoms.points)
    left, right = _limits(np.concatenate([cells.points, atoms.points, [own]]))
    ax.set_xlim(left, right)
    ax.locator_params(axis="x", nbins=MOST_TICKS, integer=_are_whole(pair.points))
    beyond = right + 0.1 * (right - left)
    if missing.any() or np.isnan(own):
        ticks = [tick for tick in ax.get_xticks() if left <= tick <= right - 0.1 * (right - left)]
        ax.set_xticks([*ticks, beyond], [*map(_style.number, ticks), "missing"])
        ax.set_xlim(left, beyond + 0.04 * (right - left))
    if atoms.points.size:
        _stems(ax, replace(atoms, points=np.where(missing, beyond, atoms.points)))
    return beyond if np.isnan(own) else own


def draw_levels(ax: Any, pair: DensityPair, levels: tuple[str, ...], own: float) -> float:
    """Draw paired bars of the masses of levels, missing cells last. Gives the place of the own level."""
    place = np.where(np.isnan(pair.points), len(levels), pair.points)
    _paired_bars(ax, place, pair.p, pair.q, 0.4)
    names = [*levels, "missing"]
    shown = [wording.elide(names[int(at)], MOST_LETTERS) for at in place]
    slope = (
        {"rotation": 30, "ha": "right", "rotation_mode": "anchor"}
        if len(shown) * max(map(len, shown), default=0) > ROOM
        else {}
    )
    ax.set_xticks(place, map(_style.plain, shown), fontsize=_style.SMALL, **slope)
    return len(levels) if np.isnan(own) else own


def draw_shares(ax: Any, pair: DensityPair) -> None:
    """Draw the joint densities of a group over the share of flips at each place: as far apart as they are."""
    edges = np.linspace(0, 1, 11)
    p, q = (np.histogram(pair.points, edges, weights=pair.weights * mass)[0] for mass in (pair.p, pair.q))
    _paired_bars(ax, (edges[1:] + edges[:-1]) / 2, p, q, 0.04)
    ax.set_xlabel("share of flips among like perturbations", fontsize=_style.SMALL)


def _paired_bars(ax: Any, place: Array, p: Array, q: Array, width: float) -> None:
    """Masses side by side on a scale from 0 to 1; what both have is shaded across the two."""
    ax.bar(place - width / 2, p, width=width, color=_style.POSITIVE)
    ax.bar(place + width / 2, q, width=width, color=_style.NEGATIVE)
    ax.bar(place, np.minimum(p, q), width=2 * width, color=_style.OVERLAP, alpha=0.5)
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 1])
    ax.tick_params(axis="y", labelsize=_style.SMALL)
    ax.spines[["top", "right"]].set_visible(False)


def _stems(ax: Any, atoms: DensityPair) -> None:
    """Atoms side by side on a scale of their own."""
    left, right = ax.get_xlim()
    scale = ax.twinx()
    scale.set_ylim(0, 1)
    scale.set_yticks([0, 1])
    scale.tick_params(labelsize=_style.SMALL)
    scale.spines[["top", "left"]].set_visible(False)
    shift = 0.012 * (right - left)
    for points, mass, colour in (
        (atoms.points - shift, atoms.p, _style.POSITIVE),
        (atoms.points + shift, atoms.q, _style.NEGATIVE),
    ):
        scale.vlines(points, 0, mass, color=colour, linewidth=2)
        scale.scatter(points, mass, s=14, color=colour, linewidths=0)
    ax.set_xlim(left, right)


def _are_whole(points: Array) -> bool:
    return bool(np.all(np.isnan(points) | (points == np.round(points))))


def _limits(points: Array) -> tuple[float, float]:
    """Everything there is, with room around it."""
    there = points[np.isfinite(points)]
    low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin
