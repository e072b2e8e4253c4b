"""Explanations of rows, some at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xcid.cli._progress import Progress
    from xcid.explainer import Explainer
    from xcid.files.rows import Rows
    from xcid.records import Explanation


def explained(
    explainer: Explainer, rows: Rows, seed: int, size: int, workers: int, progress: Progress
) -> Iterator[Explanation]:
    """Explain so many rows at a time; a row has the same scores in whatever piece it is."""
    import warnings
    from dataclasses import replace

    import numpy as np

    from xcid.engines import Threads
    from xcid.errors import XcidWarning

    size = size if workers == 1 else max(size, workers * explainer.setup.rows_at_once)
    done = 0
    progress(done, len(rows))
    for chunk in rows.chunks(size):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", XcidWarning)  # of rows without flips: counted over all pieces instead
            explanation = Threads(workers)(explainer, chunk.frame, seed=seed)
        done += len(chunk.positions)
        progress(done, len(rows))
        yield replace(explanation, index=np.array(chunk.positions))


def note_statuses(statuses: Counter[str]) -> None:
    """Warn of rows that lack perturbations."""
    from xcid.errors import warn

    poor = {status: count for status, count in statuses.items() if status.startswith("insufficient")}
    if poor:
        found = ", ".join(f"{status}: {count}" for status, count in poor.items())
        warn(f"{sum(poor.values())} of {statuses.total()} rows have too few perturbations of a kind ({found})")
