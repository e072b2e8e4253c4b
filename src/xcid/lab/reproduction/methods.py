"""What explains: the paper's CID with its variants, the recommended setting, and the other methods."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, NamedTuple, TypeAlias

from xcid import Explainer, Explanation
from xcid.baselines import Chance, DiceImportance, Lime, Shap
from xcid.densities import Kernel
from xcid.generators import Dice, Generator, Genetic, Random
from xcid.lab.reproduction.constants import ConstantsScoreZero
from xcid.lab.reproduction.settings import Settings
from xcid.lab.reproduction.subjects import Subject
from xcid.outcomes import Flip
from xcid.scores import PerFeature, Score

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
