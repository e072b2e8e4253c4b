"""What a page works with (a model, its rows, an explainer for each set of frozen features), and the answers it gets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np

from xcid import directions
from xcid._faults import quietly
from xcid.app.code import GIVEN, code_of
from xcid.app.controls import cells_of, describe
from xcid.app.requests import Asked, Limits, read
from xcid.errors import ModelError, NotEnoughFlips
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.records import Failure
from xcid.show import wording
from xcid.show.report.contents import collect_phrases
from xcid.show.report.evidence import describe_evidence, list_changes_found
from xcid.show.report.page import SHOWN
from xcid.show.report.rows import choose_unit, describe_row, list_outputs
from xcid.show.wording.names import clean, join_names
from xcid.whatif import Counterfactuals, find_counterfactuals
from xcid.whatif.engine import find_unchangeable
from xcid.whatif.record import FAILED

MOST_PICTURES = 40  # that come with an answer; that of the feature that is looked at always does
MOST_LETTERS = 600  # of an error
ONE_SIDE = (
    "Nothing that was tried gets to the other side of this question, from this row or from the reference data: ask "
    "another one, or unpin some features."
)
TITLE = "What decides this prediction"
NONE = Limits()
PATIENCE = 30.0  # seconds that a row may take: nobody waits longer for a page
MOST_EXPLAINERS = 16  # sets of limits that are remembered


def answer(explainer: Explainer, asked: Asked, seed: int = 0) -> dict[str, Any]:
    """Explain a row.

    The record has ``answer``, ``outputs`` ([class, value], the largest first), and ``row``, ``unit``, ``question``,
    ``signed``, ``about``, ``phrases`` and ``evidence`` as a report has them; or the ``problem`` in words, where there
    is one.
    """
    try:
        outputs = explainer.subject.predict(explainer.space.encode(asked.table))[0]
    except ModelError as error:
        return {"problem": clean(error, MOST_LETTERS)}
    said = wording.format_prediction(outputs, explainer.subject.output_names)
    record: dict[str, Any] = {"answer": said, "outputs": list_outputs(outputs)}
    try:
        explanation = _quietly(explainer.asking(asked.outcome), asked, seed)
    except NotEnoughFlips:
        return record | {"problem": ONE_SIDE}
    except ModelError as error:
        return record | {"problem": clean(error, MOST_LETTERS)}
    explanation = directions.of_row(explanation)
    unit = choose_unit(explanation)
    return record | {
        **collect_phrases(explanation, SHOWN),
        "row": describe_row(explanation, 0, 0, unit, SHOWN),
        "unit": unit,
        "evidence": _pictures(explanation, asked.feature),
    }


def search(explainer: Explainer, asked: Asked, seed: int = 0) -> dict[str, Any]:
    """Search for the smallest changes that give the row the wanted output.

    The record has ``counterfactuals`` as a report has them, each with the ``columns`` that change, the ``cells`` of the
    changed row and the lines of ``code`` that make the changes, and ``notes``; or the ``problem`` in words.
    """
    setup = explainer.asking(asked.outcome).setup
    rows, index = explainer.space.encode(asked.table), np.zeros(1, dtype=np.int64)
    try:
        found = find_counterfactuals(
            setup.subject, setup.outcome, rows, index, asked.target, seed=seed, time_limit=setup.time_limit
        )
    except ModelError as error:
        return {"problem": clean(error, MOST_LETTERS)}
    if found.kind[0] == FAILED:
        return {"problem": clean(found.notes[0], MOST_LETTERS)}
    lines = [
        {**line, "columns": found.in_order(at), "cells": cells_of(cells, found.columns), "code": found.steps(at)}
        for at, (line, cells) in enumerate(zip(list_changes_found(found, 0, SHOWN), found.rows, strict=True))
    ]
    return {"counterfactuals": lines, "notes": _hints(found)}


def _hints(found: Counterfactuals) -> list[str]:
    """Which of the features that change people can hardly change."""
    names = [found.feature_names[at] for at in np.flatnonzero(found.moved.any(axis=0))]
    fixed = [clean(name) for name, is_fixed in zip(names, find_unchangeable(names), strict=True) if is_fixed]
    return [f"If people cannot change {join_names(fixed)}, pin {'it' if len(fixed) == 1 else 'them'}."] if fixed else []


def _quietly(explainer: Explainer, asked: Asked, seed: int) -> Explanation:
    """Explain without warnings of few flips: the sentences about the row say it; a row that fails is an error."""
    failures: list[Failure] = []
    with quietly():
        explanation = explainer.but(failed=failures.append)(asked.table, seed=seed)
    if failures:
        raise ModelError(failures[0].reason)
    return explanation


def _pictures(explanation: Explanation, feature: int) -> list[Any]:
    """The evidence of the strongest features and of the one that is looked at; None for others."""
    drawn = {*wording.rank_largest(explanation.values[0], MOST_PICTURES).tolist(), feature}
    n_features = len(explanation.feature_names)
    return [describe_evidence(explanation, 0, at, SHOWN) if at in drawn else None for at in range(n_features)]


@dataclass(eq=False)
class Workshop:
    """A model with a background and rows that can be picked; for one thread at a time.

    Rows may have ``names``, and features ``words`` that explain them; ``notes`` are what else to know, and ``weights``
    those of the background's rows. ``recipe`` are lines of Python that make the ``model`` and the ``background``, for
    those who copy code. ``explainer(limits)`` is the explainer that obeys some limits; the last ones are remembered.
    """

    model: Any
    background: Any
    rows: Any
    names: Sequence[Any] | None = None
    title: str = TITLE
    notes: Sequence[str] = ()
    words: Mapping[str, str] = field(default_factory=dict)
    seed: int = 0
    weights: Any = None
    class_names: Sequence[str] | None = None
    recipe: str = GIVEN

    def __post_init__(self) -> None:
        self.explainer = lru_cache(MOST_EXPLAINERS)(self._explainer)

    def describe(self) -> dict[str, Any]:
        """What there is to pick, to edit and to ask."""
        described = describe(self.explainer(), self.rows, self.names, self.words)
        return {"title": clean(self.title), "notes": [clean(note, 600) for note in self.notes], **described}

    def answer(self, body: bytes) -> dict[str, Any]:
        """Explain the row of a request."""
        asked = read(self.explainer(), body)
        return answer(self.explainer(asked.limits), asked, self.seed)

    def search(self, body: bytes) -> dict[str, Any]:
        """Search for counterfactuals of the row of a request."""
        asked = read(self.explainer(), body)
        return search(self.explainer(asked.limits), asked, self.seed)

    def code(self, body: bytes) -> dict[str, Any]:
        """Write what a request asks as Python code."""
        explainer = self.explainer()
        return {"code": code_of(explainer, read(explainer, body), self.seed, self.recipe)}

    def _explainer(self, limits: Limits = NONE) -> Explainer:
        columns = () if limits == NONE else self.explainer().space.columns
        known: dict[str, Any] = {"weights": self.weights, "class_names": self.class_names, "time_limit": PATIENCE}
        return Explainer(self.model, self.background, **known, constraints=limits.constraints(columns))
