"""What is run, and how much of it: the paper's CID with its variants, the recommended setting, and other methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid import CID, Explainer, Explanation, Perturbations
from xcid._check import as_int
from xcid.cid.generators.search import Generator
from xcid.cid.method import Crossing
from xcid.cid.per_feature import Score
from xcid.densities import Kernel
from xcid.errors import InvalidParameter
from xcid.generators import Dice, Random
from xcid.records import Array, Flags, Scores
from xcid.scores import PerFeature
from xcid_lab.baselines import Chance, DiceImportance, Lime, Shap
from xcid_lab.subjects import Subject

Explain: TypeAlias = Callable[..., Explanation]
"""``explain(rows, seed=0)``."""
Make: TypeAlias = Callable[[Subject, int], Explain]
"""From a subject and m, the counterfactuals of each kind."""

BANDWIDTHS: dict[str, str | float] = {"silverman": "silverman", "one": 1.0}
OWN_SAMPLES = {"epanechnikov": 1_000, "exponential": 2_000}  # first seeds, where each kernel has samples of its own
SUBJECTS = {"diabetes": "logistic", "heart": "forest"}
MODEL_SEED = 42
LEAST = {"rows": 2, "repeats": 1, "first_row_repeats": 2, "dice_genetic_rows": 0, "m": 2, "k": 1}


@dataclass(frozen=True, slots=True)
class Settings:
    """Rows and repeats of the experiments; the paper's by default."""

    rows: int | None = None  # of each test set, from the first on; None for all of them
    repeats: int = 10  # runs of the methods that draw counterfactuals; their scores are averaged
    first_row_repeats: int = 100  # runs of the first test entry, whose distribution Figure 2 shows
    dice_genetic_rows: int = 20  # for dice-ml's own genetic method, which takes seconds a row; 0 leaves it out
    m: int = 50  # counterfactuals of each kind
    k: int = 4  # features of a top set

    def __post_init__(self) -> None:
        for name, bound in LEAST.items():
            if getattr(self, name) is not None:
                as_int(getattr(self, name), name, at_least=bound)
        if self.dice_genetic_rows == 1:
            raise InvalidParameter("dice_genetic_rows must be 0 or at least 2: one row has no interval")

    @classmethod
    def full(cls) -> Settings:
        """All test rows and the paper's repeats; some twenty minutes, most of it in dice-ml."""
        return cls()

    @classmethod
    def quick(cls) -> Settings:
        """A few rows and repeats: all pages in about a minute, with wide intervals."""
        return cls(rows=12, repeats=2, first_row_repeats=10, dice_genetic_rows=2)


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
        return Scores(values, values)


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
    return lambda subject, m: CID(subject.model, subject.train, m=m, **changes)


def _sampled(generator: Callable[[int], Generator], score: Score) -> Make:
    """The paper's outcome with another generator or score."""
    return lambda subject, m: Explainer(
        subject.model, subject.train, generator=generator(m), score=score, outcome=Crossing()
    )


def _without_m(method: Callable[..., Explain], **settings: Any) -> Make:
    return lambda subject, m: method(subject.model, subject.train, **settings)


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
        *(  # the other kernels, on the samples of the Gaussian one and on samples of their own
            Method(
                f"{kernel}-{width}{suffix}",
                f"{kernel}, {width}",
                _paper(density=Kernel(kernel, bandwidth=bandwidth)),
                first_seed=seed,
            )
            for kernel, own_seed in OWN_SAMPLES.items()
            for width, bandwidth in BANDWIDTHS.items()
            for suffix, seed in (("", 0), ("-own", own_seed))
        ),
        Method("genetic", "genetic", _paper(generator="genetic")),
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
