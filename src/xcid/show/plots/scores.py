"""Scores as marks: bars of one row, swarms of many rows, and one feature against its values."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xcid import calibration, directions
from xcid._check import as_int
from xcid.errors import InvalidData, InvalidParameter
from xcid.frames import one_number
from xcid.records import Array, Explanation, Integers
from xcid.show import wording
from xcid.show.plots import _style
from xcid.show.wording import colours
from xcid.show.wording.names import count_in_words
from xcid.show.wording.rows import BARS

MOST_COLOURED = 8  # levels that are told apart by colour
BINS = 30  # of a histogram
TRUTHS = ("False", "True")  # have an order without saying so
ROOM = 70  # letters in a line under the picture
GREY = "grey: levels in no order, groups of columns and missing cells"


def bar(explanation: Explanation, row: int | None = None, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the mean contributions of all rows or those of one, at ``most`` so many, on ``ax`` or new Axes.

    Lines are 95% limits, where there are any; bars of features that are not significant are hollow. Beside the others
    stands what the present value multiplies or divides the odds by, or the limits. Averages are drawn by their mean
    sizes; beside them stand the share of rows where a feature is significant, and the signed mean. A row that is not
    explained has no bars; the title says why.
    """
    one = _choose_row(explanation, row)
    sizes = one.values[0] if one.size is None else one.size[0]
    order = wording.rank_largest(sizes, as_int(most, "most", at_least=1))[::-1]
    if not wording.is_explained(one):
        order = order[:0]
    values, is_hollow = sizes[order], wording.is_faint(one)[0, order]
    worths, beside = wording.list_worths(one), _list_beside(one, order)
    ax = _style.make_lines(ax, [_style.label_cell(one, int(at)) for at in order], beside)
    edges = colours.of_scores(one, values) if one.size is None else [colours.UNSIGNED] * len(order)
    places = np.arange(len(order))
    ax.barh(places, values, height=0.7, color=_style.choose_faces(edges, is_hollow), edgecolor=edges, linewidth=1)
    limits = None if one.size is not None else _style.measure_limits(one, (0, order))
    if limits is not None:
        ax.errorbar(values, places, xerr=limits, fmt="none", ecolor=colours.INK, elinewidth=1, capsize=2)
    ax.set_title(_style.title_row(one), fontsize=10)
    if not len(order):
        _style.remove_frame(ax)
        return ax
    notes = [
        _style.explain_marks(limits, is_hollow, wording.name_limits(one)),
        wording.SHARE if one.share_significant is not None else "",
        BARS if one.size is not None and one.base_values is not None else "",
    ]
    notes.append(wording.explain_unit(one) if any(worths[at] for at in order) else "")
    _style.explain_axis(ax, one, *notes, wording.count_left_out(len(one.feature_names), len(order)))
    return ax


def _choose_row(explanation: Explanation, row: int | None) -> Explanation:
    """The row that was named, the only one, or the average of several."""
    if row is not None or len(explanation) == 1:
        return explanation[row or 0]
    return calibration.aggregate(explanation)


def _list_beside(one: Explanation, order: Integers) -> list[str]:
    """What stands beside each bar: the share of rows where it is significant, and what it is worth."""
    worths, signed = wording.list_worths(one), one.size is not None
    means = [wording.format_score(one, value) if signed else "" for value in one.values[0, order]]
    told = zip(order.tolist(), means, strict=True)
    said = [f"{wording.format_share(one, at):>4}  {mean} {worths[at]}".strip() for at, mean in told]
    return [text.replace("-", "−") for text in said] if any(said) else []


def beeswarm(explanation: Explanation, *, ax: Any = None, most: int = 20) -> Any:
    """Draw the scores of all rows, a line for each of at ``most`` so many features, the most important on top.

    Signs are about one outcome for all rows: the second of two classes, or what raises the output of a regression.
    Name another one with ``explanation.towards``. A dot is a row. Its colour is the rank of its own value of the
    feature: dark for low, bright for high. Levels have colours where they are in order; others are grey, as groups and
    missing cells.
    """
    if not len(explanation):
        raise InvalidData("the explanation has no rows to draw")
    explanation = directions.explained(explanation)
    order = wording.rank_largest(np.abs(explanation.values).mean(axis=0), as_int(most, "most", at_least=1))[::-1]
    ax = _style.make_lines(ax, [_style.shorten_name(explanation.feature_names[at]) for at in order])
    length, own = float(np.ptp(explanation.values[:, order])), _number_features(explanation)
    for line, feature in enumerate(order):
        values, rank = explanation.values[:, feature], _rank_values(own[:, feature])
        known, height = ~np.isnan(rank), line + _style.stack_dots(values, length)
        ax.scatter(values[~known], height[~known], s=9, color=colours.OVERLAP, linewidths=0)
        drawn = ax.scatter(
            values[known], height[known], s=9, c=rank[known], cmap=_style.make_rank_map(), vmin=0, vmax=1, linewidths=0
        )
    is_known = ~np.isnan(own[:, order])
    if is_known.any():
        _draw_scale(ax, drawn)
    ax.set_title(f"{count_in_words(len(explanation), 'row')} by contribution", fontsize=10)
    left_out = wording.count_left_out(len(explanation.feature_names), len(order))
    _style.explain_axis(ax, explanation, "" if is_known.all() else GREY, left_out)
    return ax


def _number_features(explanation: Explanation) -> Array:
    """(n, f) the number of each feature; NaN for groups and for levels that are in no order."""
    details = explanation.details
    ordered = details.ordered or (False,) * len(details.levels)
    has_order = [is_so or names in ((), TRUTHS) for is_so, names in zip(ordered, details.levels, strict=True)]
    is_category = [not all(has_order[at] for at in columns) for columns in details.features]
    return np.where(is_category, np.nan, one_number(explanation))


def stability(runs: Explanation | Sequence[Explanation], row: int = 0, *, ax: Any = None, most: int = 20) -> Any:
    """Draw how the scores of one row differ between runs.

    Several ``runs`` of the same rows with other seeds are dots. A single explanation with ``repeats`` is drawn as its
    mean, with one standard deviation of its runs to either side.
    """
    several = [runs[row]] if isinstance(runs, Explanation) else [run[row] for run in runs]
    if not several or (len(several) == 1 and several[0].spread is None):
        raise InvalidParameter("there is only one run: give several, or explain with repeats=10")
    first = several[0]
    values = np.array([run.values[0] for run in several])  # (runs, d)
    mean = values.mean(axis=0)
    order = wording.rank_largest(mean, as_int(most, "most", at_least=1))[::-1]
    ax = _style.make_lines(ax, [_style.label_cell(first, int(at)) for at in order])
    places = np.arange(len(order))
    if len(several) == 1 and first.spread is not None:
        note, look = "lines: one standard deviation of a run", {"fmt": "o", "markersize": 4, "capsize": 2}
        ax.errorbar(mean[order], places, xerr=first.spread[0, order], color=colours.POSITIVE, **look)
    else:
        note = f"dots: {len(several)} runs; bars: their means"
        for line, feature in enumerate(order):
            ax.scatter(values[:, feature], np.full(len(values), line), s=16, color=colours.POSITIVE, alpha=0.5)
        ax.plot(mean[order], places, "|", color=colours.INK, markersize=12)
    ax.set_title(_style.title_row(first), fontsize=10)
    _style.explain_axis(ax, first, note, wording.count_left_out(len(mean), len(order)))
    return ax


def _draw_scale(ax: Any, drawn: Any, name: str = "own value") -> None:
    """A slim scale from low to high of something."""
    scale = ax.figure.colorbar(drawn, ax=ax, ticks=[0, 1], aspect=40, pad=0.02)
    scale.ax.set_yticklabels(["low", "high"], fontsize=_style.SMALL)
    scale.ax.tick_params(length=0)
    scale.set_label(name, fontsize=_style.SMALL, labelpad=-12)
    scale.outline.set_visible(False)


def scatter(
    explanation: Explanation,
    feature: int | str,
    *,
    colour: int | str | None = None,
    ax: Any = None,
    most_limits: int = 60,
) -> Any:
    """Draw the scores of one feature over all rows against the feature's own values, whose histogram is below.

    With another feature as ``colour`` dots are dark where its value is low and bright where it is high, and levels that
    are in no order have a colour each: contributions that part by colour show that the two interact.
    Signs are about one outcome for all rows, as in :func:`beeswarm`. A dot is a row; hollow ones are not significant.
    Levels are strips of dots, side by side where their scores are alike; missing cells are the last strip. 95% limits
    are drawn where there are at most ``most_limits`` rows.
    """
    at = explanation.position(feature)
    column, *others = explanation.details.features[at]
    if others:
        names = [explanation.details.column_names[one] for one in explanation.details.features[at]]
        raise InvalidParameter(f"{feature!r} is a group of the columns {names}: it has no single value to draw against")
    most_limits = as_int(most_limits, "most_limits", at_least=0)
    if not len(explanation):
        raise InvalidData("the explanation has no rows to draw")
    ax = _style.make_axes(ax, 6, 4.4)
    values, is_hollow = explanation.values[:, at], wording.is_faint(explanation)[:, at]
    draw_axis = _draw_levels if explanation.details.levels[column] else _draw_numbers
    places = draw_axis(ax, explanation, column, values)
    ax.axhline(0, color=colours.INK, linewidth=0.8, zorder=0)
    limits = _style.measure_limits(explanation, np.s_[:, at]) if len(explanation) <= most_limits else None
    if limits is not None:
        ax.errorbar(places, values, yerr=limits, fmt="none", ecolor=colours.OVERLAP, elinewidth=0.8, zorder=1)
    if colour is None:
        edges = colours.of_scores(explanation, values)
        faces = _style.choose_faces(edges, is_hollow)
        ax.scatter(places, values, s=20, facecolors=faces, edgecolors=edges, linewidths=1)
    else:
        _colour_dots(ax, explanation, explanation.position(colour), (places, values))
    marks = _style.explain_marks(limits, is_hollow & (colour is None), wording.name_limits(explanation))
    ax.set_xlabel("\n".join(filter(None, [_style.shorten_name(explanation.feature_names[at]), marks])))
    ax.set_title(f"{_style.shorten_name(explanation.feature_names[at])}: values and contributions", fontsize=10)
    ax.set_ylabel(wording.explain_score(explanation).replace(", ", "\n"), fontsize=_style.SMALL + 1)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _colour_dots(ax: Any, explanation: Explanation, at: int, where: tuple[Array, Array]) -> None:
    """Fill dots by the rank of another feature's value, or by its level where levels are in no order."""
    rank, name = _rank_values(_number_features(explanation)[:, at]), explanation.feature_names[at]
    if not np.isnan(rank).all():
        drawn = ax.scatter(*where, s=20, c=rank, cmap=_style.make_rank_map(), vmin=0, vmax=1, linewidths=0)
        _draw_scale(ax, drawn, _style.shorten_name(name))
        return
    levels = np.array([explanation.shown(row, at) for row in range(len(explanation))])
    there = sorted(set(levels.tolist()))
    if len(there) > MOST_COLOURED:
        raise InvalidParameter(
            f"{name!r} cannot be the colour: {len(there):,} levels that are in no order are more than {MOST_COLOURED}; "
            "explain fewer rows, or choose another feature"
        )
    for level in there:
        ax.scatter(*(part[levels == level] for part in where), s=20, linewidths=0, label=_style.shorten_name(level))
    ax.legend(title=_style.shorten_name(name), fontsize=_style.SMALL, title_fontsize=_style.SMALL)


def _draw_histogram(ax: Any, places: Array) -> None:
    """Show at the foot of a picture how many rows there are along its axis."""
    below = ax.inset_axes((0.0, 0.0, 1.0, 0.12), sharex=ax, zorder=0)
    below.hist(places[np.isfinite(places)], bins=BINS, color=colours.OVERLAP, alpha=0.5)
    below.axis("off")


def _draw_levels(ax: Any, explanation: Explanation, column: int, values: Array) -> Array:
    """Name a strip for each level that some row has; gives the (n,) places of dots."""
    own, names = explanation.data[:, column], [*explanation.details.levels[column], "missing"]
    there, strip = np.unique(np.where(np.isnan(own), len(names) - 1, own), return_inverse=True)
    places = strip.astype(np.float64)
    for at in range(len(there)):
        places[strip == at] += _style.stack_dots(values[strip == at], float(np.ptp(values)))
    _style.name_levels(ax, np.arange(len(there), dtype=np.float64), [names[int(level)] for level in there], ROOM)
    ax.set_xlim(-0.6, len(there) - 0.4)
    return places


def _draw_numbers(ax: Any, explanation: Explanation, column: int, values: Array) -> Array:
    """Set the axis for numbers or dates, with a strip for missing cells; gives the (n,) places of dots."""
    own, is_date = explanation.data[:, column], bool(explanation.details.units[column])
    missing = np.isnan(own)
    _draw_histogram(ax, own)
    ends = _style.find_ends(own, 0.05) if is_date or missing.any() else _style.set_readable_scale(ax, own, 0.05)
    ax.set_xlim(*ends)

    def write(tick: float) -> str:
        return explanation.details.cell(float(tick), column)[:10] if is_date else _style.format_tick(tick)

    if is_date:
        ax.locator_params(axis="x", nbins=5)
        ticks = [tick for tick in ax.get_xticks() if ends[0] <= tick <= ends[1]]
        ax.set_xticks(ticks, map(write, ticks))
    if not missing.any():
        return own
    step = (ends[1] - ends[0]) / 11
    _style.add_missing_tick(ax, ends, ends[1] + step, write)
    ax.set_xlim(ends[0], ends[1] + 2 * step)
    places = own.copy()
    places[missing] = ends[1] + step + step * _style.stack_dots(values[missing], float(np.ptp(values)))
    return places


def _rank_values(own: Array) -> Array:
    """(n,) ranks of values in [0, 1]; NaN for missing ones."""
    known = ~np.isnan(own)
    _, rank = np.unique(own[known], return_inverse=True)
    found = np.full(len(own), np.nan)
    found[known] = rank / max(int(rank.max(initial=0)), 1)
    return found
