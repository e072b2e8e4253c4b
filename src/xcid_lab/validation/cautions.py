"""Rows that are not to be relied on, and why."""

from __future__ import annotations

import numpy as np

from xcid.contributions import sources
from xcid.records import UNKNOWN, Flags, is_significant
from xcid.records.status import meaning
from xcid_lab.validation.cases import Case
from xcid_lab.validation.data import find_far
from xcid_lab.validation.judging import binomial, judge
from xcid_lab.validation.records import Caution, Check

MOST = 0.5  # of the rows
STAYS = 0.5  # of the other reference rows, or trainings
CAUTIONS = "rows not to rely on"
CAREFUL = ("insufficient_flips", "insufficient_stays", "no_flips", "few_flips")


def find_cautions(case: Case, stays: Flags) -> tuple[Caution, ...]:
    """All rows with something to say against them; those that were not explained stand at the end."""
    far, found = find_far(case, case.rows), case.found
    significant = is_significant(sources.of_chance(found), found.feature_status != "constant")
    fresh = None if found.retrained is None else sources.stretched(found.values, found.retrained)
    first = np.abs(found.values).argmax(axis=1)
    said = []
    for at, (name, status) in enumerate(zip(case.names, found.status.tolist(), strict=True)):
        reasons = [meaning(status)] if status in (*UNKNOWN, *CAREFUL) else []
        if status not in UNKNOWN:
            if far[at]:
                reasons.append("the row is unlike every reference row")
            if not significant[at].any():
                reasons.append("no contribution is significant")
            if stays[at].mean() < STAYS:
                reasons.append("against other reference rows, another contribution is the strongest")
            if fresh is not None and np.mean(np.abs(fresh[at]).argmax(axis=0) == first[at]) < STAYS:
                reasons.append("after retraining, another contribution is likely the strongest")
        if reasons:
            said.append(Caution(name, tuple(reasons)))
    unseen = "it holds a level or a missing cell that the reference data lack"
    return (*said, *(Caution(name, (unseen,)) for name in case.unseen))


def check_cautions(case: Case, found: tuple[Caution, ...]) -> Check:
    """Count them among the rows that were explained."""
    count = len(found) - len(case.unseen)
    share = binomial(count, len(case.rows))
    others = f"; {len(case.unseen)} others hold what the reference data lack" if case.unseen else ""
    tried = f"{len(case.rows)} explained rows{others}"
    said = f"{count} of {len(case.rows)} explained rows are not to be relied on as they are; the list says why."
    meaning = (said, f"{said} That is more than half: do not use this explainer for such rows as it is.")
    return judge(CAUTIONS, tried, share, "at most", MOST, meaning)
