"""Formulas such as "age > 60 and job in ['a', 'b']": read as Python, with no more than a formula can do."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from xcid.errors import InvalidParameter

MOST_LETTERS = 1_000
GRAMMAR = "use names, numbers, texts, + - * / ** %, comparisons, in, and, or, not"
COMPARED: dict[str, Callable[[Any, Any], Any]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
    "!=": operator.ne,
}
_SYMBOLS: dict[type, str] = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
}
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
    *(ast.expr_context, ast.unaryop, ast.boolop, *_ARITHMETIC, *_SYMBOLS),
)


@dataclass(frozen=True, slots=True)
class Formula:
    """What a formula says, and the names in backquotes by those that stand for them."""

    tree: ast.expr
    quoted: Mapping[str, str]

    @property
    def is_condition(self) -> bool:
        """Whether it holds or not, and is no number."""
        return _holds_or_not(self.tree)

    def value(self, cells: Callable[[str], Any], compared: Callable[[str, Any, Any], Any]) -> Any:
        """What it comes to, with the cells of each name and a function that compares two sides by "<", "in", ..."""

        def of(tree: ast.AST) -> Any:
            match tree:
                case ast.Constant(value=value):
                    return value
                case ast.Name(id=name):
                    return cells(self.quoted.get(name, name))
                case ast.List(elts=parts) | ast.Tuple(elts=parts):
                    return [of(part) for part in parts]
                case ast.BinOp(left=left, op=op, right=right):
                    return _ARITHMETIC[type(op)](_number(of(left)), _number(of(right)))
                case ast.UnaryOp(op=ast.Not(), operand=part):
                    return np.logical_not(holds(part))
                case ast.UnaryOp(op=op, operand=part):
                    return -of(part) if isinstance(op, ast.USub) else +of(part)
                case ast.BoolOp(op=op, values=parts):
                    join = np.logical_and if isinstance(op, ast.And) else np.logical_or
                    return reduce(join, [holds(part) for part in parts])
                case ast.Compare(left=left, ops=ops, comparators=others):
                    sides = [of(part) for part in (left, *others)]
                    pairs = zip(ops, sides, sides[1:], strict=False)
                    return reduce(np.logical_and, [compared(_SYMBOLS[type(op)], *pair) for op, *pair in pairs])
            raise AssertionError(tree)

        def holds(tree: ast.AST) -> Any:
            return of(tree) if _holds_or_not(tree) else compared("!=", of(tree), False)

        return of(self.tree)


def formula(text: str) -> Formula:
    """Read a formula; names that are no Python names stand in backquotes.

    Examples
    --------
    >>> rule = formula("`months employed` <= 12 * (age - 16)")
    >>> rule.value({"months employed": 24, "age": 20}.get, lambda sign, left, right: COMPARED[sign](left, right))
    True
    """
    quoted: dict[str, str] = {}

    def placed(match: re.Match[str]) -> str:
        name = f"_{len(quoted)}_"
        quoted[name] = match[1]
        return name

    if len(text) > MOST_LETTERS:
        raise InvalidParameter(f"{text!r:.80} is longer than {MOST_LETTERS:,} letters")
    try:
        tree = ast.parse(re.sub("`([^`]+)`", placed, text.strip()), mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise InvalidParameter(f"{text!r:.80} is no formula: {error}; {GRAMMAR}") from error
    for part in ast.walk(tree):
        if not isinstance(part, _PARTS):
            raise InvalidParameter(f"{text!r:.80} has a part that no formula has ({type(part).__name__}): {GRAMMAR}")
    return Formula(tree, quoted)


def _holds_or_not(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Compare | ast.BoolOp) or (
        isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    )


def _number(value: Any) -> Any:
    """An operand; as a float, 9 ** 9 ** 9 is too large in place of endless."""
    if isinstance(value, str | list):
        raise InvalidParameter(f"a formula cannot calculate with {value!r:.80}")
    return float(value) if isinstance(value, int) else value
