"""Conditions on rows of a table come to what exact arithmetic says, whatever the type of a column and its library."""

from __future__ import annotations

import math
import operator
import random

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from xcid.errors import InvalidData
from xcid.io.conditions import rows_where

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool")
BACKENDS = {
    "pandas": lambda columns: pd.DataFrame(columns),
    "pyarrow": lambda columns: pa.table(columns),
    "polars": lambda columns: pl.DataFrame(columns),
}
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod}


def columns_of(draw, types):
    """Cells near the limits of their types, as far as a sum or product of two of them still fits into 64 bits."""
    made = {}
    for name, kind in zip("ab", types, strict=True):
        if kind == "bool":
            cells = [draw.random() < 0.5 for _ in range(60)]
        elif kind.startswith("float"):
            cells = [draw.randrange(-(2**11), 2**11) / 4 for _ in range(60)]
        else:
            low, high = max(np.iinfo(kind).min, -(2**31)), min(np.iinfo(kind).max, 2**31 - 1)
            cells = [draw.choice([low, high, draw.randint(low, high), 3]) for _ in range(60)]
        made[name] = np.array(cells, dtype=kind)
    return made


def exact(left, sign, right):
    """What two cells come to; nothing where that is no number."""
    try:
        return OPERATORS[sign](left, right)
    except ZeroDivisionError:
        return math.nan if sign == "%" or left == 0 else math.copysign(math.inf, left)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("seed", range(120))
def test_conditions_are_exact(backend, seed):
    draw = random.Random(seed)
    columns = columns_of(draw, draw.choices(TYPES, k=2))
    sign, order = draw.choice(list(OPERATORS)), draw.choice(list(SIGNS))
    cells = {name: [cell.item() for cell in column] for name, column in columns.items()}
    come_to = [exact(a, sign, b) for a, b in zip(cells["a"], cells["b"], strict=True)]
    known = [one for one in come_to if math.isfinite(one)] or [0]
    least = draw.choice(known)
    due = [row for row, one in enumerate(come_to) if not math.isnan(one) and SIGNS[order](one, least)]
    assert rows_where(f"a {sign} b {order} {least!r}", BACKENDS[backend](columns)) == due


@pytest.mark.parametrize("backend", BACKENDS)
def test_what_does_not_fit_into_64_bits_is_an_error(backend):
    frame = BACKENDS[backend]({"a": np.array([1, 2**62], dtype="int64"), "b": np.array([1, 2**63], dtype="uint64")})
    assert rows_where("a - 1 > 5", frame) == [1]
    for condition in ("a + a > 0", "a * a > 0", "-a - a - a < 0", "b + a > 0"):
        with pytest.raises(InvalidData, match=r"64 bits|too large to calculate with"):
            rows_where(condition, frame)


@pytest.mark.parametrize("backend", ["pyarrow", "polars"])
def test_missing_cells_come_to_nothing(backend):
    frame = BACKENDS[backend]({"a": [1, None, 3], "b": [1, 2, None], "s": ["x", "y", "z"]})
    assert rows_where("a + b < 9", frame) == [0]
    assert rows_where("a + b != 9", frame) == [0]
    assert rows_where("-a in [-1, -3]", frame) == [0, 2]
    for condition in ("a + 1 == 'x'", "s + s == 'xx'", "a + 1 == s"):
        with pytest.raises(InvalidData, match="number"):
            rows_where(condition, frame)
