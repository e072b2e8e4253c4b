"""What a page works with: a model, its rows, its controls, and an explainer for each set of forbidden changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np

from xcid._faults import quietly
from xcid._kernels.arrays import same
from xcid.app import files
from xcid.app.compared import describe_pair
from xcid.app.description import RowIndex, cells_of, describe, read_rows
from xcid.app.requests import Case, Fields, Pins, Request, parse, read, read_case, usual_question
from xcid.errors import ModelError, NotEnoughFlips
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.method import CID
from xcid.records import Failure
from xcid.show import wording
from xcid.show.report.evidence import describe_evidence, list_changes_found
from xcid.show.report.page import SHOWN
from xcid.show.report.rows import choose_unit, collect_phrases, describe_row, list_outputs
from xcid.show.wording.names import clean, join_names
from xcid.table import Column
from xcid.whatif import Counterfactuals
from xcid.whatif.engine import find_counterfactuals
from xcid.whatif.record import FAILED, cell_code, row_code
from xcid.whatif.undeclared import find_unchangeable

MOST_PICTURES = 40  # that come with an answer; that of the feature that is looked at always does
MOST_LETTERS = 600  # of an error
ONE_SIDE = (
    "Nothing that was tried gets to the other side of this question, from this row or from the reference data: ask "
    "another one, or unpin some features."
)
NO_PINS = Pins()
TITLE = "What decides this prediction"
GIVEN = "# model, reference, weights and refits, if any: those that the explorer was started with"
LINES = 3  # of a search, at most
PATIENCE = 30.0  # seconds that a row may take: nobody waits longer for a page
MOST_EXPLAINERS = 16  # sets of pins that are remembered


def explain(explainer: Explainer, request: Request, seed: int = 0) -> dict[str, Any]:
    """Explain a row.

    The record has ``answer``, ``outputs`` ([class, value], the largest first), and ``row``, ``unit``, ``question``,
    ``signed``, ``scale``, ``phrases`` and ``evidence`` as a report has them; or the ``problem`` in words, where there
    is one.
    """
    try:
        outputs = explainer.subject.predict(explainer.space.encode(request.table))[0]
    except ModelError as error:
        return {"problem": clean(error, MOST_LETTERS)}
    predicted = wording.format_prediction(outputs, explainer.subject.output_names)
    record: dict[str, Any] = {"answer": predicted, "outputs": list_outputs(outputs)}
    try:
        explanation = _explain_quietly(explainer.with_outcome(request.outcome), request, seed)
    except NotEnoughFlips:
        return record | {"problem": ONE_SIDE}
    except ModelError as error:
        return record | {"problem": clean(error, MOST_LETTERS)}
    unit = choose_unit(explanation)
    return record | {
        **collect_phrases(explanation, SHOWN),
        "row": describe_row(explanation, 0, 0, unit, SHOWN),
        "unit": unit,
        "evidence": _draw_evidence(explanation, request.feature),
    }


def search(explainer: Explainer, request: Request, seed: int = 0) -> dict[str, Any]:
    """Search for the smallest changes that give the row the wanted output.

    The record has ``counterfactuals`` as a report has them, each with the ``columns`` that change, the ``cells`` of the
    changed row and the lines of ``code`` that make the changes, and ``notes``; or the ``problem`` in words.
    """
    try:
        found = find_changes(explainer, request, seed)
    except ModelError as error:
        return {"problem": clean(error, MOST_LETTERS)}
    if found.kind[0] == FAILED:
        return {"problem": clean(found.notes[0], MOST_LETTERS)}
    lines = [
        {**line, "columns": found.in_order(at), "cells": cells_of(cells, found.columns), "code": found.steps(at)}
        for at, (line, cells) in enumerate(zip(list_changes_found(found, 0, SHOWN), found.rows, strict=True))
    ]
    return {"counterfactuals": lines, "notes": _list_hints(found)}


def find_changes(explainer: Explainer, request: Request, seed: int, name: str = "0") -> Counterfactuals:
    """The counterfactuals that :func:`search` describes, of a row of this name."""
    setup = explainer.with_outcome(request.outcome).setup
    rows, index = explainer.space.encode(request.table), np.array([name])
    refits = () if setup.sources is None else setup.sources.refits
    asked: Any = index, request.target, LINES, seed, setup.time_limit, setup.memory, refits
    return find_counterfactuals(setup.subject, setup.outcome, rows, *asked)


def _list_hints(found: Counterfactuals) -> list[str]:
    """Which of the features that change people can hardly change."""
    names = [found.feature_names[at] for at in np.flatnonzero(found.moved.any(axis=0))]
    fixed = [clean(name) for name, is_fixed in zip(names, find_unchangeable(names), strict=True) if is_fixed]
    return [f"If people cannot change {join_names(fixed)}, pin {'it' if len(fixed) == 1 else 'them'}."] if fixed else []


def _explain_quietly(explainer: Explainer, request: Request, seed: int) -> Explanation:
    """Explain without warnings of few flips: the sentences about the row say it; a row that fails is an error."""
    failures: list[Failure] = []
    with quietly():
        explanation = explainer.replace(failed=failures.append)(request.table, seed=seed)
    if failures:
        raise ModelError(failures[0].reason)
    return explanation


def _draw_evidence(explanation: Explanation, feature: int) -> list[Any]:
    """The evidence of the strongest features and of the one that is looked at; None for others."""
    drawn = {*wording.rank_largest(explanation.values[0], MOST_PICTURES).tolist(), feature}
    n_features = len(explanation.feature_names)
    return [describe_evidence(explanation, 0, at, SHOWN) if at in drawn else None for at in range(n_features)]


def write_code(
    explainer: Explainer, request: Request, seed: int, recipe: str = GIVEN, cid: Mapping[str, Any] | None = None
) -> str:
    """Python code that repeats an explanation and a search; ``recipe`` makes ``model`` and ``reference``."""
    naming, is_usual = explainer.subject.naming, request.outcome == usual_question(explainer)
    columns = explainer.space.columns
    edited = np.flatnonzero(~same(request.cells, request.own)).tolist()
    options = {
        "weights": "" if explainer.space.weights is None else "weights",
        "constraints": _write_constraints(request.pins, columns),
        "class_names": "" if naming.names is None else repr(naming.names),
        "target": "" if naming.target is None else repr(naming.target),
        "outcome": "" if is_usual else f"xcid.outcomes.{request.outcome!r}",
        "refits": "" if explainer.setup.sources is None else "refits",
        **{name: repr(part) for name, part in (cid or {}).items()},
    }
    given = "".join(f", {name}={text}" for name, text in options.items() if text)
    target = "" if request.target is None else f", target={request.target!r}"
    seeded = f", seed={seed}" if seed else ""
    lines = [
        "import pandas as pd",
        "import xcid",
        "",
        recipe,
        f"explainer = xcid.{type(explainer).__name__}(model, reference{given})",
        row_code(columns, request.own),
        *(cell_code(columns[at], request.cells[at]) for at in edited),
        f"explanation = explainer(row{seeded})",
        f"counterfactuals = explainer.counterfactuals(row{target}{seeded})",
    ]
    return "\n".join(lines)


def _write_constraints(pins: Pins, columns: Sequence[Column]) -> str:
    constraints = pins.constraints(columns)
    parts = {name: getattr(constraints, name) for name in ("frozen", "monotone", "levels")}
    written = [f"{name}={list(part) if name == 'frozen' else part!r}" for name, part in parts.items() if part]
    return f"xcid.Constraints({', '.join(written)})" if written else ""


@dataclass(eq=False)
class Session:
    """A model with reference data and rows that can be picked; for one thread at a time.

    Rows may have ``names``, and features ``words`` that explain them; ``notes`` are what else to know, and ``weights``
    those of the reference rows. With ``refits``, the model trained again, changes say how likely they last. With
    ``cid``, settings of :class:`xcid.CID`, rows are explained by that. ``recipe`` are lines of Python that make the
    ``model`` and the ``reference``, for those who copy code. ``explainer(pins)`` is the explainer that obeys some pins;
    the last ones are remembered.
    """

    model: Any
    reference: Any
    rows: Any
    names: Sequence[Any] | None = None
    title: str = TITLE
    notes: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    weights: Any = None
    class_names: Sequence[str] | None = None
    target: int | str | None = None
    cid: Mapping[str, Any] | None = None
    recipe: str = GIVEN
    refits: Sequence[Any] = ()

    def __post_init__(self) -> None:
        self.explainer = lru_cache(MOST_EXPLAINERS)(self._make_explainer)

    @cached_property
    def index(self) -> RowIndex:
        """The rows that can be picked."""
        return RowIndex.of(self.explainer().space, self.rows, self.names)

    def describe(self) -> dict[str, Any]:
        """What there is to pick, to edit and to ask."""
        described = describe(self.explainer(), self.index, self.words)
        return {"title": clean(self.title), "notes": [clean(note, 600) for note in self.notes], **described}

    def explain(self, body: bytes) -> dict[str, Any]:
        """Explain the row of a request."""
        request = read(self.explainer(), body)
        return explain(self.explainer(request.pins), request, self.seed)

    def search(self, body: bytes) -> dict[str, Any]:
        """Search for counterfactuals of the row of a request."""
        request = read(self.explainer(), body)
        return search(self.explainer(request.pins), request, self.seed)

    def code(self, body: bytes) -> dict[str, Any]:
        """Write what a request wants to know as Python code."""
        explainer = self.explainer()
        return {"code": write_code(explainer, read(explainer, body), self.seed, self.recipe, self.cid)}

    def find(self, body: bytes) -> dict[str, Any]:
        """Find rows by their names."""
        return read_rows(self.explainer(), self.index, body)

    def compare(self, body: bytes) -> dict[str, Any]:
        """Put the rows of two requests side by side."""
        fields = Fields("the comparison", parse(body))
        fields.only("first", "second")
        pair = [self._read_case(f"{name!r} of the comparison", fields.get(name)) for name in ("first", "second")]
        try:
            return describe_pair(*map(self._explain_case, pair))
        except NotEnoughFlips:
            return {"problem": ONE_SIDE}

    def save(self, kind: str, body: bytes) -> dict[str, Any]:
        """Write a file about the row of a request: a "report", its "table" or the "counterfactuals"."""
        case = self._read_case("the request for a file", parse(body))
        name, (_, request) = self._name(case), case
        if kind == "table":
            return files.describe_file(kind, name, files.write_table(self._explain_case(case)))
        found = find_changes(self.explainer(request.pins), request, self.seed, name)
        if kind == "counterfactuals":
            return files.describe_file(kind, name, files.write_counterfactuals(found))
        explanation, own = self._explain_case(case), self.index.cells[case.row]
        notes = [*self.notes, *files.note_edits(explanation, own, self.index.names[case.row])]
        return files.describe_file(kind, name, files.write_report(explanation, found, self.title, notes))

    def _read_case(self, what: str, found: Any) -> Case:
        return read_case(self.explainer(), Fields(what, found), len(self.index))

    def _name(self, case: Case) -> str:
        """What the page calls a row."""
        is_edited = not same(case.request.cells, self.index.cells[case.row]).all()
        return f"{self.index.names[case.row]}{', edited' * is_edited}"

    def _explain_case(self, case: Case) -> Explanation:
        explainer = self.explainer(case.request.pins).with_outcome(case.request.outcome)
        return replace(_explain_quietly(explainer, case.request, self.seed), index=np.array([self._name(case)]))

    def _make_explainer(self, pins: Pins = NO_PINS) -> Explainer:
        columns = self.explainer().space.columns if any(pins) else ()
        known: dict[str, Any] = {"weights": self.weights, "class_names": self.class_names, "target": self.target}
        known |= {"time_limit": PATIENCE, "constraints": pins.constraints(columns)}
        if self.cid is None:
            return Explainer(self.model, self.reference, refits=self.refits, **known)
        return CID(self.model, self.reference, **self.cid, **known)
