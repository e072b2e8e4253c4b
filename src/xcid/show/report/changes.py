"""Counterfactuals of a row as a table of changes: what changes, from where to where, and what comes of it."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid.errors import EvidenceNotKept, NotEnoughFlips
from xcid.records import Array, Explanation
from xcid.show import counterfactuals, wording
from xcid.show.report.rows import rounded
from xcid.show.report.values import Values
from xcid.show.wording.names import clean
from xcid.whatif import Change, Counterfactuals

MOST_CHANGES = 8  # of a counterfactual that are listed
NEAREST = 3


def of_search(found: Counterfactuals, row: int, values: Values) -> list[dict[str, Any]]:
    """The counterfactuals of a row that a search found.

    Each has its ``kind``, the ``changes`` in the order in which they work best ([feature, before, after, what it adds
    to the output, the output then]), how many ``more`` there are, what the output ``was``, the ``output`` now, the
    class that this is ``about`` (none for a regression), and its ``likeness`` to real rows.
    """
    return [_line(found, int(line), values) for line in np.flatnonzero(found.row == row)]


def _line(found: Counterfactuals, line: int, values: Values) -> dict[str, Any]:
    changes = (*found.changes(line), *found.derived(line))
    is_number = found.is_number(line)
    has_numbers = not (values.is_hidden and is_number)
    record: dict[str, Any] = {
        "kind": str(found.kind[line]),
        "changes": [_change(change, values, has_numbers) for change in changes[:MOST_CHANGES]],
        "more": max(0, len(changes) - MOST_CHANGES),
        "likeness": str(found.likeness[line]),
        "about": "" if is_number else clean(found.about[line]),
    }
    return record | (_outputs(found.was[line], found.output[line]) if has_numbers else {})


def _change(change: Change, values: Values, has_numbers: bool) -> list[Any]:
    cells = [clean(change.feature), values.cell(change.before), values.cell(change.after)]
    return [*cells, _number(change.share), _number(change.output)] if has_numbers else cells


def of_samples(explanation: Explanation, row: int, values: Values) -> list[dict[str, Any]]:
    """The nearest perturbations that flip a row, among those behind its scores: without shares and likeness."""
    try:
        flips = counterfactuals.flips(explanation, row, NEAREST, 0)
    except (EvidenceNotKept, NotEnoughFlips):
        return []
    found = []
    for at, flip in enumerate(flips.rows):
        record = _largest_changes(explanation, row, flip, flips.moved[at], values)
        outputs = None if flips.outputs is None else flips.outputs[at]
        found.append(record | _moved_output(explanation, row, outputs, values))
    return found


def _largest_changes(explanation: Explanation, row: int, flip: Array, moved: Array, values: Values) -> dict[str, Any]:
    """The largest changes of a flip, in mean absolute deviations, and how many more there are."""
    own, cell, columns = explanation.data[row], explanation.cell, np.flatnonzero(moved)
    scale, has_levels = np.array(explanation.scales)[columns], [bool(explanation.levels[at]) for at in columns]
    by_number = np.abs(flip - own)[columns] / np.where(scale > 0, scale, np.nan)
    far = np.nan_to_num(np.where(has_levels, 1.0, by_number), nan=1.0)
    first = columns[wording.largest(far, MOST_CHANGES)].tolist()
    listed = [
        [clean(explanation.column_names[at]), values.cell(cell(own[at], at)), values.cell(cell(flip[at], at))]
        for at in first
    ]
    return {"changes": listed, "more": len(columns) - len(first)}


def _moved_output(explanation: Explanation, row: int, outputs: Array | None, values: Values) -> dict[str, Any]:
    """The output before and after, of the class that is then predicted, or whose output moves most."""
    own = explanation.outputs[row]
    if outputs is None or np.isnan(outputs).any() or outputs.shape != own.shape:
        return {}
    if len(own) == 1:
        return {} if values.is_hidden else {"about": "", **_outputs(own[0], outputs[0])}
    is_other = outputs.argmax() != own.argmax()
    at = int(outputs.argmax() if is_other else np.abs(outputs - own).argmax())
    return {"about": clean(explanation.output_names[at]), **_outputs(own[at], outputs[at])}


def _outputs(was: float, output: float) -> dict[str, Any]:
    return {"was": _number(was), "output": _number(output)}


def _number(value: float) -> float | None:
    return rounded(float(value)) if np.isfinite(value) else None
