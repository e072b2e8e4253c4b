"""Two workers against one."""

from __future__ import annotations

import importlib
import os
from typing import Any

from xcid.explainer import Explainer
from xcid.lab.bench.extent import Extent
from xcid.lab.bench.record import Figure, Part
from xcid.lab.bench.subjects import in_arrays
from xcid.lab.bench.timing import Contestant, race, wall_ratio

GROUP = "workers"
TARGET = 1.8


def workers(extent: Extent) -> Part:
    """A forest's rows, shared by two threads; by the clock, since both take the processor's time."""
    what = f"two workers against one, Diabetes, forest, {extent.worker_rows:,} rows"
    reason = _reason()
    if reason:
        return Part((Figure("workers/2", GROUP, what, None, target=TARGET, detail=reason),))
    threads = _engines().Threads(workers=2)
    subject = in_arrays("diabetes", "forest")
    explainer, rows = Explainer(subject.model, subject.train), subject.rows(extent.worker_rows)
    found = race(
        [
            Contestant("one", lambda: explainer(rows), warm=lambda: explainer(rows[:1])),
            Contestant("two", lambda: threads(explainer, rows), warm=lambda: threads(explainer, rows[:2])),
        ],
        extent.long_rounds,
    )
    detail = f"{found['one'].elapsed:.3g} s against {found['two'].elapsed:.3g} s by the clock"
    return Part(
        (Figure("workers/2", GROUP, what, wall_ratio(found["one"], found["two"]), target=TARGET, detail=detail),)
    )


def _engines() -> Any:
    try:
        return importlib.import_module("xcid.engines")
    except ImportError:
        return None


def _reason() -> str:
    """Why it cannot be measured here; empty where it can."""
    if not hasattr(_engines(), "Threads"):
        return "this version has no engines"
    return "" if (os.cpu_count() or 1) > 1 else "this machine has one core"
