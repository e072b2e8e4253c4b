"""Two rows side by side: both as a report describes a row, and what differs in words."""

from __future__ import annotations

from typing import Any

import numpy as np

from xcid import directions
from xcid._kernels.arrays import same
from xcid.comparison import compare
from xcid.errors import XcidError
from xcid.explanation import Explanation
from xcid.show import wording
from xcid.show.report.page import SHOWN
from xcid.show.report.rows import choose_unit, collect_phrases, describe_row
from xcid.show.wording.differences import word_strongest
from xcid.show.wording.names import clean

NAMES = ("A", "B")
MOST_SENTENCES = 3
MOST_LETTERS = 600  # of a problem


def describe_pair(first: Explanation, second: Explanation) -> dict[str, Any]:
    """Two explained rows, with signs about the class of the second.

    The record has ``rows`` in the words and steps of a report, ``differences`` in the same steps, those that are
    ``significant``, the features that have another value (``others``), and ``sentences``; or the ``problem`` in words.
    """
    about = None if len(second.output_names) == 1 else str(second.about[0])
    try:
        pair = [_turn(one, about) for one in (first, second)]
        found = compare(pair[0], pair[1], NAMES, about)
    except XcidError as error:
        return {"problem": clean(error, MOST_LETTERS)}
    unit = max(map(choose_unit, pair))
    gaps = np.rint(found.difference / unit)
    others = ~same(first.data[0], second.data[0])
    return {
        **collect_phrases(pair[1], SHOWN),
        "rows": [describe_row(one, 0, 0, unit, SHOWN) for one in pair],
        "unit": unit,
        "differences": [int(gap) for gap in gaps],
        "significant": np.flatnonzero(found.significant).tolist(),
        "others": [at for at, group in enumerate(first.details.features) if others[list(group)].any()],
        "sentences": [f"{said.removesuffix('.')}." for said in word_strongest(found, MOST_SENTENCES)],
        "about": wording.name_class(clean(about)) if about else "",
    }


def _turn(one: Explanation, about: str | None) -> Explanation:
    """The same contributions about a class; margins against rivals, which differ from row to row, as log odds."""
    if about is None:
        return one
    return directions.towards(directions.on(one, "log_odds") if one.scale == "margins" else one, about)
