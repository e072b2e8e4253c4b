"""What the paper's words may mean: the same runs, counted in several ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from xcid.lab.reproduction.measure import Array, Measured, Results
from xcid.metrics import Interval, feature_agreement, interval, rank_agreement


@dataclass(frozen=True, slots=True)
class Faithfulness:
    """One way to comprehensiveness and sufficiency.

    Attributes
    ----------
    title : str
    reduce : callable
        Over the d + 1 stages: the mean is what the paper prints.
    ranking : callable
        The (n, d + 1) outputs with the best features masked, and kept.
    side : callable
        (n,) +1, or -1 where the output is that of the other class.
    """

    title: str
    reduce: Callable[..., Array]
    ranking: Callable[[Measured], tuple[Array, Array]]
    side: Callable[[Measured], Array]

    def __call__(self, measured: Measured) -> tuple[Array, Array]:
        """(n,) comprehensiveness and (n,) sufficiency."""
        masked, kept = self.ranking(measured)
        comprehensiveness, sufficiency = (
            self.side(measured) * self.reduce(measured.full[:, None] - outputs, axis=1) for outputs in (masked, kept)
        )
        return comprehensiveness, sufficiency


@dataclass(frozen=True, slots=True)
class KernelAgreement:
    """One way to compare kernels.

    Attributes
    ----------
    title : str
    agreement : callable
        ``agreement(scores_a, scores_b, k) -> (n,)``.
    width : str
        Bandwidth of the two other kernels: "silverman" or "one".
    samples : str
        "" where all kernels have the same samples, "-own" where each has its own.
    scores : callable
        From a result to (n, d) scores: the mean of the runs, or one of them.
    """

    title: str
    agreement: Callable[..., Array]
    width: str
    samples: str
    scores: Callable[[Measured], Array]

    def __call__(self, results: Results, k: int) -> dict[str, Interval]:
        """Agreement of each pair of kernels."""
        names = ("epanechnikov", "exponential")
        scores = {name: self.scores(results[f"{name}-{self.width}{self.samples}"]) for name in names}
        scores = {"gaussian": self.scores(results["cid"])} | scores
        pairs = (("gaussian", "epanechnikov"), ("gaussian", "exponential"), ("epanechnikov", "exponential"))
        return {f"{a}, {b}": interval(self.agreement(scores[a], scores[b], k)) for a, b in pairs}


def by_magnitude(measured: Measured) -> tuple[Array, Array]:
    """Largest absolute score first."""
    return measured.masked, measured.kept


def by_signed_score(measured: Measured) -> tuple[Array, Array]:
    """Highest score first, negative ones last."""
    return measured.masked_signed, measured.kept_signed


def by_magnitude_reversed(measured: Measured) -> tuple[Array, Array]:
    """Smallest absolute score first: masking the best l features is keeping the worst d - l."""
    return measured.kept[:, ::-1], measured.masked[:, ::-1]


def by_signed_score_reversed(measured: Measured) -> tuple[Array, Array]:
    """Lowest score first."""
    return measured.kept_signed[:, ::-1], measured.masked_signed[:, ::-1]


def of_predicted_class(measured: Measured) -> Array:
    """The output is the probability of the class that is predicted for the row, as the paper has it."""
    return np.ones(len(measured.full))


def of_class_1(measured: Measured) -> Array:
    """The output is the probability of class 1, whatever is predicted."""
    return np.where(measured.predicted == 1, 1.0, -1.0)


def mean_of_runs(measured: Measured) -> Array:
    """(n, d) scores as in the main text."""
    return measured.scores


def single_run(measured: Measured) -> Array:
    """(n, d) scores without the repeats that the appendix does not mention."""
    return measured.runs[0]


RANKINGS = {
    "by magnitude": by_magnitude,
    "by signed score": by_signed_score,
    "by magnitude, smallest first": by_magnitude_reversed,
    "by signed score, lowest first": by_signed_score_reversed,
}
FAITHFULNESS = tuple(
    Faithfulness(f"{reduce_words}, {ranking_words}, {side_words}", reduce, ranking, side)
    for side_words, side in (("predicted class", of_predicted_class), ("class 1", of_class_1))
    for ranking_words, ranking in RANKINGS.items()
    for reduce_words, reduce in (("mean", np.mean), ("sum", np.sum))
)
PRINTED, PLAIN_SUM, SIGNED = FAITHFULNESS[0], FAITHFULNESS[1], FAITHFULNESS[2]

KERNELS = tuple(
    KernelAgreement(f"{count_words}, {width_words}, {sample_words}, {run_words}", agreement, width, samples, scores)
    for count_words, agreement in (("sets", feature_agreement), ("ranks", rank_agreement))
    for width_words, width in (("Silverman", "silverman"), ("bandwidth 1", "one"))
    for sample_words, samples in (("same samples", ""), ("own samples", "-own"))
    for run_words, scores in (("mean of runs", mean_of_runs), ("one run", single_run))
)
