"""Text that a spreadsheet would take for a formula is written with an apostrophe in front of it.

A name, a level or a label of a row may come from anywhere, and ``=HYPERLINK(...)`` in a CSV file would run when the
file is opened. Numbers stay numbers, also those that begin with a sign. :func:`original` gives back what there was.
"""

from __future__ import annotations

import re
from typing import Any

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
MARK = "'"
_NUMBER = re.compile(r"[-+]?(\d+(,\d{3})*(\.\d*)?|\.\d+)([eE][-+]?\d+)?")


def defused(cell: Any) -> Any:
    """Give a cell as it may be written; whatever is not text is left alone.

    Examples
    --------
    >>> defused("=1+1"), defused("-1.5"), defused("age"), defused(-1.5)
    ("'=1+1", '-1.5', 'age', -1.5)
    """
    return f"{MARK}{cell}" if isinstance(cell, str) and _is_formula(cell) else cell


def original(cell: str) -> str:
    """Give what :func:`defused` was given.

    Examples
    --------
    >>> original("'=1+1"), original("'tis"), original("-1.5")
    ('=1+1', "'tis", '-1.5')
    """
    return cell[len(MARK) :] if cell.startswith(MARK) and _is_formula(cell) else cell


def _is_formula(text: str) -> bool:
    """Marks in front count as part of it: then every text has its own written form."""
    return text.lstrip(MARK).startswith(STARTS) and not _NUMBER.fullmatch(text)
