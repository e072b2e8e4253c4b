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
    *(ast.expr_context, ast.Not, ast.USub, ast.UAdd, ast.boolop, *_ARITHMETIC, *_SYMBOLS),
)
_QUOTED = re.compile(r"""'[^']*'|"[^"]*"|`([^`]+)`""")
_ASSIGNED = re.compile("(?<![<>=!])=(?!=)")  # a sign that assigns, and does not compare
MOST_WHOLE = 2**63  # what whole numbers of a formula stay below


@dataclass(frozen=True, slots=True)
class Formula:
    """What a formula says, and the names in backquotes by those that stand for them."""

    tree: ast.expr
    quoted: Mapping[str, str]

    @property
    def is_condition(self) -> bool:
        """Whether it is true or false of a row, rather than a number."""
        return _holds_or_not(self.tree)

    def value(
        self,
        cells: Callable[[str], Any],
        compared: Callable[[str, Any, Any], Any],
        calculate: Callable[[Callable[[Any, Any], Any], Any, Any], Any] = lambda operate, left, right: operate(
            left, right
        ),
    ) -> Any:
        """What it comes to, with the cells of each name and a function that compares two sides by "<", "in", ...

        ``calculate`` applies an operator to two operands, where these are more than numbers and arrays of such.
        """

        def of(tree: ast.AST) -> Any:
            match tree:
                case ast.Constant(value=value):
                    return value
                case ast.Name(id=name):
                    return cells(self.quoted.get(name, name))
                case ast.List(elts=parts) | ast.Tuple(elts=parts):
                    return [of(part) for part in parts]
                case ast.BinOp(left=left, op=op, right=right):
                    number = _float if isinstance(op, ast.Pow) else _number
                    return calculate(_ARITHMETIC[type(op)], number(of(left)), number(of(right)))
                case ast.UnaryOp(op=ast.Not(), operand=part):
                    return np.logical_not(holds(part))
                case ast.UnaryOp(op=op, operand=part):
                    value = of(part)
                    if isinstance(value, int | float):
                        return -value if isinstance(op, ast.USub) else +value
                    return calculate(operator.sub if isinstance(op, ast.USub) else operator.add, 0, value)
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
    if len(text) > MOST_LETTERS:
        raise InvalidParameter(f"{text!r:.80} is longer than {MOST_LETTERS:,} letters")
    found = _parse(text)
    if found is None:
        raise InvalidParameter(f"{text!r:.80} cannot be read: {suggest_formula(text) or GRAMMAR}")
    lists = _lists(found.tree)
    for part in ast.walk(found.tree):
        is_known = isinstance(part, _PARTS) and (not isinstance(part, ast.Constant) or _is_plain(part.value))
        if not is_known or (isinstance(part, ast.List | ast.Tuple) and (part not in lists or not part.elts)):
            raise InvalidParameter(f"{text!r:.80} has a part that no formula has ({type(part).__name__}): {GRAMMAR}")
    if not all(isinstance(part, ast.List | ast.Tuple) for part in lists):
        raise InvalidParameter(f"{text!r:.80} cannot be read: in needs a list, such as job in ['a', 'b']")
    return found


def suggest_formula(text: str) -> str:
    """Ask whether "age == 3" was meant by "age = 3"; "" where that is no formula either."""
    compared = _ASSIGNED.sub("==", text)
    return f"did you mean {compared:.80}?" if compared != text and _parse(compared) is not None else ""


def _parse(text: str) -> Formula | None:
    quoted, mark = dict[str, str](), "_"
    while mark in text:
        mark += "_"

    def placed(match: re.Match[str]) -> str:
        if match[1] is None:  # a text
            return match[0]
        name = f"{mark}{len(quoted)}"
        quoted[name] = match[1]
        return name

    try:
        return Formula(ast.parse(_QUOTED.sub(placed, text.strip()), mode="eval").body, quoted)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _lists(tree: ast.AST) -> list[ast.expr]:
    """What stands behind each "in" and "not in"."""
    comparisons = [part for part in ast.walk(tree) if isinstance(part, ast.Compare)]
    pairs = [pair for part in comparisons for pair in zip(part.ops, part.comparators, strict=True)]
    return [side for op, side in pairs if isinstance(op, ast.In | ast.NotIn)]


def _is_plain(value: Any) -> bool:
    return isinstance(value, bool | float | str) or (isinstance(value, int) and value < MOST_WHOLE)


def _holds_or_not(tree: ast.AST) -> bool:
    return isinstance(tree, ast.Compare | ast.BoolOp) or (
        isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.Not)
    )


def _number(value: Any) -> Any:
    """An operand; whole numbers stay whole, so that no digit is lost."""
    if isinstance(value, str | list):
        raise InvalidParameter(f"a formula cannot calculate with {value!r:.80}")
    return value


def _float(value: Any) -> Any:
    """An operand of a power: as a float, 9 ** 9 ** 9 is too large in place of endless."""
    return float(value) if isinstance(value, int) else _number(value)
