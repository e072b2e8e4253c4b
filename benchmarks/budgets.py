"""Sampled contributions against SHAP's estimators at equal evaluations, where the truth is known.

All get the same function, from rows to the number that adds up, and the same number of evaluations. SHAP's permutations
and kernel take the mean over reference rows for each coalition, as many as the budget allows for one permutation. Its
sampling takes all reference rows, a random one at a time, as xcid does. Errors are root mean squares, as shares of the
truth's.

Run: python benchmarks/budgets.py
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import shap
from known import IGNORED, Case, cases

import xcid

CELLS = [
    *(("diabetes", kind, 600) for kind in ("forest", "boosting", "mlp")),
    *(("heart", kind, 240) for kind in ("forest", "boosting", "mlp")),
    *(("progression", kind, 10**6) for kind in ("forest", "mlp")),
]
N_ROWS, SEEDS = 5, 3


def by_xcid(case: Case, budget: int, seed: int) -> Any:
    """Ours."""
    generator = xcid.generators.Balanced(budget)
    return (
        xcid.Explainer(case.ask, case.train, scale=case.scale, generator=generator)
        .contributions(case.rows, seed=seed)
        .values
    )


def by_shap(make: Callable[[Any, Any, int], Callable[[Any], Any]]) -> Callable[[Case, int, int], Any]:
    """One of SHAP's, row by row: each row is about an output of its own."""

    def explain(case: Case, budget: int, seed: int) -> Any:
        random, found = np.random.default_rng(seed), []
        np.random.seed(seed)  # noqa: NPY002
        for row, about in zip(case.rows, case.about, strict=True):

            def number(some: Any, about: Any = about) -> Any:
                return case.number(np.asarray(some, dtype=float), about)

            found.append(make(number, random.permutation(case.train), budget)(row[None]))
        return np.array(found).reshape(case.truth.shape)

    return explain


def permutation(number: Any, reference: Any, budget: int) -> Callable[[Any], Any]:
    """One permutation and its reverse."""
    calls = 2 * reference.shape[1] + 1
    masker = shap.maskers.Independent(reference[: max(1, budget // calls)], max_samples=10**6)
    explainer = shap.PermutationExplainer(number, masker)
    return lambda rows: explainer(rows, max_evals=calls, silent=True).values


def kernel(number: Any, reference: Any, budget: int) -> Callable[[Any], Any]:
    """Coalitions by their weights."""
    calls = 2 * reference.shape[1] + 1
    explainer = shap.KernelExplainer(number, reference[: max(1, budget // calls)])
    return lambda rows: explainer.shap_values(rows, nsamples=calls, silent=True, l1_reg=False)


def sampling(number: Any, reference: Any, budget: int) -> Callable[[Any], Any]:
    """Single orders and reference rows."""
    explainer = shap.SamplingExplainer(number, reference)
    return lambda rows: explainer.shap_values(rows, nsamples=budget, silent=True)


METHODS: dict[str, Callable[[Case, int, int], Any]] = {
    "xcid": by_xcid,
    "permutation": by_shap(permutation),
    "kernel": by_shap(kernel),
    "sampling": by_shap(sampling),
}


def main() -> None:
    """Print a table."""
    warnings.simplefilter("ignore")
    print("| cell | columns, reference rows | evaluations |", " | ".join(METHODS), "|")
    print("|---" * (3 + len(METHODS)) + "|")
    for case in cases(CELLS, None, N_ROWS):
        d = case.train.shape[1]
        budget = 1_000 if d <= 20 else 3_000
        errors = [
            np.sqrt(np.mean([np.mean((explain(case, budget, seed) - case.truth) ** 2) for seed in range(SEEDS)]))
            for explain in METHODS.values()
        ]
        cells = [f"{error / np.sqrt(np.mean(case.truth[:, :-IGNORED] ** 2)):.3f}" for error in errors]
        print(
            f"| {case.name.replace(' | ', ', ')} | {d}, {len(case.train):,} | {budget:,} |",
            " | ".join(cells),
            "|",
            flush=True,
        )


if __name__ == "__main__":
    main()
