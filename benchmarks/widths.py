"""Why limits of sampled contributions are wide: variances that are told beside those over seeds, part by part.

A contribution is (alone + 4 half + rest) / 6, by Simpson's rule; then what the sum lacks is divided. For each part
stands the mean of the variance that is told of it, over its variance over seeds: 1 is right, more makes limits wide.
That of contributions is told by the width of their limits, in units of a normal distribution.

Run: python benchmarks/widths.py [--rows 8] [--seeds 24]
"""

from __future__ import annotations

import argparse
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from calibration import ALL
from known import Case, Wanted, cases

import xcid
from xcid.contributions import effects, sampled
from xcid.contributions.sources import of_computation
from xcid.records import fields

CELLS = [
    Wanted("diabetes", "mlp", 600),
    Wanted("diabetes", "boosting", 600),
    Wanted("heart", "forest", 240, "log_odds"),
    Wanted("wine", "mlp", ALL),
]
PARTS = ("half", "alone", "rest", "whole")


def parts_of(plan: effects.EffectRegression, responses: Any) -> dict[str, tuple[Any, Any]]:
    """(n, f) each part of the effects as it is counted, and the variance that is told of it."""
    found, pairs = effects.measure_effects(plan, responses), len(plan.columns)
    differences = responses[:, :pairs] - responses[:, pairs : 2 * pairs]
    coefficients = differences @ plan.solution
    residuals = (differences - coefficients @ plan.columns.T) * plan.inflation
    half, shape = differences @ plan.influence, (len(responses), -1, plan.influence.shape[1])
    own, more = responses[:, 2 * pairs], responses[:, 2 * pairs + 1 :]
    n_alone, n_rest = len(plan.alone), len(plan.rest)
    alone, rest, taken = np.split(more, np.cumsum([n_alone * shape[2], n_rest * shape[2]]), axis=1)
    first = own[:, None, None] - alone.reshape(shape) + (coefficients[:, None] * plan.alone) @ plan.bends
    last = rest.reshape(shape) - taken[:, :, None] + (coefficients[:, None] * plan.rest) @ plan.bends
    bent, apart = np.diff(first, 2, axis=1), np.diff(last, axis=1)
    return {
        "half": (4 * half / 6, effects.over_blocks(residuals, 4 * plan.influence / 6, plan.size)[0]),
        "alone": (first.mean(1) / 6, (bent**2).sum(1) / (6 * (n_alone - 2) * n_alone) / 36),
        "rest": (last.mean(1) / 6, (apart**2).sum(1) / (2 * (n_rest - 1) * n_rest) / 36),
        "whole": (found.effects, found.variance),
    }


def told_over_real(case: Case, seeds: int) -> list[float]:
    """Told variance over that over seeds: of each part and of the whole, and of contributions; then shares of parts."""
    kept = list[dict[str, tuple[Any, Any]]]()

    def measure(cloud: Any, numbers: Any) -> Any:
        plan = sampled.share_regression(cloud.plan, cloud.discrete)
        kept.append(parts_of(plan, numbers))
        return effects.measure_effects(plan, numbers)

    asked = xcid.Explainer(case.ask, case.train, scale=case.scale).without_importance()
    how = asked.made.contributing
    assert how is not None
    asked = asked.replace(contributing=replace(how, measure=measure))
    told, real = list[Any](), list[Any]()
    for row in case.rows:
        kept.clear()
        runs = [asked(row[None], seed=seed) for seed in range(seeds)]
        by_part = {name: [np.array([one[name][at][0] for one in kept]) for at in (0, 1)] for name in PARTS}
        errors = np.array([run.values[0] for run in runs]).var(axis=0, ddof=1)
        estimates = [one for run in runs if (one := fields.estimate(run, "values")) is not None]
        spread = np.array([of_computation(one)[0] for one in estimates])
        told.append([np.mean(by_part[name][1], axis=0).sum() for name in PARTS] + [np.mean(spread**2, axis=0).sum()])
        real.append([by_part[name][0].var(axis=0, ddof=1).sum() for name in PARTS] + [errors.sum()])
    told_mean, real_mean = np.sum(told, axis=0), np.sum(real, axis=0)
    return [*(told_mean / real_mean), *(real_mean[:3] / real_mean[:3].sum())]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=8)
    parser.add_argument("--seeds", type=int, default=24)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sampled.unit_of = lambda numbers: np.ones((len(numbers), 1))  # the same for all seeds
    print(f"| table | model | {' | '.join(PARTS)} | contributions | share of {', '.join(PARTS[:3])} |")
    print("|---" * (len(PARTS) + 4) + "|")
    for case in cases(CELLS, None, options.rows):
        *ratios, half, alone, rest = told_over_real(case, options.seeds)
        shown = " | ".join(f"{one:.2f}" for one in ratios)
        print(f"| {case.name} | {shown} | {half:.0%}, {alone:.0%}, {rest:.0%} |", flush=True)


if __name__ == "__main__":
    main()
