"""Draw one pair of densities: curves and stems of a number, or paired bars of levels."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from xcid._data import Array, DensityPair
from xcid.plots import _style

MOST_LETTERS = 12
MOST_TICKS = 4


def draw_number(ax: Any, pair: DensityPair, own: float) -> float:
    """Draw curves, and stems for atoms; missing cells stand to the right of all. Gives the place of the own value."""
    cells, atoms = pair[~pair.atoms], pair[pair.atoms]
    ax.fill_between(cells.points, np.minimum(cells.p, cells.q), color=_style.OVERLAP, alpha=0.5)
    ax.plot(cells.points, cells.p, color=_style.POSITIVE)
    ax.plot(cells.points, cells.q, color=_style.NEGATIVE)
    ax.set_ylim(bottom=0)
    ax.set_yticks([])
    ax.spines[["top", "right", "left"]].set_visible(False)
    missing = np.isnan(atoms.points)
    left, right = _limits(np.concatenate([cells.points, atoms.points, [own]]))
    ax.set_xlim(left, right)
    ax.locator_params(axis="x", nbins=MOST_TICKS)
    beyond = right + 0.08 * (right - left)
    if missing.any():
        ticks = [tick for tick in ax.get_xticks() if left <= tick <= right - 0.1 * (right - left)]
        ax.set_xticks([*ticks, beyond], [*(f"{tick:.4g}" for tick in ticks), "missing"])
        ax.set_xlim(left, beyond + 0.04 * (right - left))
    if atoms.points.size:
        _stems(ax, replace(atoms, points=np.where(missing, beyond, atoms.points)))
    return beyond if np.isnan(own) else own


def draw_levels(ax: Any, pair: DensityPair, levels: tuple[str, ...], own: float) -> float:
    """Draw paired bars of the masses of levels, missing cells last. Gives the place of the own level."""
    place = np.where(np.isnan(pair.points), len(levels), pair.points)
    ax.bar(place - 0.2, pair.p, width=0.4, color=_style.POSITIVE)
    ax.bar(place + 0.2, pair.q, width=0.4, color=_style.NEGATIVE)
    names = [*levels, "missing"]
    ax.set_xticks(place, [_short(names[int(at)]) for at in place], fontsize=8, rotation=30 if len(place) > 4 else 0)
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 1])
    ax.tick_params(axis="y", labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    return len(levels) if np.isnan(own) else own


def draw_shares(ax: Any, pair: DensityPair) -> None:
    """Draw the joint densities of a group over the share of flips at each place: as far apart as they are."""
    edges = np.linspace(0, 1, 11)
    p, q = (np.histogram(pair.points, edges, weights=pair.weights * mass)[0] for mass in (pair.p, pair.q))
    middle = (edges[1:] + edges[:-1]) / 2
    ax.bar(middle - 0.02, p, width=0.04, color=_style.POSITIVE)
    ax.bar(middle + 0.02, q, width=0.04, color=_style.NEGATIVE)
    ax.set_xlabel("share of flips among like perturbations", fontsize=7)
    ax.set_ylim(0, 1)
    ax.set_yticks([0, 1])
    ax.tick_params(axis="y", labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)


def _stems(ax: Any, atoms: DensityPair) -> None:
    """Atoms side by side on a scale of their own."""
    left, right = ax.get_xlim()
    scale = ax.twinx()
    scale.set_ylim(0, 1)
    scale.set_yticks([0, 1])
    scale.tick_params(labelsize=7)
    scale.spines[["top", "left"]].set_visible(False)
    shift = 0.012 * (right - left)
    scale.vlines(atoms.points - shift, 0, atoms.p, color=_style.POSITIVE, linewidth=3)
    scale.vlines(atoms.points + shift, 0, atoms.q, color=_style.NEGATIVE, linewidth=3)
    ax.set_xlim(left, right)


def _limits(points: Array) -> tuple[float, float]:
    """Everything there is, with room around it."""
    there = points[np.isfinite(points)]
    low, high = (float(there.min()), float(there.max())) if there.size else (0.0, 1.0)
    margin = 0.04 * (high - low) or 1.0
    return low - margin, high + margin


def _short(name: str) -> str:
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"
