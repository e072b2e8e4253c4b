"""Conditions on rows of a table against exact arithmetic: ``python soak/conditions.py --count 5000``.

Each try makes columns of any types, with missing cells where the library knows such, and a condition of calculations,
comparisons, lists, ``and``, ``or`` and ``not``. The rows that it selects must be those for which it holds in Python's
own whole numbers and floats, or an error must say why none are selected, as where a result leaves 64 bits.
"""

from __future__ import annotations

import argparse
import math
import operator
import random
import sys
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from verdict import verdict

from xcid.errors import InvalidData
from xcid.io.conditions import rows_where

TYPES = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "bool")
SIGNS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "==": operator.eq, "!=": operator.ne}
OPERATORS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "%": operator.mod}
ROWS = 24
LIMIT = 2**63
REFUSED, MOST_REFUSED = "refused", 0.2  # else nothing would be shown
Cells = list[Any]


class TooLarge(Exception):
    """A whole number that does not fit into 64 bits, for which an error is due."""


class Part(NamedTuple):
    """A piece of a condition: its text, and what it comes to in a row; None where a cell is missing."""

    text: str
    value: Callable[[dict[str, Any]], Any]


def cells(draw: random.Random, kind: str) -> Cells:
    """Cells at the limits of a type and near zero."""
    if kind == "bool":
        return [draw.random() < 0.5 for _ in range(ROWS)]
    if kind.startswith("float"):
        return [draw.randrange(-(2**11), 2**11) / 4 for _ in range(ROWS)]
    least, most = int(np.iinfo(kind).min), int(np.iinfo(kind).max)
    small = max(least, -9), min(most, 9)
    near = draw.random() < 0.5
    return [
        draw.randint(*small) if near else draw.choice([least, most, draw.randint(least, most)]) for _ in range(ROWS)
    ]


def frame(draw: random.Random, columns: dict[str, tuple[str, Cells]]) -> Any:
    """The columns in some library; pandas has no missing cells in most types."""
    library = draw.choice(("pandas", "pyarrow", "polars"))
    if library == "pandas":
        return pd.DataFrame({name: np.array(some, dtype=kind) for name, (kind, some) in columns.items()})
    for _, some in columns.values():
        for at in range(ROWS):
            some[at] = None if draw.random() < 0.1 else some[at]
    if library == "polars":
        types = {name: getattr(pl, _polars_name(kind)) for name, (kind, _) in columns.items()}
        return pl.DataFrame({name: some for name, (_, some) in columns.items()}, schema=types)
    types = {name: pa.bool_() if kind == "bool" else pa.from_numpy_dtype(kind) for name, (kind, _) in columns.items()}
    return pa.table({name: pa.array(some, types[name]) for name, (_, some) in columns.items()})


def _polars_name(kind: str) -> str:
    return "Boolean" if kind == "bool" else kind.capitalize().replace("Uint", "UInt")


def term(draw: random.Random, names: Sequence[str], depth: int) -> Part:
    """A column, a number or a calculation."""
    if depth == 0 or draw.random() < 0.3:
        name = draw.choice(names)
        return Part(name, lambda row: row[name])
    sign, left = draw.choice(list(OPERATORS)), term(draw, names, depth - 1)
    number = draw.choice([1, 2, 3, 7, 120, 0.5])
    right = Part(repr(number), lambda row: number) if draw.random() < 0.4 else term(draw, names, depth - 1)
    return Part(f"({left.text} {sign} {right.text})", lambda row: calculated(sign, left.value(row), right.value(row)))


def calculated(sign: str, left: Any, right: Any) -> Any:
    """What two numbers come to: whole ones exactly, floats as floats; None where that is no number."""
    if left is None or right is None:
        return None
    left, right = (int(one) if isinstance(one, bool) else one for one in (left, right))
    is_whole = isinstance(left, int) and isinstance(right, int) and sign != "/"
    if not is_whole:
        left, right = float(left), float(right)
    if any(isinstance(one, int) and one >= LIMIT for one in (left, right)):
        raise TooLarge
    try:
        found = OPERATORS[sign](left, right)
    except ZeroDivisionError:
        found = math.nan if sign == "%" or left == 0 else math.copysign(math.inf, left) * math.copysign(1, right)
    except OverflowError:
        raise TooLarge from None
    if is_whole and isinstance(found, int) and not -LIMIT <= found < LIMIT:
        raise TooLarge
    return None if isinstance(found, float) and math.isnan(found) else found


def comparison(draw: random.Random, names: Sequence[str], rows: Sequence[dict[str, Any]]) -> Part:
    """A calculation beside a number that it comes to in some row, or beside another one."""
    left, sign = term(draw, names, 2), draw.choice(list(SIGNS))
    try:
        known = [one for one in map(left.value, rows) if one is not None and abs(one) < LIMIT] or [0]
    except TooLarge:
        known = [0]
    numbers = [int(one) if isinstance(one, bool) else one for one in draw.choices(known, k=2)]
    if draw.random() < 0.2 and "(" in left.text:
        return Part(f"{left.text} in {numbers!r}", lambda row: compared(lambda one: one in numbers, left.value(row)))
    if draw.random() < 0.3 and "(" in left.text:
        right = term(draw, names, 1)
        return Part(
            f"{left.text} {sign} {right.text}",
            lambda row: compared(SIGNS[sign], left.value(row), right.value(row)),
        )
    return Part(f"{left.text} {sign} {numbers[0]!r}", lambda row: compared(SIGNS[sign], left.value(row), numbers[0]))


def compared(order: Callable[..., bool], *sides: Any) -> bool:
    """Nothing holds for what is missing."""
    return all(side is not None for side in sides) and order(*sides)


def condition(draw: random.Random, names: Sequence[str], rows: Sequence[dict[str, Any]]) -> Part:
    """One or two comparisons."""
    first = comparison(draw, names, rows)
    if draw.random() < 0.6:
        return first
    second, joins = comparison(draw, names, rows), draw.choice(("and", "or", "and not"))
    if joins == "or":
        return Part(f"{first.text} or {second.text}", lambda row: first.value(row) | second.value(row))
    if joins == "and":
        return Part(f"{first.text} and {second.text}", lambda row: first.value(row) & second.value(row))
    return Part(f"{first.text} and not ({second.text})", lambda row: first.value(row) & (not second.value(row)))


def attempt(draw: random.Random) -> str:
    """What is wrong with the rows that the next condition selects."""
    columns = {name: (kind, cells(draw, kind)) for name, kind in zip("abc", draw.choices(TYPES, k=3), strict=True)}
    table = frame(draw, columns)
    rows = [{name: some[at] for name, (_, some) in columns.items()} for at in range(ROWS)]
    asked = condition(draw, list(columns), rows)
    try:
        due = [at for at, row in enumerate(rows) if asked.value(row)]
    except TooLarge:
        due = None
    kinds = ", ".join(f"{name} {kind}" for name, (kind, _) in columns.items())
    try:
        found = rows_where(asked.text, table)
    except InvalidData:
        return REFUSED
    return "" if found == due else f"{asked.text} ({kinds}, {type(table).__module__}): {found} for {due}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Try so many conditions."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    draws = (random.Random(f"{options.seed} {at}") for at in range(options.count))
    found = [attempt(draw) for draw in draws]
    faults = [fault for fault in found if fault not in ("", REFUSED)]
    refused = found.count(REFUSED) / len(found)
    print(f"{refused:.1%} are refused by an error")
    return verdict("conditions", options.count, [*faults, *["too many are refused"] * (refused > MOST_REFUSED)])


if __name__ == "__main__":
    sys.exit(main())
