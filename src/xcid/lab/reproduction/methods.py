"""What explains: the paper's CID with its variants, the recommended setting, and the other methods."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid import Explainer, Explanation, Perturbations
from xcid.baselines import Chance, DiceImportance, Lime, Shap
from xcid.densities import Kernel
from xcid.generators import Dice, Generator, Genetic, Random
from xcid.lab.reproduction.settings import Settings
from xcid.lab.subjects import Subject
from xcid.outcomes import Flip
from xcid.records import Array, Flags
from xcid.scores import PerFeature, Score, Scores

Explain: TypeAlias = Callable[..., Explanation]
"""``explain(rows, seed=0)``."""
Make: TypeAlias = Callable[[Subject, int], Explain]
"""From a subject and m, the counterfactuals of each kind."""

BANDWIDTHS: dict[str, str | float] = {"silverman": "silverman", "one": 1.0}
OWN_SAMPLES = {"epanechnikov": 1_000, "exponential": 2_000}  # first seeds, where each kernel has samples of its own


def once(settings: Settings) -> int:
    """Runs of a method that gives the same answer again, or nearly so."""
    return 1


class Method(NamedTuple):
    """One way to score features: how many runs and rows the settings want, and the seed of the first run."""

    key: str
    title: str
    make: Make
    runs: Callable[[Settings], int] = attrgetter("repeats")
    rows: Callable[[Settings], int | None] = attrgetter("rows")
    first_seed: int = 0


class ConstantsScoreZero:
    """The paper's score, but 0 for a feature that is constant in C+ or in C-.

    By its definition d1 of one value against a spread of values is 1: they share no density. Features that no
    counterfactual changes then come first. The paper is silent on it, and skipping them is the other way to read it.
    """

    density = Kernel()  # for the evidence

    def __call__(self, cloud: Perturbations) -> Scores:
        """Score every feature of every row."""
        constant = _constant(cloud.samples, cloud.positive) | _constant(cloud.samples, cloud.negative)
        values = np.where(constant, 0.0, PerFeature(self.density)(cloud).values)
        return Scores(values, values, np.zeros_like(values))


def _constant(samples: Array, weights: Array) -> Flags:
    """(n, d) whether all of the (n, s, d) samples with weight in (n, s) are equal.

    Examples
    --------
    >>> _constant(np.array([[[1.0, 2.0], [1.0, 3.0], [9.0, 9.0]]]), np.array([[1.0, 1.0, 0.0]])).tolist()
    [[True, False]]
    """
    there = weights[..., None] > 0
    high = np.where(there, samples, -np.inf).max(axis=1)
    low = np.where(there, samples, np.inf).min(axis=1)
    return high <= low


def _paper(**changes: Any) -> Make:
    return lambda subject, m: Explainer.paper(subject.model, subject.train, m=m, **changes)


def _sampled(generator: Callable[[int], Generator], score: Score) -> Make:
    """The paper's outcome with another generator or score."""
    return lambda subject, m: Explainer(
        subject.model, subject.train, generator=generator(m), score=score, outcome=Flip()
    )


def _without_m(method: Callable[..., Explain], **settings: Any) -> Make:
    return lambda subject, m: method(subject.model, subject.train, **settings)


def _kernels() -> list[Method]:
    """Both other kernels by two bandwidths, on the samples of the Gaussian one and on samples of their own."""
    return [
        Method(
            f"{kernel}-{width}{suffix}",
            f"{kernel}, {width}",
            _paper(density=Kernel(kernel, bandwidth=bandwidth)),
            first_seed=seed,
        )
        for kernel, own_seed in OWN_SAMPLES.items()
        for width, bandwidth in BANDWIDTHS.items()
        for suffix, seed in (("", 0), ("-own", own_seed))
    ]


METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Method("cid", "CID", _paper()),
        Method("cid-again", "CID, other seeds", _paper(), first_seed=3_000),
        Method("cid-zero", "CID, constants 0", _sampled(lambda m: Random(m=m), ConstantsScoreZero())),
        Method("recommended", "recommended", _without_m(Explainer)),
        Method("shap", "SHAP", _without_m(Shap), once),
        Method("lime", "LIME", _without_m(Lime, discretizer="quartile"), once),  # LIME's own default
        Method("chance", "chance", _without_m(Chance)),
        *_kernels(),
        Method("genetic", "genetic", _sampled(lambda m: Genetic(m=m, population=max(75, m)), PerFeature())),
        Method("dice", "DiCE", lambda subject, m: DiceImportance(subject.model, subject.train, generator=Dice(m=m))),
        Method(
            "dice-genetic",
            "genetic (dice-ml)",
            _sampled(lambda m: Dice("genetic", m=m), PerFeature()),
            once,
            attrgetter("dice_genetic_rows"),
        ),
    )
}
