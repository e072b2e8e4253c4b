"""Explanations in the terminal."""

from __future__ import annotations

import numpy as np

from xcid import wording
from xcid._check import as_int
from xcid.records import Explanation, Interactions

_EIGHTHS = " ▏▎▍▌▋▊▉"


def bars(explanation: Explanation, row: int = 0, *, width: int = 32, most: int = 20) -> str:
    """Draw the scores of one row as bars, largest first.

    Parameters
    ----------
    explanation : Explanation
    row : int
    width : int
        Characters of a full bar, for a score of 1.
    most : int
        Features shown; the rest are counted in the last line.
    """
    one = explanation[row]
    values = one.values[0]
    order = np.argsort(-np.abs(values), kind="stable")
    shown = order[: as_int(most, "most", at_least=1)]
    name_width = max(len(one.feature_names[i]) for i in shown)
    cells = {i: one.shown(0, int(i)) for i in shown}
    cell_width = max(len(cell) for cell in cells.values())
    lines = [_title(one)]
    for i in shown:
        value = f"{values[i]:+.3f}" if one.direction.any() else f"{values[i]:.3f}"
        drawn = _note(one, int(i)) or _bar(abs(values[i]), as_int(width, "width", at_least=1))
        cell = f"{cells[i]:>{cell_width}}"
        lines.append(
            f"  {one.feature_names[i]:<{name_width}}  {cell}  {value:>6}  {_mark(one, int(i))}{drawn}".rstrip()
        )
    if len(order) > most:
        lines.append(f"  and {len(order) - most} features with smaller scores")
    lines.append(_legend(one))
    if any(_mark(one, int(i)) == "~ " for i in shown):
        lines.append(f"  ~ {wording.NOISE}")
    return "\n".join(lines)


def pairs(interactions: Interactions, *, most: int = 12) -> str:
    """List the strongest pairs."""
    shown = range(min(len(interactions), as_int(most, "most", at_least=1)))
    names = [f"{first} x {second}" for first, second in interactions.pairs[:most]]
    width = max((len(name) for name in names), default=0)
    lines = ["pairs: joint d1, what the two explain singly, and the difference"]
    for i in shown:
        lines.append(
            f"  {names[i]:<{width}}  {interactions.joint[i]:.3f} - {interactions.alone[i]:.3f} = "
            f"{interactions.values[i]:+.3f}  (p = {interactions.p_values[i]:.2f})"
        )
    return "\n".join(lines)


def _title(one: Explanation) -> str:
    answer = wording.answer(one)
    if not _tried(one):  # of other methods
        return f"row {one.index[0]}: {answer} ({one.n_evaluations[0]:,} evaluations, {one.status[0]})"
    return (
        f"row {one.index[0]}: {answer}; {one.n_flips[0]:,} of {_tried(one):,} perturbations flip it "
        f"({one.n_evaluations[0]:,} evaluations, {one.status[0]})"
    )


def _tried(one: Explanation) -> int:
    return round(float(one.n_positive[0] + one.n_negative[0]))


def _legend(one: Explanation) -> str:
    if not one.direction.any():
        return "  score: d1 between the values that flip the output and those that do not"
    return "  + the present value holds the output in place, - it pulls away from it"


def _note(one: Explanation, feature: int) -> str:
    status = one.feature_status[0, feature]
    return "" if status == "ok" else f"({status})"


def _mark(one: Explanation, feature: int) -> str:
    """Two characters before a bar, where there are p-values."""
    if one.p_values is None:
        return ""
    return "~ " if wording.noise(one)[0, feature] else "  "


def _bar(share: float, width: int) -> str:
    eighths = round(min(share, 1.0) * width * 8)
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8].strip()
