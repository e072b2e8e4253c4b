"""Checks of single settings, at the edge: each gives the value back or says what is wrong with it."""

from __future__ import annotations

import operator
from typing import Any, TypeVar

import numpy as np

from xcid.errors import InvalidParameter

T = TypeVar("T")
UPWARDS = frozenset(("up", "higher", "raise", "raises", "rise", "rises", "increase", "increases"))
DOWNWARDS = frozenset(("down", "lower", "lowers", "fall", "falls", "decrease", "decreases"))


def as_int(value: Any, name: str, *, at_least: int | None = None, at_most: int | None = None) -> int:
    """Take a whole number; True and 2.0 are none.

    Examples
    --------
    >>> as_int(3, "m", at_least=2)
    3
    >>> as_int(2.5, "m")
    Traceback (most recent call last):
        ...
    xcid.errors.InvalidParameter: m must be a whole number, not 2.5
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = None
    if number is None or isinstance(value, bool | np.bool_):
        raise InvalidParameter(f"{name} must be a whole number, not {value!r}")
    if at_least is not None and number < at_least:
        raise InvalidParameter(f"{name} must be at least {at_least}, not {number}")
    if at_most is not None and number > at_most:
        raise InvalidParameter(f"{name} must be at most {at_most:,}, not {number}")
    return number


def as_float(value: Any, name: str) -> float:
    """Take a number; NaN and infinity pass, for the range to refuse.

    Examples
    --------
    >>> as_float("x", "share")
    Traceback (most recent call last):
        ...
    xcid.errors.InvalidParameter: share must be a number, not 'x'
    """
    if isinstance(value, bool | np.bool_) or not isinstance(value, int | float | np.integer | np.floating):
        raise InvalidParameter(f"{name} must be a number, not {value!r}")
    return float(value)


def sign_of(word: Any) -> int:
    """Take a direction: 1 for a word that means up, -1 for one that means down, 0 for anything else.

    Every setting with a direction takes all of these words, whichever it documents.

    Examples
    --------
    >>> sign_of("rises"), sign_of("Lower"), sign_of("sideways")
    (1, -1, 0)
    """
    said = word.strip().lower() if isinstance(word, str) else ""
    return (said in UPWARDS) - (said in DOWNWARDS)


def require_callable(value: Any, name: str, example: str) -> None:
    """Refuse what cannot be called.

    Examples
    --------
    >>> require_callable("random", "generator", "xcid.generators.Random()")
    Traceback (most recent call last):
        ...
    xcid.errors.InvalidParameter: generator must be a function or an object like xcid.generators.Random(), not 'random'
    """
    if not callable(value):
        raise InvalidParameter(f"{name} must be a function or an object like {example}, not {value!r}")


def given_or(given: T | None, usual: T, name: str, example: str) -> T:
    """A part of a method that was given, or the usual one; it must be callable."""
    part = usual if given is None else given
    require_callable(part, name, example)
    return part


def selection(rows: Any, size: int) -> Any:
    """A slice as it is, anything else as positions of rows."""
    if isinstance(rows, int | np.integer):
        return [position_of(rows, size, "row")]
    try:
        positions = np.arange(size)[rows]
    except (IndexError, TypeError, ValueError) as error:
        raise InvalidParameter(f"rows {rows!r} cannot be selected: there are {size} rows ({error})") from error
    if positions.ndim != 1:
        raise InvalidParameter(f"rows {rows!r} cannot be selected: give a slice, a list of positions or a mask")
    return rows if isinstance(rows, slice) else positions


def position_of(index: Any, size: int, what: str) -> int:
    """Take a position from the front or, below 0, from the end."""
    index = as_int(index, f"the position of a {what}")
    if not -size <= index < size:
        raise InvalidParameter(f"there is no {what} {index}: positions go from 0 to {size - 1}")
    return index % size
