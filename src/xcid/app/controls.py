"""What a page can show and change: rows, features with their values, and questions."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from xcid.app.questions import questions
from xcid.explainer import Explainer
from xcid.records import SIGNIFICANT, Array
from xcid.report._text import clean
from xcid.report.evidence import TOP
from xcid.space import Column, labels

STEPS = 200  # of a slider, about


def describe(explainer: Explainer, rows: Any, names: Any = None, words: Mapping[str, str] | None = None) -> Any:
    """Give what the controls of a page need, ready for JSON.

    Parameters
    ----------
    explainer : Explainer
    rows : table
        Rows that can be picked.
    names : sequence, optional
        What they are called; by default as in the table.
    words : mapping of str to str, optional
        What features mean.
    """
    space, matrix = explainer.space, explainer.space.encode(rows)
    outputs = explainer.subject.predict(matrix)
    called = labels(rows, len(matrix)) if names is None else names
    there = np.concatenate([space.background, matrix])
    low, high = np.nanmin(there, axis=0), np.nanmax(there, axis=0)
    return {
        "features": [
            _feature(column, low[at], high[at], space.resolution[at], space.missing[at], (words or {}).get(column.name))
            for at, column in enumerate(space.columns)
        ],
        "rows": [
            {"name": clean(name), "cells": _cells(cells, space.columns), "outputs": _shares(row)}
            for name, cells, row in zip(called, matrix, outputs, strict=True)
        ],
        "classes": classes(explainer),
        "questions": questions(explainer),
        "noise_above": SIGNIFICANT,
        "top": TOP,
    }


def classes(explainer: Explainer) -> list[str]:
    """Names of the classes; none for a regression."""
    names = explainer.subject.predict.read.names
    return [clean(name) for name in names] if len(names) > 1 else []


def _feature(column: Column, low: float, high: float, resolution: float, missing: float, words: str | None) -> Any:
    record: dict[str, Any] = {"name": clean(column.name), "missing": bool(missing > 0)}
    if words:
        record["words"] = clean(words)
    if column.levels:
        return record | {"kind": "levels", "levels": [clean(level, 80) for level in column.levels]}
    step = _step(float(high - low), float(resolution))
    return record | {"kind": "number", "low": float(low), "high": float(high), "step": step, "unit": column.unit}


def _step(width: float, resolution: float) -> float:
    """A round step of a slider that has some 200 of them, and none that is finer than the values."""
    if not math.isfinite(width) or width <= 0:
        return 1.0
    wanted = width / STEPS
    power = 10.0 ** math.floor(math.log10(wanted)) if wanted > 1e-300 else wanted
    step = max(part * power for part in (1, 2, 5) if part * power <= wanted * (1 + 1e-9))
    return max(step, 1 / resolution) if resolution else step


def _cells(cells: Array, columns: tuple[Column, ...]) -> list[float | None]:
    """As a request has them: numbers, places of levels, None for what is missing."""
    return [
        None if np.isnan(cell) else int(cell) if column.levels else float(cell)
        for cell, column in zip(cells, columns, strict=True)
    ]


def _shares(outputs: Array) -> list[float]:
    return [float(f"{output:.4g}") for output in outputs]
