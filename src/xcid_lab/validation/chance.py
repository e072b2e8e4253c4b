"""What is chance: columns that the model ignores, and two seeds."""

from __future__ import annotations

import numpy as np

from xcid import pipeline
from xcid.records import Array, Explanation
from xcid_lab.validation.cases import Case, by_itself, planted
from xcid_lab.validation.judging import judge, not_tried, share_of
from xcid_lab.validation.records import Check

PLANTED = 3  # columns of each seed
ALPHA = 0.05
FALSE_ALARMS = 0.10  # at most, where 0.05 is promised
COVERED = 0.90
FIRST_STAYS = 0.85
CONTRIBUTION, IMPORTANCE = "false alarms of contributions", "false alarms of importance"
LIMITS = "limits of ignored columns hold 0"
SEEDS, SEEDS_OF_IMPORTANCE = "two seeds, first reason", "two seeds, limits of importance"


def check_planted(case: Case) -> list[Check]:
    """Plant columns that the model never gets to see, and count how often they are found to matter."""
    p_values, alarms, holds = list[Array](), list[Array](), list[Array]()
    for seed in range(case.effort.seeds):
        rng = np.random.default_rng([case.seed, seed])
        setup, rows = planted(case.setup, case.rows, PLANTED, rng)
        found = pipeline.explain(setup, rows, case.seed + seed)
        last = slice(-PLANTED, None)
        assert found.p_values is not None
        assert found.lower is not None
        assert found.upper is not None
        p_values += list(np.where(case.told, found.p_values[:, last].T, np.nan))
        holds += list(np.where(case.told, ((found.lower <= 0) & (found.upper >= 0))[:, last].T, np.nan))
        if found.importance_p_values is not None:
            alarms += list(np.where(case.told, found.importance_p_values[:, last].T, np.nan))
    tried = (
        f"{PLANTED * case.effort.seeds} shuffled copies of columns, {PLANTED} with each of {case.effort.seeds} seeds, "
        f"in {len(case.rows)} rows; the model is called without them"
    )
    of_contributions = _alarms(CONTRIBUTION, tried, np.array(p_values), "contribution")
    if alarms and not np.isnan(alarms).all():
        of_importance = _alarms(IMPORTANCE, tried, np.array(alarms), "importance")
    else:
        of_importance = not_tried(IMPORTANCE, "importance has no p-values here: too many columns, or constraints")
    share = share_of(holds)
    meaning = (
        f"The 95% limits over our sampling of a column that does nothing hold 0 in {share.figure:.0%} of the cases.",
        f"The 95% limits over our sampling of a column that does nothing hold 0 in only {share.figure:.0%} of the "
        "cases.",
    )
    return [of_contributions, of_importance, judge(LIMITS, tried, share, "at least", COVERED, meaning)]


def _alarms(name: str, tried: str, p_values: Array, what: str) -> Check:
    share = share_of(np.where(np.isnan(p_values), np.nan, p_values <= ALPHA))
    said = f"The {what} of a column that the model ignores has p <= {ALPHA} in {share.figure:.1%} of the cases"
    meaning = (f"{said}; 5% are promised.", f"{said}, where 5% are promised: what is called significant may be chance.")
    return judge(name, tried, share, "at most", FALSE_ALARMS, meaning)


def check_seeds(case: Case) -> list[Check]:
    """Explain the rows with another seed."""
    again = pipeline.explain(by_itself(case.setup), case.rows, case.seed + 1)
    first, second = (np.abs(one.values[case.told]).argmax(axis=1) for one in (case.found, again))
    share = share_of((first == second)[:, None])
    how = "contributions are exact" if case.is_exact else "contributions are sampled"
    tried = f"{int(case.told.sum())} rows with the seeds {case.seed} and {case.seed + 1}; {how}"
    meaning = (
        f"The strongest contribution of a row is the same with both seeds in {share.figure:.0%} of the rows.",
        f"The strongest contribution is the same with both seeds in only {share.figure:.0%} of the rows: ask for more "
        "perturbations, by precision= or repeats=.",
    )
    return [judge(SEEDS, tried, share, "at least", FIRST_STAYS, meaning), _importance_again(case, again, tried)]


def _importance_again(case: Case, again: Explanation, tried: str) -> Check:
    """Whether two importances differ by no more than their limits say."""
    cells = []
    for one in (case.found, again):
        if one.importance_lower is None or one.importance_upper is None:
            return not_tried(SEEDS_OF_IMPORTANCE, "importance has no limits here")
        cells.append((one.importance, (one.importance_upper - one.importance_lower) / 2))
    (first, reach), (second, other) = cells
    flags = np.where(
        np.isnan(reach + other) | ~case.told[:, None] | ((reach + other) == 0), np.nan,
        np.abs(first - second) <= np.sqrt(reach**2 + other**2),
    )  # fmt: skip
    if np.isnan(flags).all():
        return not_tried(SEEDS_OF_IMPORTANCE, "importance has no limits here")
    share = share_of(flags)
    meaning = (
        f"Importances of two seeds differ by no more than their limits say in {share.figure:.0%} of the cases.",
        f"Importances of two seeds differ by more than their limits say in {1 - share.figure:.0%} of the cases.",
    )
    return judge(SEEDS_OF_IMPORTANCE, tried, share, "at least", COVERED, meaning)
