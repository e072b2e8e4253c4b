"""Present values of features: as a function of the user's gets them, and quoted with all their digits."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid.records import Explanation

MOST_DIGITS = 16  # of a number that somebody wrote down


def read_value(one: Explanation, at: int) -> Any:
    """The present value of a feature of a single row: a number, a text for levels and dates, a tuple for a group.

    A missing number is NaN, any other missing cell the text "missing".
    """
    values = [
        one.details.cell(one.data[0, column], column)
        if one.details.levels[column] or one.details.units[column]
        else float(one.data[0, column])
        for column in sorted(one.details.features[at])
    ]
    return values[0] if len(values) == 1 else tuple(values)


def quote_value(one: Explanation, at: int) -> str:
    """The present value of a feature of a single row as its table has it, with all its digits."""
    return ", ".join(
        one.details.cell(code, column)
        if one.details.levels[column] or one.details.units[column] or np.isnan(code)
        else _format_digits(float(code))
        for column, code in ((column, one.data[0, column]) for column in sorted(one.details.features[at]))
    )


def _format_digits(number: float) -> str:
    """The shortest text that gives a number back.

    Examples
    --------
    >>> _format_digits(82929.47), _format_digits(3.0), _format_digits(float(np.float32(0.1)))
    ('82929.47', '3', '0.1')
    """
    single = np.float32(number)
    is_single = float(single) == number and len(repr(number)) > MOST_DIGITS  # a column of single precision
    return (str(single) if is_single else repr(number + 0.0)).removesuffix(".0")
