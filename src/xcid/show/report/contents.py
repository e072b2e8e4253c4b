"""The report: everything that a page shows, in JSON, within a budget of bytes, and the page around it in a file."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from xcid import __version__, directions
from xcid.errors import InvalidData
from xcid.io.writers import replacing
from xcid.records import FEATURE_STATUSES, STATUSES, Explanation, Integers
from xcid.show import wording
from xcid.show.reasons import Reasons
from xcid.show.report.changes import of_samples, of_search
from xcid.show.report.evidence import TOP, picture
from xcid.show.report.page import assembled, encoded, size
from xcid.show.report.rows import overview, reasons_of, row_of, unit_of
from xcid.show.report.values import Name, Values, named
from xcid.show.wording.names import clean, sentence
from xcid.whatif import Counterfactuals

TITLE = "What decides these predictions"
BUDGET = 1_900_000  # bytes of all data: the page around them has some 70 kB, and 2 MB are promised
ROWS_SHARE = 0.77  # of what the names leave, for scores; the rest is for evidence
MOST_FEATURES = 500
MOST_NOTES = 20
COMMON = {
    "feature_statuses": {name: status.meaning for name, status in FEATURE_STATUSES.items()},
    "top": TOP,
}  # what all pages need to know
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(slots=True)
class Room:
    """Bytes that are left, and what did not fit."""

    rows: float
    evidence: float
    rows_left_out: int = 0
    pictures_left_out: int = 0
    rows_without_samples: int = 0

    @staticmethod
    def beside(common: dict[str, Any]) -> Room:
        """The room that names and settings leave."""
        left = BUDGET - 2 * size(common)  # the overview has as much again, and the statuses of later rows
        return Room(ROWS_SHARE * left, (1 - ROWS_SHARE) * left)


Search: TypeAlias = Callable[[Explanation], Counterfactuals | None]


def unsought(piece: Explanation) -> None:
    """No search: there is no model to ask."""


def spoken(explanation: Explanation, values: Values) -> dict[str, Any]:
    """What was asked, and the words of a page about scores; ``about`` is empty where they are about the prediction."""
    raises, lowers = wording.directions(explanation)
    phrases = {
        "supports": raises,
        "opposes": lowers,
        "unsigned": wording.unsigned(explanation),
        "not_significant": wording.NOT_SIGNIFICANT,
        "verb": wording.verb(explanation),
        "flips": wording.flips(explanation),
        "stays": wording.STAYS,
        "both": wording.BOTH,
        "at_one_value": wording.AT_ONE_VALUE,
        "worth": wording.unit(explanation),
    }
    asked = clean(wording.question(explanation, values.number), 200)
    signed = wording.is_signed(explanation)
    return {"question": asked, "signed": signed, "about": clean(explanation.about), "phrases": phrases}


def report(
    pieces: Iterable[Explanation],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
    values: Name = "shown",
    reasons: Reasons | None = None,
    search: Search = unsought,
) -> None:
    """Write explanations of the same features as one page; the rest is as in :meth:`xcid.Explanation.report`.

    ``search`` gives the counterfactuals of the rows of a piece; where it gives none, the nearest of its samples that
    flip stand in their place.
    """
    title = TITLE if title is None else title
    page = assembled(title, collected(pieces, title, notes, named(values), reasons, search))
    with replacing(Path(path)) as temporary:
        temporary.write_text(page, encoding="utf-8", newline="\n")


def collected(
    pieces: Iterable[Explanation],
    title: str,
    notes: Sequence[str],
    values: Values,
    reasons: Reasons | None = None,
    search: Search = unsought,
) -> str:
    """Give the data of a page in JSON that is safe within HTML.

    Pieces come one after the other, so that their evidence need not be in memory at the same time.
    """
    rows: list[str] = []
    bare: list[Explanation] = []
    for given in filter(len, pieces):
        piece, said = directions.of_row(given), reasons_of(given, reasons, values)
        if not bare:
            largest = wording.largest(np.abs(piece.values).mean(axis=0), MOST_FEATURES)
            chosen, unit = np.sort(largest), unit_of(piece)  # features in their own order
            room = Room.beside(_common(piece, chosen, title, notes, values))
        rows += _rows(piece, chosen, search(given), said, sum(map(len, bare)), unit, values, room)
        bare.append(replace(piece, cloud=None))
    if not rows:
        raise InvalidData("the explanation has no rows to report")
    joined = Explanation.concatenate(bare)
    common = _common(joined, chosen, title, notes, values)
    common |= {"unit": unit, "overview": overview(joined, chosen, unit)}
    common |= {"left_out": _left_out(room, joined, len(chosen))}
    return f'{encoded(common)[:-1]},"rows":[{",".join(rows)}]}}'


def _common(joined: Explanation, chosen: Integers, title: str, notes: Sequence[str], values: Values) -> dict[str, Any]:
    """What is not about a single row."""
    written = {name: _ADDRESS.sub("", text) for name, text in (joined.settings or {}).items()}
    versions = f"xcid {__version__}, numpy {np.__version__}, Python {platform.python_version()}"
    return {
        "title": clean(title),
        "notes": [clean(note, 600) for note in notes[:MOST_NOTES]],
        "features": [clean(joined.feature_names[at]) for at in chosen.tolist()],
        "classes": [clean(name) for name in joined.output_names] if joined.outputs.shape[1] > 1 else [],
        "hidden": values.is_hidden,
        "statuses": [[name, _status(name)] for name in dict.fromkeys(map(clean, joined.status))],
        "settings": [[clean(name), clean(values.setting(text), 400)] for name, text in written.items()],
        "versions": versions,
        "what_would": wording.what_would(joined.output_names),
        **spoken(joined, values),
        **COMMON,
    }


def _status(name: str) -> str:
    """What a status of rows means and what can be done about it; nothing for one that is not known."""
    known = STATUSES.get(name)
    return "" if known is None else " ".join(map(sentence, filter(None, [known.meaning, known.advice])))


def _rows(
    piece: Explanation,
    chosen: Integers,
    found: Counterfactuals | None,
    said: Sequence[str],
    first: int,
    unit: float,
    values: Values,
    room: Room,
) -> Iterator[str]:
    """The rows of a piece with their counterfactuals and what is said of their reasons, as long as they fit."""
    for row, reasons in enumerate(said):
        record = row_of(piece, row, first + row, unit, values, chosen) | ({"reasons": reasons} if reasons else {})
        room.rows -= size(record)
        if room.rows < 0 and first + row > 0:
            room.rows_left_out += 1
            continue
        if wording.is_explained(piece[row]):
            record |= _changes(piece, found, row, values, room) | _evidence(piece, chosen, row, values, room)
        yield encoded(record)


def _changes(piece: Explanation, found: Counterfactuals | None, row: int, values: Values, room: Room) -> dict[str, Any]:
    """The counterfactuals of a row, by a search or else among its samples, as long as there is room."""
    if room.evidence <= 0 or (found is None and piece.cloud is None):
        return {}
    changes = of_samples(piece, row, values) if found is None else of_search(found, row, values)
    room.evidence -= size(changes)
    return {"counterfactuals": changes}


def _evidence(piece: Explanation, chosen: Integers, row: int, values: Values, room: Room) -> dict[str, Any]:
    """Pictures of a row, the strongest features first, as long as there is room."""
    if piece.cloud is None:
        room.rows_without_samples += 1
        return {}
    if piece.density is None:
        return {}
    pictures: list[Any] = [None] * len(chosen)
    for place in wording.largest(piece.values[row, chosen]).tolist():
        if room.evidence <= 0:
            room.pictures_left_out += 1
            continue
        pictures[place] = picture(piece, row, int(chosen[place]), values)
        room.evidence -= size(pictures[place])
    return {"evidence": pictures} if any(pictures) else {}


def _left_out(room: Room, joined: Explanation, n_features: int) -> list[str]:
    """Say what is not on the page, and why."""
    said = []
    if n_features < len(joined.feature_names):
        n_all = len(joined.feature_names)
        said.append(f"The page shows {n_features:,} of {n_all:,} features: those with the largest mean scores.")
    if room.rows_left_out:
        said.append(
            f"The last {room.rows_left_out:,} of {len(joined):,} rows are not listed, to keep the file small; the "
            "table over all rows counts them."
        )
    if room.pictures_left_out:
        n_pictures = (len(joined) - room.rows_left_out) * n_features
        said.append(
            f"The evidence of {room.pictures_left_out:,} of {n_pictures:,} scores is left out, to keep the file small: "
            "report fewer rows to see it."
        )
    if room.rows_without_samples:
        said.append(f"The samples behind {room.rows_without_samples:,} rows were not kept: they have no evidence here.")
    return said
