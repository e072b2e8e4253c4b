"""Where the time goes: every stage is timed without what is inside it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from itertools import product, starmap
from typing import Any
from unittest import mock

import numpy as np

from xcid import pipeline
from xcid.cid.generators.search import Drawn
from xcid.explainer import Explainer
from xcid.records import Array
from xcid.scores import Adjusted
from xcid.setup import Membership
from xcid_lab.bench.record import Figure
from xcid_lab.bench.timing import Extent
from xcid_lab.markdown import Cell, Table
from xcid_lab.subjects import Subject, in_arrays

GROUP = "the recommended setting, total time over the model's own"
TARGETS = {"forest": 1.2, "boosting": 1.2, "histogram boosting": 1.2, "network": 1.5, "logistic": 8.0}
MODEL, REST = "model", "rest"
STAGES: dict[str, tuple[Any, str]] = {
    "making samples": (Drawn, "__call__"),
    "reading answers, outcome": (Membership, "__call__"),
    "importance": (Adjusted, "__call__"),
    "contributions": (pipeline, "contribute"),
}


class Stages:
    """Seconds of the processor in each stage, without the stages that it calls."""

    def __init__(self) -> None:
        self.inside = [REST]
        self._clear()

    def _clear(self) -> None:
        self.seconds, self.since = dict.fromkeys([MODEL, *STAGES, REST], 0.0), time.process_time()

    def _switch(self) -> None:
        now = time.process_time()
        self.seconds[self.inside[-1]] += now - self.since
        self.since = now

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, whose time counts for a stage."""

        def call(*arguments: Any, **more: Any) -> Any:
            self._switch()
            self.inside.append(stage)
            try:
                return function(*arguments, **more)
            finally:
                self._switch()
                self.inside.pop()

        return call

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Time the calls of all stages from 0 on."""
        with contextlib.ExitStack() as patches:
            for stage, (owner, name) in STAGES.items():
                patches.enter_context(mock.patch.object(owner, name, self.timed(stage, getattr(owner, name))))
            self._clear()
            yield
            self._switch()


def profile(extent: Extent) -> Iterator[Figure | Table]:
    """The share of each stage, and the total over the model's own time."""
    lines: list[tuple[Cell, ...]] = []
    for subject in starmap(in_arrays, product(extent.tables, extent.models)):
        rows = subject.rows(extent.rows_of(subject.n_features))
        seconds = _profiled(subject, rows, extent.rounds)
        total = sum(seconds.values())
        a_row, in_model = 1e3 * total / len(rows), 1e3 * seconds[MODEL] / len(rows)
        lines.append((subject.description, a_row, *(f"{part / total:.0%}" for part in seconds.values())))
        yield Figure(
            f"overhead/{subject.table}/{subject.name}",
            GROUP,
            subject.description,
            total / seconds[MODEL],
            better="lower",
            target=TARGETS.get(subject.name) if subject.n_features <= 20 else None,
            detail=f"{a_row:.3g} ms a row, {in_model:.3g} of them in the model",
        )
    head = ("subject", "ms a row", MODEL, *STAGES, REST)
    note = "Shares of the processor's time, the recommended setting."
    yield Table("where the time goes", head, tuple(lines), note)


def _profiled(subject: Subject, rows: Array, rounds: int) -> dict[str, float]:
    """Medians over rounds."""
    stages, found = Stages(), []
    explainer = Explainer(stages.timed(MODEL, subject.model.predict_proba), subject.train)
    explainer(rows)  # warm
    for _ in range(rounds):
        with stages.watching():
            explainer(rows)
        found.append(stages.seconds)
    return {stage: float(np.median([seconds[stage] for seconds in found])) for stage in found[0]}
