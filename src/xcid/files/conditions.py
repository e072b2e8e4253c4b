"""Conditions on the columns of a table, such as "age > 60 and job == 'nurse'": read as Python, never run."""

from __future__ import annotations

import ast
import datetime
import operator
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import narwhals.stable.v2 as nw

from xcid.errors import InvalidData, InvalidParameter, telling
from xcid.files import tables

MOST_LETTERS = 1_000
COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda column, values: column.is_in(values),
    ast.NotIn: lambda column, values: ~column.is_in(values),
}


def parsed(text: str) -> tuple[ast.expr, dict[str, str]]:
    """The tree of a condition, and the names in backquotes by those that stand for them in it."""
    quoted: dict[str, str] = {}

    def placed(match: re.Match[str]) -> str:
        quoted[f"_{len(quoted)}_"] = match[1]
        return f"_{len(quoted) - 1}_"

    advice = "type a condition such as age > 60, job == 'nurse', `two words` <= 3 or age > 60 and not job in ['a', 'b']"
    try:
        tree = ast.parse(re.sub("`([^`]+)`", placed, text[:MOST_LETTERS].strip()), mode="eval").body
        if len(text) > MOST_LETTERS or not _is_condition(tree):
            raise ValueError
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidParameter(f"{text!r:.80} does not select rows: {advice}") from error
    return tree, quoted


def rows_where(text: str, frame: Any) -> list[int]:
    """Positions of the rows of a data frame for which a condition holds; missing cells meet none.

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [70, 50, 65], "job": ["clerk", "clerk", "nurse"]})
    >>> rows_where("age > 60 and job != 'nurse'", people)
    [0]
    """
    tree, quoted = parsed(text)
    narwhal = nw.from_native(frame, eager_only=True)
    with telling(InvalidData, f"the condition {text!r:.80} does not fit the table"):
        held = _held(tree, narwhal, quoted).fill_null(False).to_list()
    return [row for row, holds in enumerate(held) if holds]


def _is_condition(tree: ast.AST) -> bool:
    match tree:
        case ast.BoolOp(values=parts):
            return all(_is_condition(part) or isinstance(part, ast.Name) for part in parts)
        case ast.UnaryOp(op=ast.Not(), operand=part):
            return _is_condition(part) or isinstance(part, ast.Name)
        case ast.Compare(left=left, ops=ops, comparators=others):
            return all(map(_is_side, (left, *others))) and all(type(op) in COMPARISONS for op in ops)
    return False


def _is_side(tree: ast.AST) -> bool:
    match tree:
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return bool(parts) and all(isinstance(part, ast.Constant) or _is_negative(part) for part in parts)
        case ast.Constant() | ast.Name():
            return True
    return _is_negative(tree)


def _is_negative(tree: ast.AST) -> bool:
    return isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub) and isinstance(tree.operand, ast.Constant)


def _held(tree: ast.AST, frame: nw.DataFrame[Any], quoted: dict[str, str]) -> nw.Series[Any]:
    """Whether a checked condition holds, row by row."""
    match tree:
        case ast.BoolOp(op=op, values=parts):
            join = operator.and_ if isinstance(op, ast.And) else operator.or_
            return reduce(join, [_held(part, frame, quoted).fill_null(False) for part in parts])
        case ast.UnaryOp(operand=part):
            return ~_held(part, frame, quoted).fill_null(False)
        case ast.Name(id=name):
            return _named(frame, quoted.get(name, name)) == True  # noqa: E712
        case ast.Compare(left=first, ops=ops, comparators=others):
            sides = (first, *others)
            pairs = zip(ops, sides, sides[1:], strict=False)
            return reduce(operator.and_, [_compared(op, left, right, frame, quoted) for op, left, right in pairs])
    raise AssertionError(tree)


def _compared(
    op: ast.cmpop, left: ast.AST, right: ast.AST, frame: nw.DataFrame[Any], quoted: dict[str, str]
) -> nw.Series[Any]:
    columns = [_column(side, frame, quoted) for side in (left, right)]
    first = next((column for column in columns if column is not None), None)
    if first is None:
        raise InvalidParameter("a comparison needs a column on one side")
    sides = [
        _constant(side, first) if column is None else column
        for side, column in zip((left, right), columns, strict=True)
    ]
    found: nw.Series[Any] = COMPARISONS[type(op)](*sides)
    known = reduce(operator.and_, [~_missing(column) for column in columns if column is not None])
    return found & known


def _column(side: ast.AST, frame: nw.DataFrame[Any], quoted: dict[str, str]) -> nw.Series[Any] | None:
    return _named(frame, quoted.get(side.id, side.id)) if isinstance(side, ast.Name) else None


def _named(frame: nw.DataFrame[Any], name: str) -> nw.Series[Any]:
    try:
        return tables.column_of(frame.to_native(), name, "")
    except InvalidData as error:
        raise InvalidData(f"{error}; if {name} is text and no column, it stands in quotes") from error


def _missing(column: nw.Series[Any]) -> nw.Series[Any]:
    return column.is_null() | column.is_nan() if column.dtype.is_float() else column.is_null()


def _constant(side: ast.AST, column: nw.Series[Any]) -> Any:
    """A number, a text or a list of them; text beside a column of dates is a date."""
    value = ast.literal_eval(ast.unparse(side))
    if isinstance(column.dtype, nw.Date | nw.Datetime):
        as_date = datetime.date if isinstance(column.dtype, nw.Date) else datetime.datetime
        return (
            [as_date.fromisoformat(one) for one in value] if isinstance(value, list) else as_date.fromisoformat(value)
        )
    return list(value) if isinstance(value, tuple) else value
