"""Names, numbers and present values of features, made fit to be shown.

Names from data are short, and without letters that act on the text around them; numbers have few digits.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any

import numpy as np

from xcid._check import number as format_number
from xcid._check import percent, round_half_up
from xcid.records import Array, Explanation, Integers

MOST_LETTERS = 160
MOST_DIGITS = 16  # of a number that somebody wrote down
ODDS = ("log_odds", "margins")  # scales whose numbers say what odds are multiplied by
MOST_TIMES = 1_000_000  # that odds are said to be multiplied by
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


def format_factor(factor: float) -> str:
    """What odds are multiplied or divided by.

    Examples
    --------
    >>> format_factor(1.2345), format_factor(12.345), format_factor(3e7)
    ('1.23', '12.3', 'over 1,000,000')
    """
    if factor > MOST_TIMES:
        return f"over {MOST_TIMES:,}"
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"


def format_percent(share: float) -> str:
    """A share in per cent, with a decimal only where it is close to none or all.

    Examples
    --------
    >>> format_percent(0.354), format_percent(0.0032), format_percent(1.0), format_percent(0.99999)
    ('35%', '0.3%', '100%', 'over 99.9%')
    """
    if share in (0.0, 1.0) or 0.01 <= share < 0.99:
        return percent(share)
    if 0 < share < 0.0005:
        return "under 0.1%"
    return "over 99.9%" if 0.9995 <= share < 1 else f"{round_half_up(100 * share, 1):.1f}%"


def format_effect(value: float, scale: str, write: Callable[[float], str] = format_number) -> str:
    """A contribution with its sign: "×2.1" or "÷2.1" for log odds, "+0.041" of a probability, "+41" as ``write`` does.

    Examples
    --------
    >>> format_effect(-0.7, "log_odds"), format_effect(-0.0412, "probability"), format_effect(41.0, "number")
    ('÷2.01', '-0.041', '+41')
    >>> format_effect(-0.001, "log_odds")
    '×1'
    """
    if is_odds(scale):
        factor = format_factor(np.exp(abs(value)))
        return f"{'×' if value >= 0 or factor == NO_FACTOR else '÷'}{factor}"
    return f"{round_half_up(value, 3):+.3f}" if scale == "probability" else f"{'+' if value >= 0 else ''}{write(value)}"


def format_limits(
    value: float, ends: tuple[float, float], scale: str, write: Callable[[float], str] = format_number
) -> str:
    """A contribution with its limits: "×2.1 (2 to 2.2)" for log odds, "+41 (+38 to +44)" else; exact ones have none.

    Examples
    --------
    >>> format_limits(-0.37, (-0.41, -0.33), "log_odds"), format_limits(-0.05, (-0.15, 0.05), "log_odds")
    ('÷1.45 (1.39 to 1.51)', '÷1.05 (÷1.16 to ×1.05)')
    """
    low, high = ends
    if low == high:
        return format_effect(value, scale, write)
    effect = format_effect(value, scale, write)
    if not is_odds(scale) or low < 0 < high or effect == f"×{NO_FACTOR}":  # from dividing to multiplying
        shown = [format_effect(end, scale, write) for end in ends]
    else:
        shown = [format_factor(np.exp(size)) for size in sorted((abs(low), abs(high)))]
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
