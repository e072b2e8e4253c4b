"""What a page can show and change: rows, features with their values, and questions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from xcid.app.requests import questions, targets
from xcid.explainer import Explainer
from xcid.records import Array
from xcid.show import wording
from xcid.show.report.contents import COMMON
from xcid.show.report.rows import round_number
from xcid.show.wording.names import clean
from xcid.table import Column, labels

STEPS = 200  # of a slider, about


def describe(explainer: Explainer, rows: Any, names: Any = None, words: Mapping[str, str] | None = None) -> Any:
    """Give what the controls of a page need, ready for JSON.

    ``names`` are those of the rows, by default as in the table; ``words`` say what features mean.
    """
    space, matrix = explainer.space, explainer.space.encode(rows)
    classes, outputs = explainer.subject.output_names, explainer.subject.predict(matrix)
    called = labels(rows, len(matrix)) if names is None else names
    there = np.concatenate([space.background, matrix])
    low, high = np.nanmin(there, axis=0), np.nanmax(there, axis=0)
    return COMMON | {
        "features": [
            _feature(column, low[at], high[at], space.resolution[at])
            | {"missing": bool(space.missing[at] > 0), "meaning": clean((words or {}).get(column.name, ""))}
            for at, column in enumerate(space.columns)
        ],
        "rows": [
            {
                "name": clean(name),
                "cells": cells_of(cells, space.columns),
                "outputs": [round_number(output) for output in row],
                "answer": wording.format_prediction(row, classes),
            }
            for name, cells, row in zip(called, matrix, outputs, strict=True)
        ],
        "classes": [clean(name) for name in classes] if len(classes) > 1 else [],
        "what_would": wording.title_changes(classes),
        "questions": questions(explainer),
        "targets": [clean(words) for words, _ in targets(explainer)],
    }


def _feature(column: Column, low: float, high: float, resolution: float) -> dict[str, Any]:
    name = clean(column.name)
    if column.levels:
        return {"name": name, "kind": "levels", "levels": [clean(level, 80) for level in column.levels]}
    step = _step(float(high - low), float(resolution))
    return {"name": name, "kind": "number", "low": float(low), "high": float(high), "step": step, "unit": column.unit}


def _step(width: float, resolution: float) -> float:
    """A round step of a slider that has some 200 of them, and none that is finer than the values."""
    if not math.isfinite(width) or width <= 0:
        return 1.0
    wanted = width / STEPS
    power = 10.0 ** math.floor(math.log10(wanted)) if wanted > 1e-300 else wanted
    step = max(part * power for part in (1, 2, 5) if part * power <= wanted * (1 + 1e-9))
    return max(step, 1 / resolution) if resolution else step


def cells_of(cells: Array, columns: tuple[Column, ...]) -> list[float | None]:
    """As a request has them: numbers, places of levels, None for what is missing."""
    return [
        None if np.isnan(cell) else int(cell) if column.levels else float(cell)
        for cell, column in zip(cells, columns, strict=True)
    ]
