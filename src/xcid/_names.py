"""Names in messages: the first of many, cut short, and the one that was meant by a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MOST_SHOWN = 60  # letters of a cell or a name
MOST_NAMES = 8


def shown(names: Sequence[object], most: int = MOST_NAMES) -> str:
    """The first of a list that may be long, each of which may be long."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"[{', '.join(f'{name!r:.{MOST_SHOWN}}' for name in names[:most])}]{more}"


def shown_and_meant(names: Sequence[object], known: Iterable[str]) -> str:
    """Names that are not known, and the first of the known that one of them was meant to be.

    Examples
    --------
    >>> shown_and_meant(["weight", "incme"], ["age", "income"])
    "['weight', 'incme'] (did you mean 'income'?)"
    """
    known = list(known)
    return shown(names) + next(filter(None, (meant(str(name), known) for name in names[:MOST_NAMES])), "")


def differing(missing: Sequence[str], unknown: Sequence[str]) -> str:
    """How the columns of a table differ from those that it should have.

    Examples
    --------
    >>> differing(["income"], ["incme"]), differing(["age"], [])
    ("missing ['income'], unknown ['incme'] (did you mean 'income'?)", "missing ['age']")
    """
    parts = [
        f"missing {shown(missing)}" if missing else "",
        f"unknown {shown_and_meant(unknown, missing)}" if unknown else "",
    ]
    return ", ".join(filter(None, parts))


def meant(name: str, known: Iterable[str]) -> str:
    """A question that names what is spelt most like a name that is not known; "" where nothing is like it.

    Examples
    --------
    >>> meant("incme", ["age", "income"]), meant("weight", ["age", "income"])
    (" (did you mean 'income'?)", '')
    """
    folded = {one.casefold(): one for one in map(str, known)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1, cutoff=0.7)
    return f" (did you mean {folded[close[0]]!r:.{MOST_SHOWN}}?)" if close else ""
