"""An Explanation as one HTML file that opens anywhere and asks for nothing.

``rows.py`` explains a row in sentences and plain numbers, ``evidence.py`` gives what is behind a score, ``contents.py``
puts them together within a budget of bytes, and ``page.py`` makes the file. What draws is in ``assets/``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from xcid.files.writers import replacing
from xcid.records import Explanation
from xcid.report import values as _values
from xcid.report.contents import collected
from xcid.report.page import assembled
from xcid.report.rows import summary

__all__ = ["report", "summary"]

TITLE = "What decides these predictions"


def report(
    pieces: Iterable[Explanation],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
    values: _values.Name = "shown",
) -> None:
    """Write explanations of the same features as one page; the rest is as in :meth:`xcid.Explanation.report`."""
    title = TITLE if title is None else title
    page = assembled(title, collected(pieces, title, notes, _values.named(values)))
    with replacing(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")
