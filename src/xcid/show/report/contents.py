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

from xcid import __version__
from xcid._check import name_class
from xcid.errors import InvalidData
from xcid.io.writers import replacing
from xcid.records import FEATURE_STATUSES, STATUSES, Explanation, Integers, fields, with_details
from xcid.show import wording
from xcid.show.reasons import Reasons
from xcid.show.report.evidence import TOP, describe_evidence, list_changes_found, list_changes_sampled
from xcid.show.report.page import Name, Values, assemble_page, count_bytes, encode_json, find_values
from xcid.show.report.rows import (
    choose_unit,
    collect_phrases,
    describe_all_rows,
    describe_row,
    hides_unit,
    word_reasons,
)  # fmt: skip
from xcid.show.wording.names import clean, count_in_words, join_names, make_sentence
from xcid.show.wording.rows import explain_importance
from xcid.whatif import Counterfactuals

TITLE = "What decides these predictions"
BUDGET = 1_900_000  # bytes of all data: the page around them has some 70 kB, and 2 MB are promised
ROWS_SHARE = 0.815  # of what the names leave, for scores; the rest is for evidence
MOST_FEATURES = 500
MOST_NOTES = 20
COMMON = {
    "feature_statuses": {name: status.meaning for name, status in FEATURE_STATUSES.items()},
    "top": TOP,
}  # what all pages need to know
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


@dataclass(slots=True)
class Page:
    """What all rows of a page share, the bytes that are left for them, and how much did not fit."""

    chosen: Integers  # features that are shown
    unit: float  # the step that scores are rounded to
    values: Values
    row_bytes: float = 0.0
    evidence_bytes: float = 0.0
    rows_left_out: int = 0
    ruled_rows: int = 0  # whose samples may break rules that counterfactuals obey
    pictures_left_out: int = 0
    rows_without_samples: int = 0


Search: TypeAlias = Callable[[Explanation], Counterfactuals | None]


def report(
    pieces: Iterable[Explanation],
    path: str | os.PathLike[str],
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
    values: Name = "shown",
    reasons: Reasons | None = None,
    search: Search | None = None,
    command: str = "",
) -> None:
    """Write explanations of the same features as one page; the rest is as in :meth:`xcid.Explanation.report`.

    ``search`` gives the counterfactuals of the rows of a piece; where it gives none, the nearest of its samples that
    flip stand in their place, unless there are rules, which samples do not know. ``command`` is what was typed, where
    the page is of a command.
    """
    told: Any = {"values": values, "reasons": reasons, "search": search, "command": command}
    text = make_page(pieces, title=title, notes=notes, **told)
    with replacing(Path(path)) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def make_page(
    pieces: Iterable[Explanation],
    *,
    title: str | None = None,
    notes: Sequence[str] = (),
    values: Name = "shown",
    **told: Any,
) -> str:
    """The page that :func:`report` writes, as text."""
    title = TITLE if title is None else title
    return assemble_page(title, collect_data(pieces, title, notes, find_values(values), **told))


def collect_data(
    pieces: Iterable[Explanation],
    title: str,
    notes: Sequence[str],
    values: Values,
    reasons: Reasons | None = None,
    search: Search | None = None,
    command: str = "",
) -> str:
    """Give the data of a page in JSON that is safe within HTML.

    Pieces come one after the other, so that their evidence need not be in memory at the same time.
    """
    rows: list[str] = []
    bare: list[Explanation] = []
    largest, importance = 1.0, list[str]()
    for given in filter(len, pieces):
        said, largest = _say_reasons(given, reasons, values), largest if bare else wording.find_largest(given) or 1.0
        piece = hide_size(given, largest) if hides_unit(given, values) else given
        if not bare:
            strongest = wording.rank_largest(np.abs(piece.values).mean(axis=0), MOST_FEATURES)
            page = Page(np.sort(strongest), choose_unit(piece), values)  # features in their own order
            left = BUDGET - 2 * count_bytes(
                _describe_common(piece, page, title, notes)
            )  # the overview has as much again
            page.row_bytes, page.evidence_bytes = ROWS_SHARE * left, (1 - ROWS_SHARE) * left
        found = None if search is None else search(given)
        importance = importance or explain_importance(
            piece, values.number
        )  # without samples it cannot count the values tried
        rows += _encode_rows(page, piece, found, said, sum(map(len, bare)))
        bare.append(replace(piece, cloud=None))
    if not rows:
        raise InvalidData("the explanation has no rows to report")
    joined = Explanation.concatenate(bare)
    if command:
        joined = with_details(joined, settings={"command": command, **(joined.details.settings or {})})
    common = _describe_common(joined, page, title, notes)
    common["phrases"]["importance"] = importance
    common |= {"unit": page.unit, "overview": describe_all_rows(joined, page.chosen, page.unit)}
    common |= {"left_out": _say_left_out(page, joined)}
    return f'{encode_json(common)[:-1]},"rows":[{",".join(rows)}]}}'


def _say_reasons(given: Explanation, reasons: Reasons | None, values: Values) -> list[tuple[str, Integers]]:
    """A line about the reasons of each row, and the (f,) ranks of its reasons, 0 for other features."""
    shape = given.values.shape
    ranks = np.zeros(shape, dtype=np.int64)
    if reasons is not None:  # whose texts may be functions of values
        ranks = replace(reasons, texts={}).columns(given)["reason_rank"].reshape(shape)
    return list(zip(word_reasons(given, reasons, values), ranks, strict=True))


def hide_size(explanation: Explanation, largest: float) -> Explanation:
    """The same contributions as shares of some size, which do not tell what the output is."""
    return fields.turn(explanation, "values", np.full(len(explanation), 1 / largest))


def _describe_common(joined: Explanation, page: Page, title: str, notes: Sequence[str]) -> dict[str, Any]:
    """What is not about a single row."""
    written = {name: _ADDRESS.sub("", text) for name, text in (joined.details.settings or {}).items()}
    versions = f"xcid {__version__}, numpy {np.__version__}, Python {platform.python_version()}"
    return {
        "title": clean(title),
        "notes": [clean(note, 600) for note in notes[:MOST_NOTES]],
        "features": [clean(joined.feature_names[at]) for at in page.chosen.tolist()],
        "classes": [name_class(clean(name)) for name in joined.output_names] if joined.outputs.shape[1] > 1 else [],
        "hidden": page.values.is_hidden,
        "statuses": [[name, _explain_status(name)] for name in dict.fromkeys(map(clean, joined.status))],
        "settings": [[clean(name), clean(page.values.setting(text), 400)] for name, text in written.items()],
        "versions": versions,
        "what_would": wording.title_changes(joined.output_names),
        **collect_phrases(joined, page.values),
        **COMMON,
    }


def _explain_status(name: str) -> str:
    """What a status of rows means and what can be done about it; nothing for one that is not known."""
    known = STATUSES.get(name)
    return "" if known is None else " ".join(map(make_sentence, filter(None, [known.meaning, known.advice])))


def _encode_rows(
    page: Page, piece: Explanation, found: Counterfactuals | None, said: Sequence[tuple[str, Integers]], first: int
) -> Iterator[str]:
    """The rows of a piece with their counterfactuals and what is said of their reasons, as long as they fit."""
    for row, (reasons, ranks) in enumerate(said):
        one = piece[row]
        record = describe_row(one, 0, first + row, page.unit, page.values, page.chosen)
        record |= {"reasons": reasons} if reasons else {}
        page.row_bytes -= count_bytes(record)
        if page.row_bytes < 0 and first + row > 0:
            page.rows_left_out += 1
            continue
        if wording.is_explained(one):
            record |= _list_changes(page, one, found, row, ranks) | _draw_evidence(page, one)
        yield encode_json(record)


def _list_changes(
    page: Page, one: Explanation, found: Counterfactuals | None, row: int, ranks: Integers
) -> dict[str, Any]:
    """The counterfactuals of a row, by a search or else among its samples, as long as there is room."""
    if page.evidence_bytes <= 0 or (found is None and one.cloud is None):
        return {}
    if found is None and "rules" in (one.details.settings or {}):
        page.ruled_rows += 1
        return {}
    if found is None:
        changes = list_changes_sampled(one, 0, page.values)
    else:
        changes = list_changes_found(found, row, page.values)
        for line, change in zip(np.flatnonzero(found.row == row).tolist(), changes, strict=True):
            change["cited"] = _word_cited(one, found, line, ranks)
    page.evidence_bytes -= count_bytes(changes)
    return {"counterfactuals": changes}


def _word_cited(one: Explanation, found: Counterfactuals, line: int, ranks: Integers) -> str:
    """Which reasons of a row a line changes, by their numbers: "changes reasons 1 and 3"; empty for none."""
    cited = {column: int(ranks[at]) for at, group in enumerate(one.details.features) for column in group if ranks[at]}
    changed = sorted({cited[column] for at in found.in_order(line) for column in found.features[at] if column in cited})
    return f"changes reason{'s' * (len(changed) > 1)} {join_names(list(map(str, changed)))}" if changed else ""


def _draw_evidence(page: Page, one: Explanation) -> dict[str, Any]:
    """Pictures of a row, the strongest features first, as long as there is room."""
    if one.cloud is None:
        page.rows_without_samples += 1
        return {}
    if one.details.density is None:
        return {}
    pictures: list[Any] = [None] * len(page.chosen)
    for place in wording.rank_largest(one.values[0, page.chosen]).tolist():
        if page.evidence_bytes <= 0:
            page.pictures_left_out += 1
            continue
        pictures[place] = describe_evidence(one, 0, int(page.chosen[place]), page.values)
        page.evidence_bytes -= count_bytes(pictures[place])
    return {"evidence": pictures} if any(pictures) else {}


def _say_left_out(page: Page, joined: Explanation) -> list[str]:
    """Say what is not on the page, and why."""
    said, n_features, n_rows = [], len(page.chosen), len(joined)
    if n_features < len(joined.feature_names):
        n_all = len(joined.feature_names)
        said.append(f"The page shows {n_features:,} of {n_all:,} features: those with the largest mean scores.")
    if page.rows_left_out:
        said.append(
            f"To keep the file small, the last {page.rows_left_out:,} of {n_rows:,} rows are not listed; the table "
            "over all rows counts them."
        )
    if page.pictures_left_out:
        n_pictures = (n_rows - page.rows_left_out) * n_features
        said.append(
            f"To keep the file small, the evidence of {page.pictures_left_out:,} of {n_pictures:,} scores is left out: "
            "report fewer rows to see it."
        )
    if page.ruled_rows:
        said.append(
            "What would change the prediction is left out: the perturbations behind this page do not know your rules. "
            "Give counterfactuals=explainer.counterfactuals(rows) to see changes that obey them."
        )
    if page.rows_without_samples:
        n_bare = count_in_words(page.rows_without_samples, "row")
        said.append(f"The samples behind {n_bare} were not kept: there is no evidence for them here.")
    return said
