"""The plain numbers of rows, and of all rows together."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xcid import counterfactuals, wording
from xcid.errors import EvidenceNotKept, NotEnoughFlips
from xcid.records import Array, Explanation
from xcid.report.sentences import summary
from xcid.report.values import Values
from xcid.wording.names import clean

MOST_CHANGES = 8  # of a counterfactual that are listed
MOST_OUTPUTS = 6
NEAREST = 3


def unit_of(explanation: Explanation) -> float:
    """The step that scores are rounded to: thousandths, or four digits of the largest where it is above 1 or tiny."""
    largest = float(np.max(np.abs(explanation.values), initial=0.0))
    return 0.001 if largest == 0 or 0.05 <= largest <= 1 else 10.0 ** (math.floor(math.log10(largest)) - 3)


def row_of(explanation: Explanation, row: int, position: int, unit: float, values: Values) -> dict[str, Any]:
    """Everything about one row but its evidence; what the row lacks, the record lacks."""
    one = explanation[row]
    tried = round(float(one.n_positive[0] + one.n_negative[0]))
    has_classes = one.outputs.shape[1] > 1 and not np.isnan(one.outputs).any()
    fixed = [[int(at), clean(one.feature_status[0, at])] for at in np.flatnonzero(one.feature_status[0] != "ok")]
    record = {
        "name": values.row(position, one.index[0]),
        "answer": wording.answer(one.outputs[0], one.output_names, values.number),
        "top": int(one.outputs[0].argmax()),
        "status": clean(one.status[0]),
        "sentences": list(summary(one, 0, values)),
        "evaluations": int(one.n_evaluations[0]),
        "cells": [values.cell(one.shown(0, at)) for at in range(len(one.feature_names))],
        "score": _steps(one.values[0], unit),
        "d1": _steps(one.importance[0], 0.001),
        "flips": int(one.n_flips[0]) if tried else None,
        "tried": tried or None,
        "outputs": outputs_of(one.outputs[0]) if has_classes else None,
        "lower": None if one.lower is None else _steps(one.lower[0], unit),
        "upper": None if one.upper is None else _steps(one.upper[0], unit),
        "p": None if one.p_values is None else _thousandths_above(one.p_values[0]),
        "fixed": fixed or None,
    }
    return {name: part for name, part in record.items() if part is not None}


def outputs_of(outputs: Array) -> list[list[float]]:
    """The largest of (k,) outputs, each with its position."""
    return [[at, rounded(outputs[at])] for at in np.argsort(-outputs, kind="stable")[:MOST_OUTPUTS].tolist()]


def rounded(number: float, digits: int = 4) -> float:
    """A number with few digits, which takes few bytes."""
    return float(f"{number:.{digits}g}")


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


def overview(explanation: Explanation, unit: float) -> dict[str, Any]:
    """Mean absolute score of each feature, with limits, and the share of rows where it is significant."""
    mean = explanation.aggregate()
    record: dict[str, Any] = {"score": _steps(mean.values[0], unit), "d1": _steps(mean.importance[0], 0.001)}
    if len(explanation) > 1 and mean.lower is not None and mean.upper is not None:
        record |= {"lower": _steps(mean.lower[0], unit), "upper": _steps(mean.upper[0], unit)}
    if mean.significant is not None:
        record["significant"] = _steps(mean.significant[0], 0.001)
    return record


def _steps(numbers: Array, unit: float) -> list[int | None]:
    """Whole numbers of steps; None for what is no number."""
    return [int(step) if np.isfinite(step) else None for step in np.rint(numbers / unit)]


def _thousandths_above(p_values: Array) -> list[int | None]:
    """P-values are rounded up: what is not significant must not seem so."""
    nearest = np.rint(p_values * 1000)
    return _steps(nearest + (nearest / 1000 < p_values), 1.0)
