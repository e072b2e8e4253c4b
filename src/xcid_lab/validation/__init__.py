"""xcid tests itself on a model and a table: what held, what failed, what was not tried, and which rows not to rely on.

``cases`` makes variants of an explainer that differ in one thing; ``chance``, ``truth``, ``laws``, ``data``,
``stability`` and ``cautions`` are the checks, whose thresholds stand at the top of each; ``page`` and ``words`` show
what they found.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from xcid import Explainer
from xcid._check import as_int
from xcid.errors import XcidError
from xcid_lab.validation import cautions, chance, data, laws, stability, truth
from xcid_lab.validation.cases import Case
from xcid_lab.validation.differences import find_differences
from xcid_lab.validation.judging import not_tried
from xcid_lab.validation.records import Caution, Check, Effort, Validation, load

__all__ = ["Caution", "Check", "Effort", "Validation", "find_differences", "load", "validate"]

SECONDS = 90.0


def validate(
    explainer: Explainer,
    X: Any,
    *,
    names: Sequence[Any] | None = None,
    seed: int = 0,
    effort: Effort | None = None,
    seconds: float = SECONDS,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Validation:
    """Hold an explainer against what is known, on its own model and table.

    Parameters
    ----------
    explainer : Explainer
        Of the model and the reference data that are in use; with ``refits=``, other trainings are looked at, too.
    X : table
        Rows to explain, such as last month's: best those that the model was not trained on.
    names : sequence, optional
        What the rows are called; by default, their index or position.
    seed : int
        Of all that is drawn.
    effort : Effort, optional
        How much is tried. By default as much as takes some ``seconds``, roughly; with a given effort, figures repeat.
    seconds : float
        See ``effort``.
    progress : callable, optional
        Called with how many steps are done, and how many there are; a step makes one check or several.
    """
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        case = Case.of(explainer, X, names, effort, as_int(seed, "seed"), seconds)
        found, spoken_against = _run(case, progress)
    return Validation(
        checks=tuple(found),
        cautions=spoken_against,
        n_rows=len(case.rows),
        settings={name: str(text) for name, text in (case.found.details.settings or {}).items()},
        effort=case.effort,
        seed=case.seed,
        seconds=round(time.perf_counter() - start, 1),
        date=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def _run(case: Case, progress: Callable[[int, int], None]) -> tuple[list[Check], tuple[Caution, ...]]:
    known = truth.once(case)
    kept: list[Any] = []

    def stay() -> Any:
        kept.append(stability.explain_parts(case))
        return stability.check_parts(case, kept[0])

    def caution() -> Any:
        kept.append(cautions.find_cautions(case, kept[0]))
        return cautions.check_cautions(case, kept[1])

    steps: Sequence[tuple[str, Callable[[], Check | list[Check]]]] = (
        (laws.NOISE, lambda: laws.check_noise(case)),
        (laws.CHANGED, lambda: laws.check_changed(case)),
        (laws.SUMS, lambda: laws.check_sums(case)),
        (laws.ORDER, lambda: laws.check_order(case)),
        (truth.COVERAGE, lambda: truth.check_coverage(case, known)),
        (truth.AGREEMENT, lambda: truth.check_agreement(case, known)),
        (chance.CONTRIBUTION, lambda: chance.check_planted(case)),
        (chance.SEEDS, lambda: chance.check_seeds(case)),
        (stability.PARTS, stay),
        (stability.REFITS, lambda: stability.check_refits(case)),
        (data.COLUMNS, lambda: data.check_columns(case)),
        (data.ROWS, lambda: data.check_rows(case)),
        (cautions.CAUTIONS, caution),
    )
    found = list[Check]()
    for done, (name, step) in enumerate(steps):
        progress(done, len(steps))
        try:
            made = step()
        except (XcidError, IndexError, ValueError) as error:
            made = not_tried(name, f"it could not be tried: {error}")
        found += made if isinstance(made, list) else [made]
    progress(len(steps), len(steps))
    return found, kept[1] if len(kept) > 1 else ()
