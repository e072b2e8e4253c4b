"""Explanations of the rows of a table, some at a time, and what is said of those that are not as they should be."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xcid.cli._terminal import Progress
    from xcid.explainer import Explainer
    from xcid.explanation import Explanation
    from xcid.io.rows import Rows


def explained(
    explainer: Explainer,
    rows: Rows,
    seed: int,
    size: int,
    workers: int,
    progress: Progress,
    keep: Callable[[Any], None] = lambda frame: None,
    tell: Callable[[str], str] = str,
) -> Iterator[Explanation]:
    """Explain so many rows at a time, and warn of those that failed or lack perturbations.

    A row has the same scores in whatever piece it is. ``keep`` gets the table of each piece before its explanation
    comes, and ``tell`` makes of the reason why the first row failed what may be said of it.
    """
    from dataclasses import replace

    from xcid._faults import quietly, refuse_one_side
    from xcid.engines import Threads
    from xcid.records import Failure

    one_side, failures = list[str](), list[Failure]()
    explainer = explainer.but(one_sided=one_side.append, failed=failures.append)  # other pieces may have flips
    size = size if workers == 1 else max(size, workers * explainer.setup.rows_at_once)
    statuses: Counter[str] = Counter()
    reason, pieces = "", list[tuple[set[str], str]]()
    progress(0, len(rows))
    for chunk in rows.chunks(size):
        with quietly():
            explanation = Threads(workers)(explainer, chunk.frame, seed=seed)
        explanation = replace(explanation, index=chunk.names)
        statuses.update(explanation.status.tolist())
        if failures and not reason:
            reason = f"row {chunk.names[failures[0].place]}: {failures[0].reason}"
        pieces.append((set(explanation.status.tolist()), one_side.pop() if one_side else ""))
        progress(statuses.total(), len(rows))
        keep(chunk.frame)
        yield explanation
    refuse_one_side(pieces)
    note_statuses(statuses, tell(reason))


def note_statuses(statuses: Counter[str], reason: str) -> int:
    """Warn of all rows that are not as they should be, and say why the first that failed did; how many failed."""
    from xcid.errors import warn
    from xcid.records.status import UNKNOWN, meaning

    found = ", ".join(f"{status}: {count:,}" for status, count in sorted(statuses.items()) if status != "ok")
    if found:
        n_rows, why = statuses.total(), f"; the first that failed is {reason}" if reason else ""
        if not statuses["ok"]:
            why = f": {meaning(statuses.most_common(1)[0][0])}{why}"
        warn(f"{n_rows - statuses['ok']:,} of {n_rows:,} rows do not have the status ok ({found}){why}")
    return sum(statuses[status] for status in UNKNOWN)
