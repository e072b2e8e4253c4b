"""Things beside each other: two explanations, pairs of features, methods by masking curves and agreement."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from xcid._check import as_int
from xcid.errors import InvalidData, InvalidParameter
from xcid.metrics import feature_agreement
from xcid.metrics.faithfulness import Curves
from xcid.records import Array, Explanation
from xcid.show import wording
from xcid.show.plots import _style
from xcid.show.wording import colours, differences

if TYPE_CHECKING:
    from xcid.comparison import Comparison
    from xcid.interactions import Interactions

FACTORS = (1.05, 1.1, 1.2, 1.5, 2, 3, 5, 10, 30, 100, 1_000, 10_000, 100_000)  # that an axis of odds may name
NAMED = 0.18  # share of the axis that the name of a factor takes


def comparison(found: Comparison, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the differences between two explanations, at ``most`` so many, the largest on top, on ``ax`` or new Axes.

    Lines are 95% limits over rows, of two single rows over what the limits of their explanations allow for; dots of
    differences that are not significant, with p-values adjusted for the number of features, are hollow.
    """
    order = wording.rank_largest(found.difference, as_int(most, "most", at_least=1))[::-1]
    values, is_hollow = found.difference[order], ~found.significant[order]
    ax = _style.make_lines(ax, [_style.shorten_name(found.feature_names[at]) for at in order])
    limits, places = np.abs([values - found.lower[order], found.upper[order] - values]), np.arange(len(order))
    ax.errorbar(values, places, xerr=limits, fmt="none", ecolor=colours.INK, elinewidth=1, capsize=2)
    edges = [colours.SUPPORTS if value >= 0 else colours.OPPOSES for value in values]
    filled = ["white" if hollow else edge for edge, hollow in zip(edges, is_hollow, strict=True)]
    ax.scatter(values, places, s=36, facecolors=filled, edgecolors=edges, linewidths=1.3, zorder=3)
    if wording.is_odds(found.scale):
        _name_factors(ax)
    ax.set_title(_style.escape_dollars(differences.title_comparison(found).replace(": ", "\n")), fontsize=10)
    left_out = wording.count_left_out(len(found), len(order), "difference")
    marks = _style.explain_marks(limits, is_hollow, differences.name_limits(found))
    notes = [differences.explain_axis(found), marks, left_out]
    ax.set_xlabel(_style.escape_dollars("\n".join(filter(None, notes))), fontsize=_style.SMALL + 1)
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


def interactions(found: Interactions, row: int | None = None, *, ax: Any = None, most: int = 12) -> Any:
    """Draw how features interact: the pairs of one row, or their mean absolute values over all rows.

    In the map of a row pairs that are not significant are left white; green pairs raise the output more than the sum
    of both, orange ones less. The strongest pair has the deepest colour. A record of one row needs no
    ``row``. ``most`` features are shown, those with the strongest pairs.
    """
    if not len(found) or len(found.feature_names) < 2:
        raise InvalidData("there are no pairs to draw")
    one = found[row] if row is not None else found
    strength = np.abs(one.values).mean(axis=0)
    shown = np.sort(wording.rank_largest(strength.max(axis=0), as_int(most, "most", at_least=2)))
    names, top = [found.feature_names[at] for at in shown], float(strength.max()) or 1.0
    ax = _style.make_axes(ax, 1.8 + 0.55 * len(names), 1.8 + 0.55 * len(names))
    if len(one) == 1:
        values = np.where(one.significant[0], one.values[0], np.nan)[np.ix_(shown, shown)]
        _style.draw_heat(ax, values, names, cmap=_style.make_signed_map(), vmin=-top, vmax=top)
        title, note = f"interactions, row {one.index[0]}", f"white: {wording.NOT_SIGNIFICANT}"
        if np.isnan(values).all():
            middle = (len(names) - 1) / 2
            ax.text(middle, middle, "no pair is significant", ha="center", va="center", fontsize=_style.SMALL + 2)
    else:
        values = np.where(np.eye(len(names), dtype=bool), np.nan, strength[np.ix_(shown, shown)])
        _style.draw_heat(ax, values, names, vmax=top)
        title, note = f"interactions, mean absolute values of {len(one):,} rows", ""
    ax.set_title(_style.escape_dollars(title), fontsize=10)
    notes = [f"in {wording.name_unit(one)}", note, wording.count_left_out(len(found.feature_names), len(names))]
    ax.set_xlabel("\n".join(filter(None, notes)), fontsize=_style.SMALL)
    return ax


def masking_curve(curves: Curves | Mapping[str, Curves], *, ax: Any = None) -> Any:
    """Draw the mean output as ever more features are masked (full lines) or kept (dashed), best first.

    A faithful ranking falls early when its features are masked and rises early when they are kept. Bands are two
    standard errors. The curves are those of :func:`xcid.metrics.masking_curves`; a mapping names several methods.
    """
    named = {"": curves} if isinstance(curves, Curves) else dict(curves)
    if not named:
        raise InvalidParameter("there are no curves to draw")
    ax = _style.make_axes(ax, 6, 4)
    for colour, (name, one) in zip(itertools.cycle(_style.CYCLE), named.items(), strict=False):
        for part, line, what in ((one.masked, "-", "masked"), (one.kept, "--", "kept")):
            mean, margin = part.mean(axis=0), 2 * part.std(axis=0) / np.sqrt(len(part))
            stages = np.arange(part.shape[1])
            ax.plot(stages, mean, line, color=colour, label=f"{_style.shorten_name(name, 40)} {what}".strip())
            ax.fill_between(stages, mean - margin, mean + margin, color=colour, alpha=0.15, linewidth=0)
    ax.set_xlabel("features masked or kept, best first")
    ax.set_ylabel("mean output: probability of the prediction, or number")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=_style.SMALL)
    return ax


def agreement(
    scores: Mapping[str, Explanation | Array],
    *,
    k: int = 4,
    by: Callable[..., Array] = feature_agreement,
    ax: Any = None,
) -> Any:
    """Draw how far methods agree with each other, as a heat map of means over rows.

    Parameters
    ----------
    scores : mapping of str to Explanation or (n, d) array
        Methods by name, on the same rows.
    k : int
        Features of a top set.
    by : callable
        ``by(scores_a, scores_b, k) -> (n,)``; the share of common features by default.
    ax : matplotlib Axes, optional
    """
    names = list(scores)
    if len(names) < 2:
        raise InvalidParameter(f"agreement needs at least two methods, not {len(names)}")
    values = [part.values if isinstance(part, Explanation) else np.asarray(part) for part in scores.values()]
    shares = np.array([[float(np.mean(by(a, b, k))) for b in values] for a in values])
    ax = _style.make_axes(ax, 1.8 + 0.7 * len(names), 1.8 + 0.7 * len(names))
    _style.draw_heat(ax, shares, names)
    ax.set_title(f"agreement, top {k}", fontsize=10)
    return ax
