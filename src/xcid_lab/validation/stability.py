"""What else could have been: other reference rows, another training."""

from __future__ import annotations

import numpy as np

from xcid import pipeline
from xcid.contributions import sources
from xcid.records import Array, Flags
from xcid.records.fields import TRAINING
from xcid_lab.validation.cases import Case, alone, on_part
from xcid_lab.validation.judging import judge, not_tried, share_of
from xcid_lab.validation.records import Check

REFERENCE_STAYS, REFITS_STAY = 0.70, 0.50
COVERED = 0.90
FEWEST_REFITS = 5
PARTS, REFITS, LIMITS = (
    "first reasons, other reference rows",
    "first reasons, other trainings",
    "limits over trainings",
)


def explain_parts(case: Case) -> Flags:
    """(n, parts) whether the strongest contribution stays where half of the reference rows are left out."""
    n = len(case.setup.subject.space.background)
    first = np.abs(case.found.values).argmax(axis=1)
    stays = []
    for at in range(case.effort.parts):
        chosen = np.random.default_rng([case.seed, at]).permutation(n)[: max(2, n // 2)]
        part = pipeline.explain(alone(on_part(case.setup, chosen)), case.rows, case.seed)
        stays.append(np.abs(part.values).argmax(axis=1) == first)
    return np.stack(stays, axis=1)


def check_parts(case: Case, stays: Flags) -> Check:
    """Whether first reasons depend on which reference rows there are."""
    share = share_of(stays[case.told])
    tried = (
        f"{int(case.told.sum())} rows against {stays.shape[1]} halves of the reference rows, drawn at random: the "
        "share of strongest contributions that are the same"
    )
    meaning = (
        f"Against half of the reference rows, the strongest contribution is the same in {share.figure:.0%} of cases.",
        f"Against half of the reference rows, the strongest contribution is the same in only {share.figure:.0%} of the "
        "cases: give more reference rows, or say which ones a reason is measured against.",
    )
    return judge(PARTS, tried, share, "at least", REFERENCE_STAYS, meaning)


def check_refits(case: Case) -> list[Check]:
    """Whether first reasons and limits outlast another training, where the explainer has refits."""
    again = case.found.retrained
    if again is None or again.shape[2] < FEWEST_REFITS:
        why = "no models were trained again: --refits 20 in the shell, refits=xcid.refits(model, X, y) in Python"
        return [not_tried(REFITS, why), not_tried(LIMITS, why)]
    values, again = case.found.values[case.told], again[case.told]
    n_refits = again.shape[2]
    first = np.abs(values).argmax(axis=1)
    fresh = sources.stretched(values, again)
    stays = share_of(np.abs(fresh).argmax(axis=1) == first[:, None])
    tried = f"{len(values)} rows by {n_refits} models that were trained again, spread as models of other data would be"
    meaning = (
        f"A retrained model has the same strongest contribution in {stays.figure:.0%} of the cases.",
        f"A retrained model has the same strongest contribution in only {stays.figure:.0%} of the cases: do not give "
        "it as the reason without saying so.",
    )
    held = share_of(hold_left_out(values, again))
    said = (
        f"Limits by the other refits hold {held.figure:.0%} of the contributions of a refit, where 95% are to be "
        "expected. Refits cannot tell whether limits over trainings hold for models of fresh data: they share rows.",
        f"Limits by the other refits hold only {held.figure:.0%} of the contributions of a refit, where 95% are to be "
        "expected: some refits are unlike the others, and limits over trainings too narrow for them.",
    )
    left = f"{len(values)} rows by {n_refits} models that were trained again: each in turn against limits by the others"
    return [
        judge(REFITS, tried, stays, "at least", REFITS_STAY, meaning),
        judge(LIMITS, left, held, "at least", COVERED, said),
    ]


def hold_left_out(values: Array, again: Array) -> Array:
    """(n, f, B) whether limits of (n, f) values by all refits but one hold what that one gives; NaN where all agree.

    A refit is not a model of fresh data: it scatters about the value that is shown, so that its limits are narrower
    than those over trainings by the square root of two. Those would hold 99% of any refits that are alike.
    """
    n_refits, held = again.shape[2], list[Array]()
    for at in range(n_refits):
        spread = sources.of_training(values, np.delete(again, at, axis=2))
        limits = sources.combine(values, {TRAINING: spread / sources.AGAIN**0.5}, n_refits - 1)
        held.append(
            np.where(spread == 0, np.nan, (limits.lower <= again[:, :, at]) & (again[:, :, at] <= limits.upper))
        )
    return np.stack(held, axis=2)
