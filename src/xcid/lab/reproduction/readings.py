"""What the paper's words may mean: the same runs, counted in several ways."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from xcid.lab.reproduction.measure import Measured, Results
from xcid.metrics import Interval, feature_agreement, interval, rank_agreement
from xcid.records import Array


class Faithfulness(NamedTuple):
    """One way to comprehensiveness and sufficiency."""

    title: str
    reduce: Callable[..., Array]  # over the d + 1 stages
    ranking: Callable[[Measured], tuple[Array, Array]]  # (n, d + 1) outputs with the first features masked, and kept
    side: Callable[[Measured], Array]  # (n,) +1, or -1 where the output is that of the other class

    def __call__(self, measured: Measured) -> tuple[Array, Array]:
        """(n,) comprehensiveness and (n,) sufficiency."""
        masked, kept = (
            self.side(measured) * self.reduce(measured.full[:, None] - outputs, axis=1)
            for outputs in self.ranking(measured)
        )
        return masked, kept


class KernelAgreement(NamedTuple):
    """One way to compare kernels."""

    title: str
    agreement: Callable[..., Array]  # agreement(scores_a, scores_b, k) -> (n,)
    suffix: str  # of the two other kernels' methods: their bandwidth, and whether they have samples of their own
    scores: Callable[[Measured], Array]  # (n, d)

    def __call__(self, results: Results, k: int) -> dict[str, Interval]:
        """Agreement of each pair of kernels."""
        others = {name: results[f"{name}-{self.suffix}"] for name in ("epanechnikov", "exponential")}
        scores = {name: self.scores(found) for name, found in ({"gaussian": results["cid"]} | others).items()}
        pairs = (("gaussian", "epanechnikov"), ("gaussian", "exponential"), ("epanechnikov", "exponential"))
        return {f"{a}, {b}": interval(self.agreement(scores[a], scores[b], k)) for a, b in pairs}


REDUCTIONS: dict[str, Callable[..., Array]] = {"mean": np.mean, "sum": np.sum}  # the mean is what the paper prints
RANKINGS: dict[str, Callable[[Measured], tuple[Array, Array]]] = {
    "by magnitude": lambda one: (one.masked, one.kept),
    "by signed score": lambda one: (one.masked_signed, one.kept_signed),
    # masking the best l features is keeping the worst d - l
    "by magnitude, smallest first": lambda one: (one.kept[:, ::-1], one.masked[:, ::-1]),
    "by signed score, lowest first": lambda one: (one.kept_signed[:, ::-1], one.masked_signed[:, ::-1]),
}
SIDES: dict[str, Callable[[Measured], Array]] = {
    "predicted class": lambda one: np.ones(len(one.full)),  # as the paper has it
    "class 1": lambda one: np.where(one.predicted == 1, 1.0, -1.0),  # whatever is predicted
}
FAITHFULNESS = tuple(
    Faithfulness(f"{reduction}, {ranking}, {side}", REDUCTIONS[reduction], RANKINGS[ranking], SIDES[side])
    for side in SIDES
    for ranking in RANKINGS
    for reduction in REDUCTIONS
)
PRINTED, PLAIN_SUM, SIGNED = FAITHFULNESS[:3]

COUNTS = {"sets": feature_agreement, "ranks": rank_agreement}
SUFFIXES = {
    "Silverman, same samples": "silverman",
    "Silverman, own samples": "silverman-own",
    "bandwidth 1, same samples": "one",
    "bandwidth 1, own samples": "one-own",
}
RUNS: dict[str, Callable[[Measured], Array]] = {
    "mean of runs": lambda one: one.scores,  # as in the main text
    "one run": lambda one: one.runs[0],  # the appendix mentions no repeats
}
KERNELS = tuple(
    KernelAgreement(f"{count}, {settings}, {runs}", COUNTS[count], suffix, RUNS[runs])
    for count in COUNTS
    for settings, suffix in SUFFIXES.items()
    for runs in RUNS
)
AS_DESCRIBED = KERNELS[0]
