"""Text that is safe to show."""

from __future__ import annotations

from collections.abc import Sequence


def printable(text: str) -> str:
    r"""Names from files may hold what a terminal takes for a command.

    Examples
    --------
    >>> printable("a name that turns \x1b[31mred")
    'a name that turns ?[31mred'
    """
    return "".join(letter if letter.isprintable() or letter == "\n" else "?" for letter in text)


def sentences(notes: Sequence[str]) -> list[str]:
    """Notes as they are shown on a page."""
    return [f"{note[0].upper()}{note[1:]}." for note in notes]
