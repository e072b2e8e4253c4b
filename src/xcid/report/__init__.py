"""An Explanation as one HTML file that opens anywhere and asks for nothing.

``words.py`` says a row in sentences, ``scores.py`` and ``evidence.py`` give its plain numbers, ``contents.py`` puts
them together within a budget of bytes, and ``page.py`` makes the file. What draws is in ``assets/``.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from xcid.records import Explanation
from xcid.report import values as _values
from xcid.report.contents import collected
from xcid.report.page import assembled, write
from xcid.report.words import summary

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
    """Write explanations of the same features, one after the other, as one page.

    Parameters
    ----------
    pieces : iterable of Explanation
    path : path of the file
        A file that is there is replaced when the new one is complete.
    title : str, optional
    notes : sequence of str
        What else a reader should know, such as what the model is and how well it does.
    values : {"shown", "hidden"}
        Hidden: no value of the table is in the file, only names, scores, probabilities and shapes.
    """
    title = TITLE if title is None else title
    write(assembled(title, collected(pieces, title, notes, _values.named(values))), Path(path))
