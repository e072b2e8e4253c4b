"""Sampled contributions against estimators of SHAP, shapiq and LightSHAP at equal evaluations, where truth is known.

All get the same function, from rows to the number that adds up, and may ask it as often for each row. Estimators that
ask about coalitions divide their evaluations between these and the reference rows that each is averaged over: the least
error of five divisions is shown, chosen for each cell in hindsight, as no user could; for three of shapiq's, other
reference rows for every coalition are a sixth. SHAP's sampling takes all reference rows, a random one at a time, as
xcid does; what both ask about these once is not counted. Errors are root mean squares, as shares of the truth's.

Run: python benchmarks/budgets.py [--tables digits] [--rows 5] [--seeds 3]
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from typing import TypeAlias

import numpy as np
from blind import CHOICES
from cells import Array
from known import IGNORED, Case, Wanted, cases
from peers import KINDS, Estimate, Game, Kind, Output, Renewed

import xcid
from xcid._require import quiet_and_seeded

CELLS = [
    *(Wanted("diabetes", kind, 600) for kind in ("forest", "boosting", "mlp")),
    *(Wanted("heart", kind, 240) for kind in ("forest", "boosting", "mlp")),
    *(Wanted("progression", kind, 10**6) for kind in ("forest", "mlp")),
    *(Wanted("breast_cancer", kind, 10**6) for kind in ("forest", "boosting", "mlp")),
    *(Wanted("drawn_60", kind, 10**6) for kind in ("boosting", "mlp")),
    Wanted("digits", "forest", 10**6),
]
RENEWED = ("shapiq KernelSHAP", "shapiq LeverageSHAP", "shapiq RegressionMSR")
Explain: TypeAlias = Callable[[Output, Array, Array, int, int], Array]  # a number, row, reference rows, budget, seed


def by_xcid(case: Case, budget: int, seed: int) -> Array:
    """Ours: all rows at once, by what is asked about them."""
    generator = xcid.generators.Balanced(budget - 1)  # the row itself is asked about, too
    explainer = xcid.Explainer(case.ask, case.train, scale=case.scale, generator=generator)
    return np.asarray(explainer.contributions(case.rows, seed=seed).values)


def divided(kind: Kind, share: float) -> Explain:
    """Coalitions, averaged over the same reference rows."""

    def explain(number: Output, row: Array, reference: Array, budget: int, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        coalitions, count = kind.divided(budget, len(row), share)
        donors = reference[rng.choice(len(reference), min(count, len(reference)), replace=False)]
        return kind.estimate(Game(number, row, donors), coalitions, int(rng.integers(2**31)))

    return explain


def renewed(estimate: Estimate) -> Explain:
    """Coalitions, with another reference row for each."""

    def explain(number: Output, row: Array, reference: Array, budget: int, seed: int) -> Array:
        rng = np.random.default_rng(seed)
        count = max(1, round(budget / 2 ** len(row)))
        game = Renewed(number, row, reference, count, rng)
        return estimate(game, min(budget // count, 2 ** len(row)), int(rng.integers(2**31)))

    return explain


def sampling(number: Output, row: Array, reference: Array, budget: int, seed: int) -> Array:
    """SHAP's SamplingExplainer: a sample takes two evaluations."""
    import shap

    return shap.SamplingExplainer(number, reference).shap_values(row, nsamples=budget // 2, silent=True).ravel()


def methods() -> dict[str, list[Explain]]:
    """Peers that are installed, with the forms of which the best counts."""
    found: dict[str, list[Explain]] = {"SHAP sampling": [sampling]}
    for name, kind in KINDS.items():
        if all(map(find_spec, kind.needs)):
            found[name] = [divided(kind, share) for share in CHOICES]
            found[name] += [renewed(kind.estimate)] if name in RENEWED else []
    return found


def by_peer(explain: Explain, case: Case, budget: int, seed: int) -> Array:
    """One of the others, row by row: each row is about an output of its own."""
    found = []
    for at, (row, about) in enumerate(zip(case.rows, case.about, strict=True)):
        with quiet_and_seeded(1_000 * seed + at):
            found.append(explain(partial(_number, case, about), row, case.train, budget, 1_000 * seed + at))
    return np.array(found)


def _number(case: Case, about: int, some: Array) -> Array:
    return case.number(np.asarray(some, dtype=float), about)


def error(case: Case, explain: Callable[[Case, int, int], Array], budget: int, seeds: int) -> float:
    """Root mean square of all errors, as a share of the truth's."""
    square = np.mean([np.mean((explain(case, budget, seed) - case.truth) ** 2) for seed in range(seeds)])
    return float(np.sqrt(square / np.mean(case.truth[:, :-IGNORED] ** 2)))


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", nargs="*", help="some of them")
    parser.add_argument("--rows", type=int, default=5)
    parser.add_argument("--seeds", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    peers = methods()
    print("| cell | columns, reference rows | evaluations | xcid |", " | ".join(peers), "|")
    print("|---" * (4 + len(peers)) + "|")
    for case in cases([one for one in CELLS if not options.tables or one.table in options.tables], None, options.rows):
        d = case.train.shape[1]
        budget = 1_000 if d <= 20 else 3_000
        errors = [error(case, by_xcid, budget, options.seeds)]
        for forms in peers.values():
            errors.append(min(error(case, partial(by_peer, form), budget, options.seeds) for form in forms))
        size = f"{d}, {len(case.train):,} | {budget:,}"
        cells = " | ".join(f"{one:.3f}" for one in errors)
        print(f"| {case.name.replace(' | ', ', ')} | {size} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
