"""Contributions as parts of a whole: from the base value to the output of a row, and of many rows side by side."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xcid import directions
from xcid._check import as_int
from xcid.errors import InvalidData, InvalidParameter
from xcid.records import Array, Explanation
from xcid.show import wording
from xcid.show.plots import _style
from xcid.show.wording import colours, rows
from xcid.show.wording.names import count_in_words

NO_SUM = "these values do not add up: explain with the recommended setting"
MOST_NAMES = 40  # of rows that are named beside a heat map
ROOM = 0.2  # of the axis, for what is written beside a bar


class _Step(NamedTuple):
    """A bar of a waterfall: what it is called, what it adds with its limits, and whether it is significant."""

    name: str
    value: float
    limits: tuple[float, float] | None
    is_hollow: bool


def waterfall(explanation: Explanation, row: int = 0, *, ax: Any = None, most: int = 12) -> Any:
    """Draw how contributions lead from the base value, at the bottom, to the output of one row, at the top.

    The ``most`` largest have a bar each, and the others one together. Thin lines are 95% limits, where values were
    sampled; bars of features that are not significant are hollow.
    """
    one = explanation[row]
    if one.base_values is None:
        raise InvalidParameter(NO_SUM)
    if not wording.is_explained(one):
        raise InvalidData(wording.title_row(one))
    steps = _list_steps(one, as_int(most, "most", at_least=1))
    base = float(one.base_values[0])
    starts = base + np.cumsum([0.0, *(step.value for step in steps)])
    ax = _style.make_lines(ax, [step.name for step in steps])
    values = np.array([step.value for step in steps])
    edges, places = colours.of_scores(one, values), np.arange(len(steps))
    faces = _style.choose_faces(edges, np.array([step.is_hollow for step in steps]))
    ax.lines[0].remove()  # there is nothing about 0 here
    ax.barh(places, values, left=starts[:-1], height=0.7, color=faces, edgecolor=edges, linewidth=1)
    ax.vlines(starts[1:-1], places[:-1] + 0.35, places[1:] - 0.35, color=colours.OVERLAP, linewidth=0.8)
    _draw_limits(ax, steps, starts)
    _name_steps(ax, one, steps, starts)
    _name_ends(ax, one, starts)
    has_limits, said = any(step.limits for step in steps), wording.name_limits(one)
    marks = _style.explain_marks(values if has_limits else None, np.array([step.is_hollow for step in steps]), said)
    ax.set_title(_style.title_row(one), fontsize=10, pad=18)  # above the names of both ends
    _style.explain_axis(ax, one, marks)
    return ax


def _list_steps(one: Explanation, most: int) -> list[_Step]:
    """The bars from the bottom up: those that are left out, and then the largest, the largest last."""
    n, faint = len(one.feature_names), wording.is_faint(one)[0]
    order = wording.rank_largest(one.values[0] if one.size is None else one.size[0])
    shown, left = order[: most if n > most + 1 else n], order[most if n > most + 1 else n :]
    is_bare = one.lower is None or one.upper is None or not wording.has_limits(one)
    limits = None if is_bare else (one.lower[0], one.upper[0])  # type: ignore[index]
    steps = [
        _Step(
            _style.label_cell(one, at),
            float(one.values[0, at]),
            None if limits is None else (float(limits[0][at]), float(limits[1][at])),
            bool(faint[at]),
        )
        for at in shown[::-1].tolist()
    ]
    others = [_Step(f"{len(left)} other features", float(one.values[0, left].sum()), None, False)] if left.size else []
    return [*others, *steps]


def _draw_limits(ax: Any, steps: list[_Step], starts: Array) -> None:
    for place, (step, start) in enumerate(zip(steps, starts, strict=False)):
        if step.limits is not None:
            ax.plot(start + np.array(step.limits), [place, place], color=colours.INK, linewidth=1)


def _name_steps(ax: Any, one: Explanation, steps: list[_Step], starts: Array) -> None:
    """Write each contribution behind the end of its bar, in the unit."""
    reaches = [
        start + end for step, start in zip(steps, starts, strict=False) for end in step.limits or (0, step.value)
    ]
    low, high = min([*reaches, *starts]), max([*reaches, *starts])
    room = ROOM * (high - low or 1.0)
    ax.set_xlim(low - room, high + room)
    for place, (step, start) in enumerate(zip(steps, starts, strict=False)):
        ends = [start, start + step.value, *(start + end for end in step.limits or ())]
        is_up = step.value >= 0
        text = wording.format_score(one, step.value).replace("-", "−")
        ax.annotate(
            text, (max(ends) if is_up else min(ends), place), (4 if is_up else -4, 0), textcoords="offset points",
            ha="left" if is_up else "right", va="center", fontsize=_style.SMALL,
        )  # fmt: skip


def _name_ends(ax: Any, one: Explanation, starts: Array) -> None:
    """Mark the base value and the output, and name them above."""
    ends, names = (float(starts[0]), float(starts[-1])), ("average", "here" if one.n_rows is None else "average here")
    sides = ("right", "left") if ends[0] <= ends[1] else ("left", "right")
    for end, shown, name, side in zip(ends, rows.list_ends(one), names, sides, strict=True):
        ax.axvline(end, color=colours.INK, linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
        text = _style.escape_dollars(f"{name}: {shown}".replace("-", "−"))
        place = {"xycoords": ("data", "axes fraction"), "xytext": (0, 3), "textcoords": "offset points"}
        ax.annotate(text, (end, 1), **place, ha=side, va="bottom", fontsize=_style.SMALL, annotation_clip=False)


def heatmap(explanation: Explanation, *, ax: Any = None, most: int = 12) -> Any:
    """Draw the contributions of many rows: a column for each row, a line for each of the ``most`` largest features.

    Green raises what they are about, orange lowers it; above them stand the outputs, from the base value. Rows are in
    the order of their outputs.
    """
    if explanation.base_values is None:
        raise InvalidParameter(NO_SUM)
    if not len(explanation):
        raise InvalidData("the explanation has no rows to draw")
    found = directions.explained(explanation)
    outputs = np.asarray(found.base_values) + found.values.sum(axis=1)
    found, outputs = found[np.argsort(outputs, kind="stable")], np.sort(outputs)
    order = wording.rank_largest(np.abs(found.values).mean(axis=0), as_int(most, "most", at_least=1))
    ax = _style.make_axes(
        ax, 6.4 + 0.075 * max(len(_name(found, at)) for at in order.tolist()), 2.6 + 0.28 * len(order)
    )
    top = float(np.abs(found.values[:, order]).max()) or 1.0
    drawn = ax.imshow(
        found.values[:, order].T, aspect="auto", cmap=_style.make_signed_map(), vmin=-top, vmax=top,
        interpolation="nearest",
    )  # fmt: skip
    ax.set_yticks(np.arange(len(order)), [_name(found, at) for at in order.tolist()])
    _name_rows(ax, found)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    scale = ax.figure.colorbar(drawn, ax=ax, aspect=30, pad=0.02)
    scale.set_label(_style.escape_dollars(f"contribution in {wording.name_unit(found)}"), fontsize=_style.SMALL + 1)
    scale.outline.set_visible(False)
    _draw_outputs(ax, found, outputs)
    left_out = wording.count_left_out(len(found.feature_names), len(order), "contribution")
    order_of_rows = "rows, in the order of their outputs; dotted: average over the reference data"
    _style.caption(ax, order_of_rows, left_out, found.question)
    return ax


def decision(explanation: Explanation, *, ax: Any = None, most: int = 20) -> Any:
    """Draw how contributions lead from the base value, at the bottom, to the output, at the top: a line for each row.

    The ``most`` largest features have a step each, the largest on top, and the others one together, at the bottom.
    Lines are green where the output is above the average and orange where it is below.
    """
    if explanation.base_values is None:
        raise InvalidParameter(NO_SUM)
    if not len(explanation):
        raise InvalidData("the explanation has no rows to draw")
    found = directions.explained(explanation)
    n = len(found.feature_names)
    order = wording.rank_largest(np.abs(found.values).mean(axis=0))[::-1]
    n_left = 0 if n <= as_int(most, "most", at_least=1) + 1 else n - most
    steps = [found.values[:, order[:n_left]].sum(axis=1)] * bool(n_left) + [
        found.values[:, at] for at in order[n_left:]
    ]
    names = [f"{n_left} other features"] * bool(n_left) + [_name(found, at) for at in order[n_left:].tolist()]
    ax = _style.make_lines(ax, names)
    ax.lines[0].remove()  # there is nothing about 0 here
    bases = np.asarray(found.base_values)
    paths = np.column_stack([bases, bases[:, None] + np.cumsum(np.column_stack(steps), axis=1)])
    heights = np.arange(len(names) + 1) - 0.5
    for path in paths:
        colour = colours.SUPPORTS if path[-1] >= path[0] else colours.OPPOSES
        ax.plot(path, heights, color=colour, linewidth=0.9, alpha=max(0.15, min(1.0, 12 / len(paths))))
    ax.axvline(float(bases.mean()), color=colours.INK, linewidth=0.8, linestyle=(0, (2, 3)), zorder=0)
    ax.set_ylim(-0.5, len(names) - 0.5)
    ax.set_title(f"{count_in_words(len(found), 'row')} from average to output", fontsize=10)
    _style.caption(ax, f"{wording.name_unit(found)}; dotted: average over the reference data", found.question)
    _style.space_ticks(ax)
    return ax


def _name(found: Explanation, at: int) -> str:
    return _style.shorten_name(found.feature_names[at])


def _name_rows(ax: Any, found: Explanation) -> None:
    """Name rows where there is room for it."""
    names = [_style.shorten_name(str(name), _style.MOST_LETTERS_OF_LEVELS) for name in found.index]
    is_long = sum(map(len, names)) > MOST_NAMES
    if len(names) <= MOST_NAMES:
        ax.set_xticks(np.arange(len(names)), names, rotation=90 if is_long else 0, fontsize=_style.SMALL)
    else:
        ax.set_xticks([])


def _draw_outputs(ax: Any, found: Explanation, outputs: Array) -> None:
    """Draw the outputs above the map, with the base value as a line."""
    above = ax.inset_axes((0.0, 1.03, 1.0, 0.22), sharex=ax)
    base = np.asarray(found.base_values)
    above.step(np.arange(len(outputs)), outputs, where="mid", color=colours.INK, linewidth=1.2)
    above.plot(np.arange(len(outputs)), base, color=colours.OVERLAP, linewidth=0.8, linestyle=(0, (2, 3)))
    above.set_ylabel(_style.fold_text(wording.name_unit(found)).replace(" of ", "\nof "), fontsize=_style.SMALL)
    above.tick_params(axis="x", bottom=False, labelbottom=False)
    above.tick_params(axis="y", labelsize=_style.SMALL)
    above.spines[["top", "right", "bottom"]].set_visible(False)
    above.set_title(f"{count_in_words(len(found), 'row')} under their outputs", fontsize=10)
