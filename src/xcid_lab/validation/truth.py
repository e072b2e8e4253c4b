"""Limits against known truth, and contributions against an estimator that shares nothing with xcid's own."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np

from xcid import pipeline
from xcid._kernels.arrays import thinned
from xcid._require import quiet_and_seeded, require
from xcid.records import Array, Flags, Integers
from xcid_lab.validation.cases import About, Case, alone, called, number_of, on_part
from xcid_lab.validation.judging import Share, judge, not_tried, share_of
from xcid_lab.validation.records import Check

COVERED = 0.90
AGREES = 0.90
MOST_CELLS = 2**22  # of rows that the model is given at once
NORMAL = 1.96
PERMUTATIONS, REFERENCE = 10, 100  # of SHAP: orders of each row, and reference rows, against which both explain
COVERAGE, AGREEMENT = "limits hold the truth", "an independent estimator agrees"


class Truth(NamedTuple):
    """What is true of some rows of a case, with standard errors where it was walked."""

    places: Integers  # of the rows
    values: Array  # (n, f)
    errors: Array
    how: str


def find_truth(case: Case) -> Truth:
    """Contributions that no sampling of xcid's has touched: counted out, or by very many random orders."""
    if case.is_exact:
        places = np.flatnonzero(case.told)
        values = np.asarray(case.found.values)[places]
        return Truth(places, values, np.zeros(values.shape), "the same trees or sums, counted out")
    return walk_rows(case)


def _about(number: Callable[[Array, About], Array], one: About) -> Callable[[Any], Array]:
    """The number of one row, of whatever is given."""
    return lambda some: number(np.asarray(some, dtype=np.float64), one)


def walk_rows(case: Case) -> Truth:
    """Walk some rows of a case."""
    places = np.flatnonzero(case.told)[thinned(int(case.told.sum()), case.effort.walked)]
    number, about = number_of(case.setup, case.rows[places])
    subject = case.setup.subject
    walked = [
        walk(
            _about(number, one),
            row, subject.space.background, subject.features.columns, case.effort.walks,
            np.random.default_rng([case.seed, at]),
        )
        for at, (row, one) in enumerate(zip(case.rows[places], about, strict=True))
    ]  # fmt: skip
    values, errors = (np.array(part) for part in zip(*walked, strict=True))
    return Truth(places, values, errors, f"{2 * case.effort.walks:,} random orders of each row")


def walk(
    number: Callable[[Array], Array],
    row: Array,
    reference: Array,
    players: tuple[tuple[int, ...], ...],
    n_walks: int,
    rng: np.random.Generator,
) -> tuple[Array, Array]:
    """(f,) Shapley values of a row and their standard errors: features take their values one by one, in random orders.

    Each reference row is gone from in an order and in its reverse. The mean is unbiased, whatever the model.
    """
    f = len(players)
    owner = np.full(len(row), -1)
    for player, columns in enumerate(players):
        owner[list(columns)] = player
    donors = rng.permutation(np.resize(rng.permutation(len(reference)), n_walks))
    step, gains = max(1, MOST_CELLS // (2 * (f + 1) * len(row))), []
    for start in range(0, n_walks, step):
        some = donors[start : start + step]
        turn = np.argsort(rng.random((len(some), f)), axis=1)  # when each feature takes its value
        both = []
        for at in (turn, f - 1 - turn):
            taken = at[:, None] < np.arange(f + 1)[:, None]  # (walks, steps, features)
            mixed = np.where(taken[:, :, owner], row, reference[some][:, None])
            rise = np.diff(number(mixed.reshape(-1, len(row))).reshape(len(some), f + 1), axis=1)
            both.append(np.take_along_axis(rise, at, axis=1))
        gains.append((both[0] + both[1]) / 2)
    gain = np.concatenate(gains)
    return gain.mean(axis=0), gain.std(axis=0, ddof=1) / np.sqrt(len(gain))


def check_coverage(case: Case, truth: Callable[[], Truth]) -> Check:
    """Sample contributions of the model as a plain function, and count the limits that hold the truth."""
    known, setup = truth(), alone(called(case.setup))
    flags = []
    for seed in range(case.effort.seeds):
        found = pipeline.explain(setup, case.rows[known.places], case.seed + seed)
        assert found.lower is not None
        assert found.upper is not None
        reach = np.maximum(found.upper - found.values, found.values - found.lower)
        gap, size = np.abs(found.values - known.values), np.abs(known.values).max()
        is_held = gap <= np.sqrt(reach**2 + (NORMAL * known.errors) ** 2) + 1e-9 * size
        flags.append(np.where((reach == 0) & (gap <= 1e-9 * size), np.nan, is_held))
    cells = np.stack(flags, axis=1)  # by row: its cells are those of one truth
    if np.isnan(cells).all():
        return not_tried(COVERAGE, "nothing is left to chance: all limits are points")
    n_rows, n_seeds = cells.shape[:2]
    tried = (
        f"95% limits over our sampling, of contributions of {n_rows} rows, {n_seeds} seeds, against {known.how}; the "
        "model is called as a function"
    )
    share = share_of(cells)
    meaning = (
        f"Limits of sampled contributions hold the true value in {share.figure:.0%} of the cases; 95% are promised.",
        f"The limits hold the true value in only {share.figure:.0%} of the cases, and 95% are promised: they are too "
        "narrow for this model and these reference data.",
    )
    if case.is_exact:
        meaning = (f"{meaning[0]} The explanations themselves are exact and need no such limits.", meaning[1])
    return judge(COVERAGE, tried, share, "at least", COVERED, meaning)


def check_agreement(case: Case, truth: Callable[[], Truth]) -> Check:
    """Hold contributions against SHAP's where it is installed, else against random orders."""
    has_groups = any(len(one) > 1 for one in case.setup.subject.features.columns)
    if importlib.util.find_spec("shap") is not None and not has_groups:
        values, others, tried = _by_shap(case)
    else:
        known = walk_rows(case) if case.is_exact else truth()
        values, others = np.asarray(case.found.values)[known.places], known.values
        tried = f"contributions of {len(values)} rows against {known.how}, made by other code"
    share = explained(values, others)
    meaning = (
        f"Code that shares nothing with xcid's estimator gives the same contributions, to {share.figure:.1%} of their "
        "variation.",
        f"Code that shares nothing with xcid's estimator gives other contributions: {share.figure:.1%} of their "
        "variation agrees.",
    )
    return judge(AGREEMENT, tried, share, "at least", AGREES, meaning)


def explained(values: Array, others: Array) -> Share:
    """1 less the squared differences as a share of the squared values, with an interval by leaving rows out."""
    gaps, sizes = np.sum((values - others) ** 2, axis=1), np.sum(others**2, axis=1)
    figure = 1 - gaps.sum() / max(sizes.sum(), 1e-300)
    n = len(gaps)
    if n < 2:
        return Share(float(figure), float(figure), float(figure))
    without = 1 - (gaps.sum() - gaps) / np.maximum(sizes.sum() - sizes, 1e-300)
    reach = 2 * np.sqrt((n - 1) / n * np.sum((without - without.mean()) ** 2))
    return Share(float(figure), float(figure - reach), float(min(1.0, figure + reach)))


def _by_shap(case: Case) -> tuple[Array, Array, str]:
    """Contributions of some rows against some reference rows, by xcid and by SHAP's permutations."""
    shap, subject = require("shap", extra="shap"), case.setup.subject
    n_reference = len(subject.space.background)
    part = case.setup
    if n_reference > REFERENCE:
        part = on_part(part, np.random.default_rng(case.seed).permutation(n_reference)[:REFERENCE])
    places = np.flatnonzero(case.told)[thinned(int(case.told.sum()), case.effort.walked)]
    rows, reference = case.rows[places], part.subject.space.background
    ours = pipeline.explain(alone(part), rows, case.seed)
    number, about = number_of(part, rows)
    theirs = []
    with quiet_and_seeded(case.seed):
        for row, one in zip(rows, about, strict=True):
            explain = shap.explainers.Permutation(_about(number, one), partial(_mask, reference), seed=case.seed)
            calls = PERMUTATIONS * (2 * len(row) + 1)
            theirs.append(explain(row[None], max_evals=calls, silent=True).values[0])
    tried = (
        f"contributions of {len(rows)} rows beside those of SHAP {shap.__version__} by permutations ({PERMUTATIONS} "
        f"orders), both against the same {len(reference)} reference rows"
    )
    return np.asarray(ours.values), np.array(theirs), tried


def _mask(reference: Array, is_kept: Flags, row: Array) -> Array:
    """All reference rows with some values of a row: a SHAP masker; its own takes seconds to compile itself."""
    return np.where(is_kept, row, reference)


def once(case: Case) -> Callable[[], Truth]:
    """The truth of a case, found when it is first asked for."""
    return cache(lambda: find_truth(case))
