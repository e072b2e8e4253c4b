"""The plain numbers of rows, and of all rows together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xcid import counterfactuals
from xcid.errors import EvidenceNotKept, NotEnoughFlips
from xcid.records import Array, Explanation
from xcid.report._text import clean
from xcid.report.values import Values
from xcid.report.words import answer, summary

MOST_CHANGES = 8  # of a counterfactual that are listed
MOST_OUTPUTS = 6
NEAREST = 3


def unit_of(explanation: Explanation) -> float:
    """The step that scores are rounded to: thousandths, or four digits of the largest where it is above 1 or tiny."""
    largest = float(np.max(np.abs(explanation.values), initial=0.0))
    return 0.001 if largest == 0 or 0.05 <= largest <= 1 else 10.0 ** (math.floor(math.log10(largest)) - 3)


def row_of(explanation: Explanation, row: int, position: int, unit: float, values: Values) -> dict[str, Any]:
    """Everything about one row but its evidence."""
    one = explanation[row]
    record: dict[str, Any] = {
        "name": values.row(position, one.index[0]),
        "answer": answer(one, values),
        "top": int(one.outputs[0].argmax()),
        "status": clean(one.status[0]),
        "words": list(summary(one, 0, values)),
        "evaluations": int(one.n_evaluations[0]),
        "cells": [values.cell(one.shown(0, at)) for at in range(len(one.feature_names))],
        "score": _steps(one.values[0], unit),
        "d1": _steps(one.importance[0], 0.001),
    }
    tried = round(float(one.n_positive[0] + one.n_negative[0]))
    if tried:
        record |= {"flips": int(one.n_flips[0]), "tried": tried}
    if one.outputs.shape[1] > 1 and not np.isnan(one.outputs).any():
        largest = np.argsort(-one.outputs[0], kind="stable")[:MOST_OUTPUTS].tolist()
        record["outputs"] = [[at, float(f"{one.outputs[0, at]:.3g}")] for at in largest]
    for name, part in (("lower", one.lower), ("upper", one.upper)):
        if part is not None:
            record[name] = _steps(part[0], unit)
    if one.p_values is not None:
        record["p"] = _steps(one.p_values[0], 0.001, np.ceil)  # never below the level that it is above
    fixed = [[int(at), clean(one.feature_status[0, at])] for at in np.flatnonzero(one.feature_status[0] != "ok")]
    return record | ({"fixed": fixed} if fixed else {})


def changes_of(explanation: Explanation, row: int, values: Values) -> list[dict[str, Any]]:
    """The nearest perturbations that flip a row: what changes, from where to where."""
    try:
        flips = counterfactuals.flips(explanation, row, NEAREST, 0)
    except (EvidenceNotKept, NotEnoughFlips):
        return []
    return written(explanation, row, flips, values)


def written(explanation: Explanation, row: int, flips: counterfactuals.Flips, values: Values) -> list[dict[str, Any]]:
    """Flips of a row, as a page lists them."""
    return [
        _changes(explanation, row, flip, moved, values) for flip, moved in zip(flips.rows, flips.moved, strict=True)
    ]


def _changes(explanation: Explanation, row: int, flip: Array, moved: Array, values: Values) -> dict[str, Any]:
    own, cell = explanation.data[row], explanation.cell
    columns = np.flatnonzero(moved).tolist()
    scale = np.array(explanation.scales)
    far = {
        at: 1.0 if explanation.levels[at] or not scale[at] else abs(flip[at] - own[at]) / scale[at] for at in columns
    }
    first = sorted(columns, key=lambda at: -np.nan_to_num(far[at], nan=1.0))[:MOST_CHANGES]
    listed = [
        [clean(explanation.column_names[at]), values.cell(cell(own[at], at)), values.cell(cell(flip[at], at))]
        for at in first
    ]
    return {"changes": listed, "more": len(columns) - len(first)}


def overview(explanation: Explanation, unit: float) -> dict[str, Any]:
    """Mean absolute score of each feature, with limits, and the share of rows where it is told from noise."""
    mean = explanation.aggregate()
    record: dict[str, Any] = {"score": _steps(mean.values[0], unit), "d1": _steps(mean.importance[0], 0.001)}
    if len(explanation) > 1 and mean.lower is not None and mean.upper is not None:
        record |= {"lower": _steps(mean.lower[0], unit), "upper": _steps(mean.upper[0], unit)}
    if mean.significant is not None:
        record["told"] = _steps(mean.significant[0], 0.001)
    return record


def _steps(numbers: Array, unit: float, rounding: Any = np.rint) -> list[int | None]:
    """Whole numbers of steps; None for what is no number."""
    steps = rounding(numbers / unit - (1e-9 if rounding is np.ceil else 0.0))
    return [int(step) if np.isfinite(step) else None for step in steps]
