"""Columns that a model should hardly learn from: names of rows, and what gives the target away."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid.files import tables
from xcid.files.training import is_classes, labels
from xcid.records import Array, Flags

FEWEST_ROWS = 20  # that tell anything
NAMED = re.compile(r"(^|[_ -])(id|uuid|guid|key|index|rownames?)$|[a-z]I[dD]$|^unnamed", re.IGNORECASE)
NAMED_SHARE, DISTINCT_SHARE = 0.5, 0.95  # of values that differ, with such a name and of text without
BINS = 32
SURE = 0.98  # of rows that one column predicts
LEFT = 0.1  # of the errors of the simplest guess
SAME = 0.995  # rank correlation of a number with the target


def notes(frame: Any, target: str) -> Iterator[str]:
    """Say which columns look like names of rows, and which alone predict the target almost perfectly."""
    narwhal = nw.from_native(tables.without(frame, target), eager_only=True)
    if len(narwhal) < FEWEST_ROWS:
        return
    wanted = tables.column_of(frame, target)
    for name in narwhal.columns:
        column = narwhal.get_column(name)
        if is_identifier(column):
            yield (
                f"column {name!r} looks like an identifier, and the model learns from it: --id {name} names the rows "
                "by it and keeps it out of the features"
            )
        elif how_well := predicts(column, wanted):
            yield (
                f"column {name!r} alone predicts {target!r} {how_well}: if it becomes known only with {target!r}, "
                "leave it out of the table"
            )


def is_identifier(column: nw.Series[Any]) -> bool:
    """Whether a column names rows: text that hardly repeats, a row number, or a name that says so.

    Examples
    --------
    >>> import narwhals as nw
    >>> import pandas as pd
    >>> is_identifier(nw.from_native(pd.Series([f"C-{row}" for row in range(30)], name="who"), series_only=True))
    True
    """
    present = column.drop_nulls()
    if not len(present) or column.dtype.is_float() or isinstance(column.dtype, nw.Date | nw.Datetime | nw.Boolean):
        return False
    share = present.n_unique() / len(present)
    if share > NAMED_SHARE and NAMED.search(str(column.name)):
        return True
    if not column.dtype.is_numeric():
        return share > DISTINCT_SHARE
    steps = np.diff(np.sort(present.to_numpy().astype(np.float64)))
    return share == 1 and len(steps) > FEWEST_ROWS and bool(np.all(steps == steps[0]))


def predicts(column: nw.Series[Any], target: nw.Series[Any]) -> str:
    """How well a column alone predicts every second row, from the others; "" where not almost perfectly."""
    codes = _codes(column)
    learnt: Flags = np.arange(len(codes)) % 2 == 0
    if is_classes(target):
        _, classes = np.unique(labels(target).astype(str), return_inverse=True)
        counts = np.zeros((codes.max() + 1, classes.max() + 1))
        np.add.at(counts, (codes[learnt], classes[learnt]), 1)
        usual = counts.sum(axis=0).argmax()
        guessed = np.where(counts.any(axis=1), counts.argmax(axis=1), usual)[codes[~learnt]]
        right, by_habit = np.mean(guessed == classes[~learnt]), np.mean(usual == classes[~learnt])
        is_sure = right >= SURE and 1 - right <= LEFT * (1 - by_habit)
        return f"for {right:.0%} of the rows" if is_sure else ""
    if not column.dtype.is_numeric():
        return ""
    numbers, values = column.to_numpy().astype(np.float64), labels(target).astype(np.float64)
    is_known = np.isfinite(numbers)
    same = abs(_rank_correlation(numbers[is_known], values[is_known])) if is_known.mean() > SURE else 0.0
    return f"almost exactly (rank correlation {same:.3f})" if same >= SAME else ""


def _codes(column: nw.Series[Any]) -> Any:
    """(n,) small whole numbers: levels, or bins with as many rows each; missing cells are one of their own."""
    missing = tables.missing(column)
    if column.dtype.is_numeric():
        numbers = column.fill_null(np.nan).to_numpy().astype(np.float64)
        found = np.digitize(numbers, np.unique(np.nanquantile(numbers, np.linspace(0, 1, BINS + 1)[1:-1])))
    else:
        _, found = np.unique(np.array([str(cell) for cell in column.to_list()]), return_inverse=True)
    return np.where(missing, 0, found + 1)


def _rank_correlation(first: Array, second: Array) -> float:
    from scipy.stats import spearmanr

    if len(first) < FEWEST_ROWS or np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(spearmanr(first, second).statistic)
