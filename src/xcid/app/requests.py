"""What a page asks, checked value by value: nothing that comes from outside gets further unread."""

from __future__ import annotations

import json
from typing import Any, NamedTuple, NoReturn

import numpy as np

from xcid.app._fields import Fields, finite, place
from xcid.app.questions import outcome
from xcid.errors import InvalidData, InvalidParameter
from xcid.explainer import Explainer
from xcid.outcomes import Outcome
from xcid.records import Array
from xcid.space import FeatureSpace


class Asked(NamedTuple):
    """A question about a row, which is a table of the background's own kind."""

    table: Any
    frozen: tuple[int, ...]  # columns that may not change
    outcome: Outcome  # what counts as a flip
    feature: int  # the one whose evidence is looked at


def read(explainer: Explainer, body: bytes) -> Asked:
    """Read a request in JSON; errors say what is wrong with it.

    Features, levels and classes are called by their places in lists, so that no name is ever looked up.
    """
    asked = Fields("the request", _json(body))
    asked.only("cells", "frozen", "question", "feature")
    space = explainer.space
    return Asked(
        _table(space, _cells(space, asked.get("cells"))),
        asked.positions("frozen", len(space.names)),
        outcome(explainer, Fields("the question", asked.get("question"))),
        asked.position("feature", len(space.names)),
    )


def _json(body: bytes) -> Any:
    try:
        return json.loads(body, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise InvalidParameter("the request is not JSON") from error


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _cells(space: FeatureSpace, found: Any) -> Array:
    """(1, d) numbers, positions of levels, NaN for what is missing."""
    if not isinstance(found, list) or len(found) != len(space.columns):
        raise InvalidParameter(f"'cells' of the request must be a list of {len(space.columns)} values")
    row = np.full((1, len(found)), np.nan)
    for at, (column, cell) in enumerate(zip(space.columns, found, strict=True)):
        if cell is None:
            if not space.missing[at]:
                raise InvalidData(f"{column.name!r} cannot be missing: no cell of the background is, in this column")
        elif column.levels:
            row[0, at] = place(cell, len(column.levels), f"the level of {column.name!r}")
        else:
            row[0, at] = finite(cell, f"the value of {column.name!r}")
    return row


def _table(space: FeatureSpace, row: Array) -> Any:
    """The row as the model sees it; a value that its column cannot hold would become another one on the way."""
    try:
        with np.errstate(all="ignore"):
            table = space.decode(row)
            back = space.values(table)
    except Exception as error:  # every library of data frames refuses in its own way
        raise InvalidData(f"the types of the table cannot hold these values: {error}") from error
    changed = np.flatnonzero(~np.isclose(back[0], row[0], rtol=1e-6, atol=0, equal_nan=True))
    if changed.size:
        at = int(changed[0])
        raise InvalidData(f"{space.names[at]!r} cannot be {row[0, at]:g}: its column holds whole or smaller numbers")
    return table
