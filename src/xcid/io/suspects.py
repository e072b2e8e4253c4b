"""Columns that a model should hardly learn from: names of rows, too many levels, and what gives the target away."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid.io import tables
from xcid.io.dates import find_shared_writings
from xcid.io.training import is_classes, labels
from xcid.records import Array, Flags

FEWEST_ROWS = 20  # that tell anything
NAMED = re.compile(r"(^|[_ -])(id|uuid|guid|key|index|rownames?)$|[a-z]I[dD]$|^unnamed", re.IGNORECASE)
NAMED_SHARE, DISTINCT_SHARE = 0.5, 0.95  # of values that differ, with such a name and of text without
MOSTLY = 0.5  # of the cells, or of the levels
MOST_LEVELS = 50  # of text
FEW_ROWS = 5  # of a rare level
BINS = 32
SURE = 0.98  # of rows that one column predicts
LEFT = 0.1  # of the errors of the simplest guess
SAME = 0.995  # rank correlation of a number with the target


def notes(frame: Any, target: str, id_column: str | None = None) -> Iterator[str]:
    """Say which columns look like names of rows, have too many levels, or alone predict the target almost perfectly.

    A column that names the rows already is no feature.
    """
    narwhal = nw.from_native(tables.without(frame, target), eager_only=True)
    if len(narwhal) < FEWEST_ROWS:
        return
    wanted = tables.column_of(frame, target)
    for name in narwhal.columns:
        column = narwhal.get_column(name)
        if is_identifier(column):
            named = f"--id {name} names the rows by it and keeps" if id_column is None else f"--drop {name} keeps"
            yield (
                f"column {name!r} looks like an identifier, and the model learns from it: {named} it out of the "
                "features"
            )
        elif n_levels := has_rare_levels(column):
            yield (
                f"column {name!r} has {n_levels:,} levels, most of them rare: that is slow, and hardly learnable; "
                f"--drop {name}, or group its levels"
            )
        elif how_well := predicts(column, wanted):
            yield (
                f"column {name!r} alone predicts {target!r} {how_well}: if it becomes known only with {target!r}, "
                f"leave it out by --drop {name}"
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
    if len(present) < MOSTLY * len(column) or column.dtype.is_float() or _are_dates(present):
        return False
    if isinstance(column.dtype, nw.Boolean):
        return False
    share = present.n_unique() / len(present)
    if share > NAMED_SHARE and NAMED.search(str(column.name)):
        return True
    if not column.dtype.is_numeric():
        return share > DISTINCT_SHARE
    steps = np.diff(np.sort(present.to_numpy().astype(np.float64)))
    return share == 1 and len(steps) > FEWEST_ROWS and bool(np.all(steps == steps[0]))


def has_rare_levels(column: nw.Series[Any]) -> int:
    """The number of levels of a text column that has many, more than half of them in few rows; else 0."""
    present = column.drop_nulls()
    if column.dtype.is_numeric() or _are_dates(present):
        return 0
    counts = np.array(list(Counter(present.to_list()).values()))
    return len(counts) if len(counts) > MOST_LEVELS and np.mean(counts < FEW_ROWS) > MOSTLY else 0


def _are_dates(present: nw.Series[Any]) -> bool:
    if isinstance(present.dtype, nw.Date | nw.Datetime):
        return True
    return isinstance(present.dtype, nw.String) and bool(len(present)) and bool(find_shared_writings(present.to_list()))


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
