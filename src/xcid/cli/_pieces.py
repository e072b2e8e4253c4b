"""Explanations of a table, some rows at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xcid.cli._inputs import Inputs
    from xcid.cli._progress import Progress
    from xcid.records import Explanation


def pieces(explainer: Any, inputs: Inputs, seed: int, told: Progress, size: int, workers: int) -> Iterator[Explanation]:
    """Explain some rows at a time; a row has the same scores in whatever piece it is."""
    import warnings
    from dataclasses import replace

    import numpy as np

    from xcid.engines import Threads
    from xcid.errors import XcidWarning
    from xcid.files.tables import part

    size = size if workers == 1 else max(size, workers * explainer.setup.rows_at_once)
    total = len(inputs.positions)
    told(0, total)
    for start in range(0, total, size):
        positions = inputs.positions[start : start + size]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", XcidWarning)  # of rows without flips: counted over all pieces instead
            explanation = Threads(workers)(explainer, part(inputs.data, positions), seed=seed)
        told(start + len(positions), total)
        yield replace(explanation, index=np.array(positions))


def note_statuses(statuses: Counter[str]) -> None:
    """Warn of rows that lack perturbations."""
    from xcid.errors import warn

    poor = {status: count for status, count in statuses.items() if status.startswith("insufficient")}
    if poor:
        found = ", ".join(f"{status}: {count}" for status, count in poor.items())
        warn(f"{sum(poor.values())} of {statuses.total()} rows have too few perturbations of a kind ({found})")
