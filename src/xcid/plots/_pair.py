"""Draw one pair of densities: curves and stems of a number, or paired bars of levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xcid.plots import _style
from xcid.plots._places import span
from xcid.records import Array, DensityPair
from xcid.wording import colours

ROOM = 30  # letters in a line under a picture
MOST_TICKS = 4


def draw_number(ax: Any, pair: DensityPair, own: float) -> float:
    """Draw curves, and stems for atoms; missing cells stand to the right of all. Gives the place of the own value."""
    cells, atoms = pair[~pair.atoms], pair[pair.atoms]
    ax.fill_between(cells.points, np.minimum(cells.p, cells.q), color=colours.OVERLAP, alpha=0.5, linewidth=0)
    ax.plot(cells.points, cells.p, color=colours.POSITIVE)
    ax.plot(cells.points, cells.q, color=colours.NEGATIVE)
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    missing = np.isnan(atoms.points)
    left, right = span(np.concatenate([cells.points, atoms.points, [own]]), 0.04)
    ax.set_xlim(left, right)
    are_whole = bool(np.all(np.isnan(pair.points) | (pair.points == np.round(pair.points))))
    ax.locator_params(axis="x", nbins=MOST_TICKS, integer=are_whole)
    beyond = right + 0.1 * (right - left)
    if missing.any() or np.isnan(own):
        _style.missing_tick(ax, (left, right - 0.1 * (right - left)), beyond, _style.number)
        ax.set_xlim(left, beyond + 0.04 * (right - left))
    if atoms.points.size:
        _stems(ax, replace(atoms, points=np.where(missing, beyond, atoms.points)))
    return beyond if np.isnan(own) else own


def draw_levels(ax: Any, pair: DensityPair, levels: tuple[str, ...], own: float) -> float:
    """Draw paired bars of the masses of levels, missing cells last. Gives the place of the own level."""
    place = np.where(np.isnan(pair.points), len(levels), pair.points)
    _paired_bars(ax, place, pair.p, pair.q, 0.4)
    names = [*levels, "missing"]
    _style.level_ticks(ax, place, [names[int(at)] for at in place], ROOM, fontsize=_style.SMALL)
    return len(levels) if np.isnan(own) else own


def draw_shares(ax: Any, pair: DensityPair) -> None:
    """Draw the joint densities of a group over the share of flips at each place: as far apart as they are."""
    edges = np.linspace(0, 1, 11)
    p, q = (np.histogram(pair.points, edges, weights=pair.weights * mass)[0] for mass in (pair.p, pair.q))
    _paired_bars(ax, (edges[1:] + edges[:-1]) / 2, p, q, 0.04)
    ax.set_xlabel("share of flips among like perturbations", fontsize=_style.SMALL)


def _paired_bars(ax: Any, place: Array, p: Array, q: Array, width: float) -> None:
    """Masses side by side on a scale from 0 to 1; what both have is shaded across the two."""
    ax.bar(place - width / 2, p, width=width, color=colours.POSITIVE)
    ax.bar(place + width / 2, q, width=width, color=colours.NEGATIVE)
    ax.bar(place, np.minimum(p, q), width=2 * width, color=colours.OVERLAP, alpha=0.5)
    _mass_scale(ax)
    ax.spines[["top", "right"]].set_visible(False)


def _stems(ax: Any, atoms: DensityPair) -> None:
    """Atoms side by side on a scale of their own."""
    left, right = ax.get_xlim()
    scale = ax.twinx()
    _mass_scale(scale)
    scale.spines[["top", "left"]].set_visible(False)
    shift = 0.012 * (right - left)
    for way, mass, colour in ((-shift, atoms.p, colours.POSITIVE), (shift, atoms.q, colours.NEGATIVE)):
        scale.vlines(atoms.points + way, 0, mass, color=colour, linewidth=2)
        scale.scatter(atoms.points + way, mass, s=14, color=colour, linewidths=0)
    ax.set_xlim(left, right)


def _mass_scale(ax: Any) -> None:
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 1])
    ax.tick_params(axis="y", labelsize=_style.SMALL)
