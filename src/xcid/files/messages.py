"""What a message may show of a table: names, one cell and what a library says, each cut to a few letters."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from xcid.errors import InvalidFile, XcidError

MOST_SHOWN = 60  # letters of a cell or a name
MOST_SAID = 200  # of a foreign message


def shown(names: Sequence[object], most: int = 8) -> str:
    """The first of a list that may be long, each of which may be long."""
    more = f" and {len(names) - most:,} more" if len(names) > most else ""
    return f"[{', '.join(f'{name!r:.{MOST_SHOWN}}' for name in names[:most])}]{more}"


def short(error: Exception) -> str:
    """What a library says, which may hold a whole line of the table."""
    text = " ".join(str(error).split())
    return text if len(text) <= MOST_SAID else f"{text[:MOST_SAID]}…"


def repeated(names: Sequence[str]) -> list[str]:
    """Names that appear more than once."""
    return sorted(name for name, count in Counter(names).items() if count > 1)


@contextlib.contextmanager
def naming(path: Path) -> Iterator[None]:
    """Every library fails in its own way: say which file it was."""
    try:
        yield
    except (XcidError, MemoryError):
        raise
    except OSError as error:
        raise InvalidFile(f"{path} cannot be read: {error.strerror or short(error)}") from error
    except Exception as error:
        raise InvalidFile(f"{path} cannot be read: {type(error).__name__}: {short(error)}") from error
