"""What the paper may mean: the same runs, counted in several ways, each known by its title."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import combinations

import numpy as np

from xcid.lab.reproduction.measure import Measured, Results
from xcid.metrics import Interval, feature_agreement, interval, rank_agreement
from xcid.records import Array

REDUCTIONS: dict[str, Callable[..., Array]] = {"mean": np.mean, "sum": np.sum}  # the mean is what the paper prints
RANKINGS: dict[str, Callable[[Measured], tuple[Array, Array]]] = {  # outputs with the first features masked, and kept
    "by magnitude": lambda one: (one.masked, one.kept),
    "by signed score": lambda one: (one.masked_signed, one.kept_signed),
    # masking the best l features is keeping the worst d - l
    "by magnitude, smallest first": lambda one: (one.kept[:, ::-1], one.masked[:, ::-1]),
    "by signed score, lowest first": lambda one: (one.kept_signed[:, ::-1], one.masked_signed[:, ::-1]),
}
SIDES: dict[str, Callable[[Measured], Array]] = {  # +1, or -1 where the output is that of the other class
    "predicted class": lambda one: np.ones(len(one.full)),  # as the paper has it
    "class 1": lambda one: np.where(one.predicted == 1, 1.0, -1.0),  # whatever is predicted
}


def faithfulness(reduction: str, ranking: str, side: str, measured: Measured) -> tuple[Array, Array]:
    """(n,) comprehensiveness and (n,) sufficiency."""
    comprehensiveness, sufficiency = (
        SIDES[side](measured) * REDUCTIONS[reduction](measured.full[:, None] - outputs, axis=1)
        for outputs in RANKINGS[ranking](measured)
    )
    return comprehensiveness, sufficiency


FAITHFULNESS = {
    f"{reduction}, {ranking}, {side}": partial(faithfulness, reduction, ranking, side)
    for side in SIDES
    for ranking in RANKINGS
    for reduction in REDUCTIONS
}
PRINTED, PLAIN_SUM, SIGNED, *_ = FAITHFULNESS

COUNTS = {"sets": feature_agreement, "ranks": rank_agreement}
SAMPLED = {  # methods of the two other kernels: by bandwidth, and whether they have samples of their own
    "Silverman, same samples": "silverman",
    "Silverman, own samples": "silverman-own",
    "bandwidth 1, same samples": "one",
    "bandwidth 1, own samples": "one-own",
}
RUNS: dict[str, Callable[[Measured], Array]] = {
    "mean of runs": lambda one: one.scores,  # as in the main text
    "one run": lambda one: one.runs[0],  # the appendix mentions no repeats
}


def kernel_agreement(count: str, sampled: str, runs: str, results: Results, k: int) -> dict[str, Interval]:
    """Agreement of each pair of kernels."""
    keys = {"gaussian": "cid"} | {name: f"{name}-{SAMPLED[sampled]}" for name in ("epanechnikov", "exponential")}
    scores = {name: RUNS[runs](results[key]) for name, key in keys.items()}
    return {f"{a}, {b}": interval(COUNTS[count](scores[a], scores[b], k)) for a, b in combinations(scores, 2)}


KERNELS = {
    f"{count}, {sampled}, {runs}": partial(kernel_agreement, count, sampled, runs)
    for count in COUNTS
    for sampled in SAMPLED
    for runs in RUNS
}
AS_DESCRIBED, *_ = KERNELS
