"""Names in messages: the first of many, cut short, and the one that was meant by a name that is not known."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence

MOST_SHOWN = 60  # letters of a cell or a name


def shown(names: Sequence[object], most: int = 8) -> str:
    """The first of a list that may be long, each of which may be long."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"[{', '.join(f'{name!r:.{MOST_SHOWN}}' for name in names[:most])}]{more}"


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
