"""Names and values from data, made fit to be shown: short, and without letters that act on the text around them."""

from __future__ import annotations

import unicodedata

MOST_LETTERS = 160
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
    seen = "".join(map(_seen, str(text)[: most + 1]))
    return seen if len(seen) <= most else f"{seen[: most - 1]}…"


def _seen(letter: str) -> str:
    if letter in "\t\n\r":
        return " "
    if letter in _ORDERS or unicodedata.category(letter) in _UNSEEN:
        return f"⟨U+{ord(letter):04X}⟩"
    return letter


def listed(names: list[str]) -> str:
    """Names in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"])
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


def sentence(text: str) -> str:
    """Text with a capital letter and a full stop; a file that it starts with keeps its name.

    Examples
    --------
    >>> sentence("3 rows are left out"), sentence("no row is left"), sentence("credit.csv has decimal commas")
    ('3 rows are left out.', 'No row is left.', 'credit.csv has decimal commas.')
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
