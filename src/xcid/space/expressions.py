"""Rules in words, such as "months_employed <= 12 * (age - 16)": read here, with no more than a formula can do."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from functools import reduce
from typing import Any

import numpy as np

from xcid.errors import InvalidParameter

MOST_LETTERS = 1_000
_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
    ast.Mod: operator.mod,
}
_PARTS = (
    *(ast.Compare, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.Name, ast.Constant, ast.List, ast.Tuple),
    *(ast.expr_context, ast.operator, ast.unaryop, ast.boolop, ast.cmpop),
)
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda cells, levels: reduce(np.logical_or, [cells == level for level in levels]),
    ast.NotIn: lambda cells, levels: reduce(np.logical_and, [cells != level for level in levels]),
}


def compiled(text: str) -> Callable[[Any], Any]:
    """A function of rows from a formula of names, numbers, texts, comparisons, "and", "or", "not" and "in".

    Names that are no Python names stand in backquotes.

    Examples
    --------
    >>> import numpy as np
    >>> rule = compiled("`months employed` <= 12 * (age - 16) and job in ['a', 'b']")
    >>> rule({"months employed": np.array([24, 24]), "age": np.array([20, 17]), "job": np.array(["a", "b"])}).tolist()
    [True, False]
    """
    if len(text) > MOST_LETTERS:
        raise InvalidParameter(f"the rule {text!r:.80} is longer than {MOST_LETTERS:,} letters: give a function")
    quoted: list[str] = []

    def placed(match: re.Match[str]) -> str:
        quoted.append(match[1])
        return f"__{len(quoted) - 1}"

    try:
        tree = ast.parse(re.sub("`([^`]+)`", placed, text.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidParameter(f"the rule {text!r:.80} cannot be read: {error}") from error
    known = {f"__{at}": name for at, name in enumerate(quoted)}
    _refuse_others(tree, text)
    return lambda row: _value(tree, row, known)


def _refuse_others(tree: ast.expr, text: str) -> None:
    for part in ast.walk(tree):
        operators = isinstance(part, ast.operator) and type(part) not in _ARITHMETIC
        comparisons = isinstance(part, ast.cmpop) and type(part) not in _COMPARISONS
        if not isinstance(part, _PARTS) or operators or comparisons:
            raise InvalidParameter(
                f"the rule {text!r:.80} has a {type(part).__name__}: use names, numbers, texts, + - * / ** %, "
                "comparisons, in, and, or, not; or give a function"
            )


def _value(tree: ast.AST, row: Any, known: dict[str, str]) -> Any:
    match tree:
        case ast.Constant(value=value):
            return float(value) if isinstance(value, int) and not isinstance(value, bool) else value  # 9 ** 9 ** 9
        case ast.Name(id=name):
            return row[known.get(name, name)]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, row, known) for part in parts]
        case ast.BinOp(left=left, op=op, right=right):
            return _ARITHMETIC[type(op)](_value(left, row, known), _value(right, row, known))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return np.logical_not(_value(operand, row, known))
        case ast.UnaryOp(op=op, operand=operand):
            return -_value(operand, row, known) if isinstance(op, ast.USub) else +_value(operand, row, known)
        case ast.BoolOp(op=op, values=parts):
            join = np.logical_and if isinstance(op, ast.And) else np.logical_or
            return reduce(join, [_value(part, row, known) for part in parts])
        case ast.Compare(left=left, ops=ops, comparators=others):
            values = [_value(part, row, known) for part in (left, *others)]
            pairs = zip(ops, values, values[1:], strict=False)
            return reduce(np.logical_and, [_COMPARISONS[type(op)](first, second) for op, first, second in pairs])
    raise InvalidParameter(f"a rule cannot have a {type(tree).__name__}")
