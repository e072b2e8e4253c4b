"""Rows of a table for which a condition holds, such as "age > 60 and job == 'nurse'"."""

from __future__ import annotations

import operator
from collections.abc import Callable
from datetime import UTC
from functools import reduce
from typing import Any, NamedTuple

import narwhals.stable.v2 as nw
import numpy as np

from xcid._check import telling
from xcid._formulas import COMPARED, MOST_WHOLE, Formula, formula, suggest_formula
from xcid.errors import InvalidData, InvalidParameter
from xcid.io import tables
from xcid.io.dates import ISO, readings
from xcid.io.sources import number
from xcid.records import Flags
from xcid.table.tables import time_zone

ADVICE = "type a condition such as age > 60, job == 'nurse', `two words` <= 3 or age > 60 and not job in ['a', 'b']"
_ORDERED = ("<", "<=", ">", ">=")


def condition(text: str) -> Formula:
    """Read a condition."""
    found = _read(text)
    if found is None:
        raise InvalidParameter(f"{text!r:.80} does not select rows: {suggest_formula(text) or ADVICE}")
    return found


def _read(text: str) -> Formula | None:
    try:
        found = formula(text)
    except InvalidParameter:
        return None
    return found if found.is_condition else None


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
        return np.flatnonzero(found.value(lambda name: _get_column(narwhal, name), _compare, _calculate)).tolist()


class Numbers(NamedTuple):
    """What was calculated from columns: (n,) whole numbers or floats of 64 bits, and where they are known."""

    values: Any
    known: Flags

    @classmethod
    def of(cls, operand: Any) -> Numbers:
        """A column or a number; narrow types would wrap."""
        if isinstance(operand, Numbers):
            return operand
        if not isinstance(operand, nw.Series):
            if isinstance(operand, int) and not -MOST_WHOLE <= operand < MOST_WHOLE:
                raise InvalidData(f"{operand:,} does not fit into 64 bits: write it as a float")
            return cls(np.array(operand), np.array(True))
        if not operand.dtype.is_numeric() and not isinstance(operand.dtype, nw.Boolean):
            raise InvalidData(f"{operand.name} holds no numbers to calculate with")
        known = ~_missing(operand).to_numpy().astype(bool)
        if operand.dtype.is_float() or isinstance(operand.dtype, nw.Decimal):
            return cls(operand.cast(nw.Float64).fill_null(np.nan).to_numpy(), known)
        whole = operand.cast(nw.Int8) if isinstance(operand.dtype, nw.Boolean) else operand
        if known.any() and int(whole.max()) >= MOST_WHOLE:
            raise InvalidData(f"{operand.name} holds numbers too large to calculate with: {MOST_WHOLE:,} and above")
        return cls(whole.fill_null(0).cast(nw.Int64).to_numpy(), known)


def _calculate(operate: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
    """Numbers of two operands; whole ones stay whole where they fit into 64 bits, and are refused where not."""
    if not any(isinstance(side, nw.Series | Numbers) for side in (left, right)):
        return operate(left, right)
    (first, is_first), (second, is_second) = Numbers.of(left), Numbers.of(right)
    known = is_first & is_second
    with np.errstate(all="ignore"):
        floats = operate(first.astype(np.float64), second.astype(np.float64))
        if first.dtype.kind == "f" or second.dtype.kind == "f" or operate in (operator.truediv, operator.pow):
            return Numbers(floats, known & ~np.isnan(floats))
        if operate is operator.mod:
            known = known & (second != 0)
        values = operate(first, second)
    for at in np.flatnonzero((np.abs(floats) >= MOST_WHOLE / 2) & known):
        exact = operate(int(np.broadcast_to(first, floats.shape)[at]), int(np.broadcast_to(second, floats.shape)[at]))
        if not -MOST_WHOLE <= exact < MOST_WHOLE:
            raise InvalidData(f"row {at} comes to {exact:,}, which does not fit into 64 bits: make floats of a column")
    return Numbers(values, known)


def _compare(sign: str, left: Any, right: Any) -> Flags:
    """Compare a column with a column, a number, a text or a list."""
    if any(isinstance(side, Numbers) for side in (left, right)):
        return _compared_numbers(sign, left, right)
    columns = [side for side in (left, right) if isinstance(side, nw.Series)]
    if not columns:
        raise InvalidParameter("a comparison needs a column on one side")
    _check_kinds(sign, left, right)
    left, right = (side if isinstance(side, nw.Series) else _fitting(side, columns[0]) for side in (left, right))
    if sign in COMPARED:
        found = COMPARED[sign](left, right)
    else:
        found = left.is_in(right) if sign == "in" else ~left.is_in(right)
    known = reduce(np.logical_and, [~_missing(column).to_numpy() for column in columns])
    return np.asarray(found.fill_null(False).to_numpy(), dtype=bool) & known


def _compared_numbers(sign: str, left: Any, right: Any) -> Flags:
    """Compare what was calculated with a column, a number or a list of numbers."""
    for side in (left, right):
        if _kind(side) == "text":
            raise InvalidData(f"a calculation comes to numbers, and {_cite_value(side)} is text")
    if sign not in COMPARED:
        values, known = Numbers.of(left)
        found = np.logical_or.reduce([values == one for one in right])
        return (found if sign == "in" else ~found) & known
    (first, is_first), (second, is_second) = Numbers.of(left), Numbers.of(right)
    return np.asarray(COMPARED[sign](first, second) & is_first & is_second, dtype=bool)


def _get_column(frame: nw.DataFrame[Any], name: str) -> nw.Series[Any]:
    """A column; dates in it are the moments at which they begin, and times with a zone are in UTC."""
    try:
        column = tables.column_of(frame.to_native(), name, "")
    except InvalidData as error:
        whole = next((one for one in tables.names(frame.to_native()) if name in one and not one.isidentifier()), None)
        advice = f"if {name} is a text, put it in quotes" if whole is None else f"put the whole name in `: `{whole}`"
        raise InvalidData(f"{error}; {advice}") from error
    if isinstance(column.dtype, nw.Date):
        return column.cast(nw.Datetime("us"))
    return column.dt.convert_time_zone("UTC") if time_zone(column) else column


def _missing(column: nw.Series[Any]) -> nw.Series[Any]:
    return column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()


def _check_kinds(sign: str, *sides: Any) -> None:
    """Refuse numbers beside text, and text that is ordered by its letters where dates are meant."""
    (first, second), kinds = sides, [_kind(side) for side in sides]
    if set(kinds) == {"numbers", "text"}:
        column, other, kind = (first, second, kinds) if isinstance(first, nw.Series) else (second, first, kinds[::-1])
        what = f"{other.name} holds {kind[1]}" if isinstance(other, nw.Series) else f"{_cite_value(other)} is {kind[1]}"
        is_number = kind[0] == "numbers" and isinstance(other, str) and not isinstance(number(other), str)
        advice = f": write {other.lstrip('0') or 0}, without quotes" if is_number else ""
        raise InvalidData(f"{column.name} holds {kind[0]} and {what.replace('is numbers', 'is a number')}{advice}")
    for column, other in (sides, sides[::-1]):
        if kinds == ["text", "text"] and sign in _ORDERED and isinstance(other, str) and readings(other):
            what = f"{column.name} holds text, and {other!r:.80} is a date"
            raise InvalidData(f"{what}: --dates {column.name} reads dates, if all of its cells are such")


def _kind(side: Any) -> str:
    """What a column or a constant holds, as far as it decides what it can be compared with."""
    if isinstance(side, nw.Series):
        is_text = isinstance(side.dtype, nw.String | nw.Categorical | nw.Enum)
        return "numbers" if side.dtype.is_numeric() else "text" if is_text else ""
    kinds = {_kind(one) for one in side} if isinstance(side, list) else {""}
    if len(kinds) == 1 and isinstance(side, list):
        return kinds.pop()
    return "text" if isinstance(side, str) else "numbers" if isinstance(side, int | float) else ""


def _cite_value(value: Any) -> str:
    if isinstance(value, nw.Series):
        return str(value.name)
    return f"{(value[0] if isinstance(value, list) else value)!r:.80}"


def _fitting(value: Any, column: nw.Series[Any]) -> Any:
    """A constant beside a column: text beside dates is a date."""
    if not isinstance(column.dtype, nw.Datetime):
        return value
    if isinstance(value, list):
        return [_fitting(one, column) for one in value]
    found = readings(value) if isinstance(value, str) else {}
    if len(found) != 1:
        raise InvalidData(f"{column.name} holds dates, and {value!r:.80} is not clearly one: write it as {ISO}")
    (moment,) = found.values()
    return moment.replace(tzinfo=UTC) if column.dtype.time_zone else moment
