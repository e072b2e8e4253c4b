"""Where the time goes: every stage is timed without what is inside it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from xcid.explainer import Explainer
from xcid.generators import Balanced
from xcid.lab.bench.extent import Extent
from xcid.lab.bench.record import Cell, Figure, Part, Table
from xcid.lab.bench.subjects import Subject, in_arrays
from xcid.question import Membership
from xcid.scores import Adjusted, PerFeature

GROUP = "the recommended setting, total time over the model's own"
TARGETS = {"forest": 1.2, "boosting": 1.2, "histogram boosting": 1.2, "network": 1.5, "logistic": 8.0}
MODEL, REST = "model", "rest"
STAGES = {
    "drawing samples": Balanced,
    "reading answers, outcome": Membership,
    "evidence: densities, d1": PerFeature,
    "regression, null, limits": Adjusted,
}


class Stages:
    """Seconds of the processor in each stage, without the stages that it calls."""

    def __init__(self) -> None:
        self.seconds = dict.fromkeys([*STAGES, MODEL, REST], 0.0)
        self.inside = [REST]
        self.since = time.process_time()

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

    def _switch(self) -> None:
        now = time.process_time()
        self.seconds[self.inside[-1]] += now - self.since
        self.since = now

    @contextlib.contextmanager
    def watching(self) -> Iterator[None]:
        """Time the calls of all stages; each is the call of a class."""
        before: dict[type, Any] = {owner: owner.__call__ for owner in STAGES.values()}
        try:
            for stage, owner in STAGES.items():
                _replace_call(owner, self.timed(stage, before[owner]))
            self.since = time.process_time()
            yield
            self._switch()
        finally:
            for owner, call in before.items():
                _replace_call(owner, call)


def _replace_call(owner: Any, call: Callable[..., Any]) -> None:
    owner.__call__ = call


def profile(extent: Extent) -> Part:
    """The share of each stage, and the total over the model's own time."""
    figures, lines = [], []
    for table in extent.tables:
        for name in extent.models:
            subject = in_arrays(table, name)
            seconds = _profiled(subject, extent)
            total, n_rows = sum(seconds.values()), extent.rows_of(subject.test.shape[1])
            lines.append(_line(subject, seconds, total / n_rows))
            figures.append(
                Figure(
                    f"overhead/{table}/{name}",
                    GROUP,
                    subject.title,
                    total / seconds[MODEL],
                    better="lower",
                    target=TARGETS.get(name) if subject.test.shape[1] <= 20 else None,
                    detail=f"{1e3 * total / n_rows:.3g} ms a row, "
                    f"{1e3 * seconds[MODEL] / n_rows:.3g} of them in the model",
                )
            )
    head = ("subject", "ms a row", MODEL, *STAGES, REST)
    note = "Shares of the processor's time, the recommended setting."
    return Part(tuple(figures), (Table("where the time goes", head, tuple(lines), note),))


def _profiled(subject: Subject, extent: Extent) -> dict[str, float]:
    """Medians over rounds."""
    watched = _Watched(subject.model)
    explainer, rows = Explainer(watched, subject.train), subject.rows(extent.rows_of(subject.test.shape[1]))
    explainer(rows)  # warm
    found = []
    for _ in range(extent.rounds):
        stages = Stages()
        watched.ask = stages.timed(MODEL, subject.model.predict_proba)
        with stages.watching():
            explainer(rows)
        found.append(stages.seconds)
    return {stage: float(np.median([seconds[stage] for seconds in found])) for stage in found[0]}


class _Watched:
    """A model whose function can be exchanged."""

    def __init__(self, model: Any) -> None:
        self.ask = model.predict_proba

    def __call__(self, X: Any) -> Any:
        return self.ask(X)


def _line(subject: Subject, seconds: dict[str, float], a_row: float) -> tuple[Cell, ...]:
    total = sum(seconds.values())
    return (subject.title, 1e3 * a_row, *(f"{seconds[stage] / total:.0%}" for stage in (MODEL, *STAGES, REST)))
