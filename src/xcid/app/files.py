"""What a page saves of a row, each by the writer of the command: a report, the table behind it, the counterfactuals."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from xcid._kernels.arrays import same
from xcid.explanation import Explanation
from xcid.frames import to_columns
from xcid.io.writers import FORMATS
from xcid.records import Array
from xcid.show.report.contents import make_page
from xcid.show.report.page import MOST_LETTERS
from xcid.show.wording.names import clean
from xcid.whatif import Counterfactuals

KINDS = {"report": ("html", "text/html"), "table": ("csv", "text/csv"), "counterfactuals": ("csv", "text/csv")}
MOST_OF_A_NAME = 60
_cut = partial(clean, most=MOST_LETTERS)
_ODD = re.compile(r"[^\w.-]+")


def write_report(explanation: Explanation, found: Counterfactuals, title: str, notes: Sequence[str]) -> str:
    """One HTML file about a row, as ``xcid report`` writes it."""
    return make_page([explanation], title=title, notes=notes, search=lambda piece: found)


def write_table(explanation: Explanation) -> str:
    """A line for each feature of a row, as ``xcid explain`` writes them."""
    return FORMATS[".csv"].pack(to_columns(explanation)).decode()


def write_counterfactuals(found: Counterfactuals) -> str:
    """A line for each counterfactual of a row, as ``xcid whatif`` writes them."""
    return FORMATS[".csv"].pack(found.to_columns()).decode()


def describe_file(kind: str, row: str, text: str) -> dict[str, Any]:
    """A file with a name that every system takes."""
    extension, media = KINDS[kind]
    called = _ODD.sub("-", row)[:MOST_OF_A_NAME].strip("-.")
    return {"name": f"xcid-{kind}-{called or 'row'}.{extension}", "type": media, "text": text}


def note_edits(explanation: Explanation, own: Array, name: str) -> list[str]:
    """Say which cells of a row are not its own, such as "Row 3 was edited: age 50 → 60"."""
    cell, names = explanation.details.cell, explanation.feature_names
    edits = [
        f"{_cut(names[at])} {_cut(cell(own[at], at))} → {_cut(explanation.shown(0, at))}"
        for at in np.flatnonzero(~same(explanation.data[0], own)).tolist()
    ]
    return [f"Row {name} was edited: {'; '.join(edits)}."] if edits else []
