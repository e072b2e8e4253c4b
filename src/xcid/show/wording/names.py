"""Names, numbers and present values of features, made fit to be shown.

Names from data are short, and without letters that act on the text around them; numbers have few digits.
"""

from __future__ import annotations

import unicodedata
from typing import Any

import numpy as np

from xcid._numbers import (
    DIGITS,
    LEAST,
    count_decimals_of_factor,
    find_exponent,
    format_factor,
    format_fixed,
    format_number,
    round_half_up,
)
from xcid.records import Array, Explanation, Integers

MOST_LETTERS = 160
MOST_DIGITS = 16  # of a number that somebody wrote down
ODDS = ("log_odds", "margins")  # scales whose numbers say what odds are multiplied by
NO_FACTOR = "1"  # odds that stay as they are
_ORDERS = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
_UNSEEN = frozenset(("Cc", "Cs", "Zl", "Zp"))


def clean(text: object, most: int = MOST_LETTERS) -> str:
    r"""Write out letters that turn the direction of text, control characters and halves of letters; cut long text.

    Escaping is not done here: that is the business of whoever writes the page.

    Examples
    --------
    >>> clean("abc\u202edef\x00")
    'abc⟨U+202E⟩def⟨U+0000⟩'
    >>> clean("a very long name", most=7)
    'a very…'
    """
    seen = write_out(str(text)[: most + 1])
    return seen if len(seen) <= most else f"{seen[: most - 1]}…"


def write_out(text: str) -> str:
    """The whole text with the letters that :func:`clean` writes out; of a page that is made, too."""
    return "".join(map(_seen, text))


def _seen(letter: str) -> str:
    if letter in "\t\n\r":
        return " "
    if letter in _ORDERS or unicodedata.category(letter) in _UNSEEN:
        return f"⟨U+{ord(letter):04X}⟩"
    return letter


def is_odds(scale: str) -> bool:
    """Whether contributions say what odds are multiplied by."""
    return scale in ODDS


def join_names(names: list[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> join_names(["a"]), join_names(["a", "b"]), join_names(["a", "b", "c"])
    ('a', 'a and b', 'a, b and c')
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def count_in_words(number: int, what: str) -> str:
    """How many things there are.

    Examples
    --------
    >>> count_in_words(1, "row"), count_in_words(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def make_sentence(text: str) -> str:
    """Text with a capital letter and a full stop; a file that it starts with keeps its name.

    Examples
    --------
    >>> make_sentence("no row is left"), make_sentence("credit.csv has decimal commas")
    ('No row is left.', 'credit.csv has decimal commas.')
    """
    is_file = any(sign in text.partition(" ")[0] for sign in "./\\")
    return f"{text}." if is_file else f"{text[:1].upper()}{text[1:]}."


def elide(name: str, most: int) -> str:
    """A name of at most so many letters: names that start alike often differ at their ends, so the middle goes.

    Examples
    --------
    >>> elide("serum cholesterol, measured twice", 16)
    'serum c…ed twice'
    """
    if len(name) <= most:
        return name
    head = (most - 1) // 2
    return f"{name[:head].rstrip()}…{name[len(name) - (most - 1 - head) :].lstrip()}"


def choose_decimals(like: float | Array, scale: str) -> int:
    """Decimals of contributions: three digits of odds, two decimals at most; four digits of the largest number.

    Numbers that need fewer have fewer.

    Examples
    --------
    >>> choose_decimals(0.8, "log_odds"), choose_decimals(0.8, "probability"), choose_decimals(41.234, "number")
    (2, 3, 2)
    >>> choose_decimals(np.array([2.5, -31.0]), "number")
    1
    """
    if is_odds(scale):
        return count_decimals_of_factor(np.exp(np.abs(like).max()))
    if scale == "probability":
        return 3
    largest = _find_largest(like)
    finest = max(0, DIGITS - 1 - find_exponent(largest))
    fits = (
        np.nanmax(np.abs(round_half_up(like, each) - like), initial=0.0) <= 1e-9 * largest for each in range(finest)
    )
    return next((each for each, is_enough in enumerate(fits) if is_enough), finest)


def _find_largest(numbers: float | Array) -> float:
    return float(np.nanmax(np.abs(numbers), initial=0.0))


def format_effect(value: float, scale: str, like: float | Array | None = None) -> str:
    """A contribution with its sign: "×2.10" or "÷2.10" for log odds, "+0.041" of a probability, "+41.2" of a number.

    It has the decimals of ``like``, or its own.

    Examples
    --------
    >>> format_effect(-0.7, "log_odds"), format_effect(-0.0412, "probability"), format_effect(41.2, "number")
    ('÷2.01', '-0.041', '+41.2')
    >>> format_effect(-0.001, "log_odds"), format_effect(2.2, "number", like=118.0)
    ('×1.00', '+2')
    """
    like = value if like is None else like
    decimals = choose_decimals(like, scale)
    if is_odds(scale):
        sign = "×" if value >= 0 or _is_no_factor(value, decimals) else "÷"
        return f"{sign}{format_factor(np.exp(abs(value)), decimals)}"
    if scale == "number" and 0 < _find_largest(like) < LEAST:
        return f"{'+' if value > 0 else ''}{format_number(value)}"
    return format_fixed(value, decimals, is_signed=True)


def _is_no_factor(value: float, decimals: int = 2) -> bool:
    """Whether odds stay as they are, as far as decimals show."""
    return bool(round_half_up(np.exp(min(abs(value), 1.0)), decimals) == 1)


def format_size(size: float, scale: str, like: float | Array) -> str:
    """A contribution without its sign, with the decimals of another, in a sentence: points of a probability.

    Examples
    --------
    >>> format_size(0.7, "log_odds", 0.7), format_size(0.1254, "probability", 0.1), format_size(1e-4, "probability", 0)
    ('2.01', '12.5', 'under 0.1')
    """
    if scale == "probability":
        return "under 0.1" if 0 < size < 0.0005 else format_fixed(100 * size, 1)
    if is_odds(scale):
        return format_factor(np.exp(size), choose_decimals(like, scale))
    return format_effect(size, scale, like).removeprefix("+")


def format_limits(value: float, ends: tuple[float, float], scale: str, like: float | Array | None = None) -> str:
    """A contribution with its limits, of equal decimals; exact ones have none, and none are said of odds that stay.

    Examples
    --------
    >>> format_limits(-0.37, (-0.41, -0.33), "log_odds"), format_limits(-0.05, (-0.15, 0.05), "log_odds")
    ('÷1.45 (1.39 to 1.51)', '÷1.05 (÷1.16 to ×1.05)')
    >>> format_limits(0.001, (-0.002, 0.003), "log_odds"), format_limits(2.2, (2.1612, 2.24), "number")
    ('×1', '+2.200 (+2.161 to +2.240)')
    """
    low, high = ends
    if is_odds(scale) and all(map(_is_no_factor, (value, low, high))):
        return f"×{NO_FACTOR}"
    like = (value if is_odds(scale) else np.array([value, low, high])) if like is None else like
    effect, decimals = format_effect(value, scale, like), choose_decimals(like, scale)
    if low == high:
        return effect
    if not is_odds(scale) or low < 0 < high or _is_no_factor(value):  # from dividing to multiplying
        shown = [format_effect(end, scale, like) for end in ends]
    else:
        shown = [format_factor(np.exp(size), decimals) for size in sorted((abs(low), abs(high)))]
    return f"{effect} ({' to '.join(shown)})"


def format_status(status: str) -> str:
    """A status to put behind something: " (frozen)", and nothing where all is well."""
    return "" if status == "ok" else f" ({status})"


def rank_largest(scores: Array, most: int | None = None) -> Integers:
    """Positions of the largest (d,) absolute scores, the largest first."""
    return np.argsort(-np.abs(scores), kind="stable")[:most]


def count_left_out(n_features: int, n_shown: int, what: str = "score") -> str:
    """Say that there are more features than were shown."""
    more = n_features - n_shown
    if more <= 0:
        return ""
    return f"1 more feature has a smaller {what}" if more == 1 else f"{more:,} more features have smaller {what}s"


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
