"""What there is to pick and to edit: rows, which are found by name or number, and a control for each feature."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xcid._check import name_class
from xcid.app.requests import Fields, parse, questions, read_place, targets
from xcid.explainer import Explainer
from xcid.records import Array, Flags
from xcid.show import wording
from xcid.show.report.contents import COMMON
from xcid.show.report.rows import round_number
from xcid.show.wording.names import clean
from xcid.table import Column, FeatureSpace, labels

MOST_FOUND = 20  # rows that come with an answer
MOST_SOUGHT = 200  # letters
STEPS = 200  # of a slider, about


@dataclass(frozen=True, slots=True, eq=False)
class RowIndex:
    """n rows that can be picked, by what they are called on the page."""

    names: tuple[str, ...]
    sought: tuple[str, ...]  # the names as they are compared with what is typed
    cells: Array  # (n, d) as numbers

    @classmethod
    def of(cls, space: FeatureSpace, rows: Any, names: Sequence[Any] | None = None) -> RowIndex:
        """The rows of a table, by default with the names that it has for them."""
        cells = space.encode(rows)
        shown = tuple(map(clean, labels(rows, len(cells)) if names is None else names))
        return cls(shown, tuple(name.casefold() for name in shown), cells)

    def __len__(self) -> int:
        return len(self.names)


def find_rows(index: RowIndex, text: str) -> Sequence[int]:
    """Places of the rows whose name holds a text; the best come first.

    These are rows of exactly this name, the row of this number, and rows whose name begins with it. Without a text, all
    rows are found.
    """
    sought = text.strip().casefold()
    if not sought:
        return range(len(index))
    found = [at for at, name in enumerate(index.sought) if sought in name]
    number = int(sought) if sought.isdecimal() else len(index)
    if number < len(index) and sought not in index.sought[number]:
        found.append(number)

    def rank(at: int) -> tuple[bool, bool, bool]:
        name = index.sought[at]
        return name != sought, at != number, not name.startswith(sought)

    return sorted(found, key=rank)


def read_rows(explainer: Explainer, index: RowIndex, body: bytes) -> dict[str, Any]:
    """Find rows by what was typed, and describe some of them from a place on; ``total`` counts all that were found."""
    fields = Fields("the search for rows", parse(body))
    fields.only("find", "from")
    found = find_rows(index, fields.text("find", MOST_SOUGHT))
    first = read_place(fields.get("from"), len(index), "the number of the row")
    return {"rows": describe_rows(explainer, index, found[first : first + MOST_FOUND]), "total": len(found)}


def describe_rows(explainer: Explainer, index: RowIndex, places: Sequence[int]) -> list[dict[str, Any]]:
    """The rows at some places: where they are, what they are called, their cells, and what the model predicts."""
    if not places:
        return []
    cells, classes = index.cells[list(places)], explainer.subject.output_names
    return [
        {
            "at": at,
            "name": index.names[at],
            "cells": cells_of(own, explainer.space.columns),
            "outputs": [round_number(output) for output in outputs],
            "answer": wording.format_prediction(outputs, classes),
        }
        for at, own, outputs in zip(places, cells, explainer.subject.predict(cells), strict=True)
    ]


def describe(explainer: Explainer, index: RowIndex, words: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Give what the controls of a page need, ready for JSON: with the first rows, and how many there are.

    ``words`` say what features mean.
    """
    space, classes = explainer.space, explainer.subject.output_names
    usual = np.nanmin(space.background, axis=0), np.nanmax(space.background, axis=0)
    low, high = (
        function(np.vstack([own, index.cells]), axis=0)
        for function, own in zip((np.nanmin, np.nanmax), usual, strict=True)
    )
    whole = _find_whole(space)
    return COMMON | {
        "features": [
            _describe_feature(column, low[at], high[at], space.resolution[at])
            | ({} if column.levels else {"usual": [float(end[at]) for end in usual], "whole": bool(whole[at])})
            | {"missing": bool(space.missing[at] > 0), "meaning": clean((words or {}).get(column.name, ""))}
            for at, column in enumerate(space.columns)
        ],
        "rows": describe_rows(explainer, index, range(len(index))[:MOST_FOUND]),
        "n_rows": len(index),
        "classes": [name_class(clean(name)) for name in classes] if len(classes) > 1 else [],
        "what_would": wording.title_changes(classes),
        "questions": questions(explainer),
        "targets": [clean(words) for words, _ in targets(explainer)],
    }


def _find_whole(space: FeatureSpace) -> Flags:
    """(d,) columns of whole numbers alone: half of one does not come back from a table."""
    cells = np.nanmin(space.background, axis=0, keepdims=True)
    cells[0] += [0.5 if column.kind == "integer" and not column.unit else 0.0 for column in space.columns]
    try:
        back = space.values(space.decode(cells))
    except Exception:  # a library of data frames that refuses them: the answer to an edit will say so
        return np.zeros(len(space.columns), dtype=np.bool_)
    changed: Flags = ~np.isclose(back[0], cells[0], rtol=1e-6, atol=0)
    return changed


def _describe_feature(column: Column, low: float, high: float, resolution: float) -> dict[str, Any]:
    name = clean(column.name)
    if column.levels:
        return {"name": name, "kind": "levels", "levels": [clean(level, 80) for level in column.levels]}
    step = _choose_step(float(high - low), float(resolution))
    return {"name": name, "kind": "number", "low": float(low), "high": float(high), "step": step, "unit": column.unit}


def _choose_step(width: float, resolution: float) -> float:
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
