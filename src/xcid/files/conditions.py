"""Rows of a table for which a condition holds, such as "age > 60 and job == 'nurse'"."""

from __future__ import annotations

import datetime
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from xcid._formulas import COMPARED, Formula, formula
from xcid.errors import InvalidData, InvalidParameter, telling
from xcid.files import tables
from xcid.records import Flags

ADVICE = "type a condition such as age > 60, job == 'nurse', `two words` <= 3 or age > 60 and not job in ['a', 'b']"


def condition(text: str) -> Formula:
    """Read a condition."""
    try:
        found = formula(text)
    except InvalidParameter as error:
        raise InvalidParameter(f"{text!r:.80} does not select rows: {ADVICE}") from error
    if not found.is_condition:
        raise InvalidParameter(f"{text!r:.80} does not select rows: {ADVICE}")
    return found


def rows_where(text: str, frame: Any) -> list[int]:
    """Positions of the rows of a data frame for which a condition holds; no comparison holds for a missing cell.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [70, 50, 65], "job": ["clerk", "clerk", "nurse"]})
    >>> rows_where("age > 60 and job != 'nurse'", people)
    [0]
    """
    found = condition(text)
    narwhal = nw.from_native(frame, eager_only=True)
    with telling(InvalidData, f"the condition {text!r:.80} does not fit the table"):
        return np.flatnonzero(found.value(lambda name: _named(narwhal, name), _compared)).tolist()


def _compared(sign: str, left: Any, right: Any) -> Flags:
    """Compare a column with a column, a number, a text or a list."""
    columns = [side for side in (left, right) if isinstance(side, nw.Series)]
    if not columns:
        raise InvalidParameter("a comparison needs a column on one side")
    left, right = (side if isinstance(side, nw.Series) else _fitting(side, columns[0]) for side in (left, right))
    if sign in COMPARED:
        found = COMPARED[sign](left, right)
    else:
        found = left.is_in(right) if sign == "in" else ~left.is_in(right)
    known = reduce(np.logical_and, [~_missing(column).to_numpy() for column in columns])
    return np.asarray(found.fill_null(False).to_numpy(), dtype=bool) & known


def _named(frame: nw.DataFrame[Any], name: str) -> nw.Series[Any]:
    try:
        return tables.column_of(frame.to_native(), name, "")
    except InvalidData as error:
        raise InvalidData(f"{error}; if {name} is text and no column, it stands in quotes") from error


def _missing(column: nw.Series[Any]) -> nw.Series[Any]:
    return column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()


def _fitting(value: Any, column: nw.Series[Any]) -> Any:
    """A constant beside a column: text beside dates is a date."""
    if not isinstance(column.dtype, nw.Date | nw.Datetime):
        return value
    as_date = datetime.date if isinstance(column.dtype, nw.Date) else datetime.datetime
    return [as_date.fromisoformat(one) for one in value] if isinstance(value, list) else as_date.fromisoformat(value)
