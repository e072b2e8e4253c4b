"""Laws without chance: sums, the order of rows, a model that predicts the same twice and is still the one it was."""

from __future__ import annotations

import numpy as np

from xcid import pipeline
from xcid._kernels.arrays import thinned
from xcid.records import Array
from xcid_lab.validation.cases import Case, by_itself, number_of
from xcid_lab.validation.judging import judge
from xcid_lab.validation.records import Check

ROUNDED = 1e-9
SAME = 1e-6  # of the spread of outputs, of a model in double precision
IN_SPREADS = ", in standard deviations of the output"
MOST = 200  # rows that the model predicts again
FEW = 10
SUMS, BASE, ORDER = "sums", "base value", "alone, in a batch, in any order"
NOISE, CHANGED = "the model predicts the same twice", "the model is the one that was explained"


def check_sums(case: Case) -> list[Check]:
    """Base value and contributions against what the called model predicts, and the base against the reference data."""
    number, about = number_of(case.setup, case.rows)
    told, found, subject = case.told, case.found, case.setup.subject
    assert found.base_values is not None
    whole = found.base_values + found.values.sum(axis=1)
    own, base = np.empty(len(whole)), np.empty(len(whole))
    for one in set(about):
        chosen = np.array([other == one for other in about])
        own[chosen] = number(case.rows[chosen], one)
        base[chosen] = np.average(number(subject.space.rows, one), weights=subject.space.weights)
    limit = max(ROUNDED, 10 * subject.predict.precision)
    gaps = [_relative(whole[told], own[told]), _relative(found.base_values[told], base[told])]
    said = (
        ("From the base value, the contributions of a row add up to what the called model predicts for it.",
         "Base value and contributions do not add up to what the model predicts."),
        ("The base value is the mean of what the called model predicts for the reference data.",
         "The base value is not the mean of what the model predicts for the reference data."),
    )  # fmt: skip
    n = int(told.sum())
    return [
        judge(SUMS, f"the largest gap of {n} rows, relative to the output", gaps[0], "at most", limit, said[0]),
        judge(BASE, f"against {len(subject.space.rows):,} reference rows", gaps[1], "at most", limit, said[1]),
    ]


def check_order(case: Case) -> Check:
    """Explain rows alone, and in another order."""
    places = np.flatnonzero(case.told)[:FEW]
    rows = case.rows[places]
    setup = by_itself(case.setup)
    turned = pipeline.explain(setup, rows[::-1], case.seed)
    each = [pipeline.explain(setup, row[None], case.seed) for row in rows]
    gap = 0.0
    for name in ("values", "importance"):
        batch = getattr(case.found, name)[places]
        others = getattr(turned, name)[::-1], np.concatenate([getattr(one, name) for one in each])
        gap = max(gap, *(_gap(batch, other) for other in others))
    tried = f"{len(rows)} rows among {len(case.rows)}, in reverse, and each alone: the largest gap of a number"
    meaning = (
        "A row gets the same explanation alone, in a batch and in any order.",
        "The explanation of a row depends on the rows beside it: see whether what the model predicts for it does, too.",
    )
    limit = max(ROUNDED, 10 * case.setup.subject.predict.precision)
    return judge(ORDER, tried, gap, "at most", limit, meaning)


def _relative(found: Array, known: Array) -> float:
    return float(np.max(np.abs(found - known) / np.maximum(1, np.abs(known))))


def _gap(first: Array, second: Array) -> float:
    size = max(1.0, float(np.nanmax(np.abs(first), initial=0.0)))
    return float(np.nanmax(np.abs(first - second), initial=0.0)) / size


def check_noise(case: Case) -> Check:
    """Let the model predict the same rows again: at once, in reverse, and one by one."""
    predict, rows = case.setup.subject.predict, case.rows[:MOST]
    first = predict(rows)
    again = (predict(rows), predict(rows[::-1])[::-1])
    few = np.concatenate([predict(row[None]) for row in rows[:FEW]])
    gap = (
        max(*(float(np.abs(first - one).max()) for one in again), float(np.abs(first[:FEW] - few).max())) / case.spread
    )
    tried = f"{len(rows)} rows, predicted together twice, in reverse and alone: the largest gap{IN_SPREADS}"
    meaning = (
        "The model predicts the same for a row every time, whatever rows stand beside it.",
        "The model predicts different outputs for the same row: it adds noise, or what it predicts depends on the "
        "other rows of a call. No explanation of it can be repeated; fix its seed, or switch its randomness off.",
    )
    return judge(NOISE, tried, gap, "at most", max(SAME, 10 * predict.precision), meaning)


def check_changed(case: Case) -> Check:
    """Compare what the model predicts for the reference data now with what it did when the explainer was made."""
    subject = case.explainer.made.subject
    chosen = thinned(len(subject.known), MOST)
    now = case.setup.subject.predict(subject.space.rows[chosen])
    gap = float(np.abs(now - subject.known[chosen]).max()) / case.spread
    tried = (
        f"{len(chosen)} reference rows, beside what was predicted when the explainer was made: the largest "
        f"gap{IN_SPREADS}"
    )
    noticed = " xcid noticed this by itself, and read the model again." if case.setup.subject is not subject else ""
    meaning = (
        "The model still predicts for the reference data what it did when the explainer was made.",
        f"The model no longer predicts what it did when the explainer was made: it was changed, or is noisy.{noticed} "
        "Make a new explainer of the model that is in use.",
    )
    return judge(CHANGED, tried, gap, "at most", max(SAME, 10 * subject.predict.precision), meaning)
