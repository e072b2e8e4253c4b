"""What explains: the paper's CID with its variants, the recommended setting, and the other methods."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from xcid import Explainer, Explanation
from xcid.baselines import Chance, DiceImportance, Lime, Shap
from xcid.densities import Kernel
from xcid.generators import Dice, Generator, Genetic, Random
from xcid.lab.reproduction.constants import ConstantsScoreZero
from xcid.lab.reproduction.settings import Settings
from xcid.lab.reproduction.subjects import Subject
from xcid.outcomes import Flip
from xcid.scores import PerFeature

Explain: TypeAlias = Callable[..., Explanation]
"""``explain(rows, seed=0)``."""

OWN_SAMPLES = {"epanechnikov": 1_000, "exponential": 2_000}  # first seeds, where each kernel has samples of its own


def repeated(settings: Settings) -> int:
    """Runs of a method that draws counterfactuals."""
    return settings.repeats


def once(settings: Settings) -> int:
    """Runs of a method that gives the same answer again, or nearly so."""
    return 1


def every_row(settings: Settings) -> int | None:
    """Rows of a method that can afford them all."""
    return settings.rows


def few_rows(settings: Settings) -> int | None:
    """Rows of dice-ml's genetic method."""
    return settings.dice_genetic_rows


@dataclass(frozen=True, slots=True, eq=False)
class Method:
    """One way to score features.

    Attributes
    ----------
    key, title : str
    make : callable
        From a subject and the settings to what explains its rows.
    runs : callable
        How many runs the settings want.
    rows : callable
        How many rows; None for all.
    first_seed : int
        The runs have this and the following seeds.
    """

    key: str
    title: str
    make: Callable[[Subject, Settings], Explain]
    runs: Callable[[Settings], int] = repeated
    rows: Callable[[Settings], int | None] = every_row
    first_seed: int = 0


def _paper(subject: Subject, settings: Settings) -> Explain:
    return Explainer.paper(subject.model, subject.train, m=settings.m)


def _paper_without_constants(subject: Subject, settings: Settings) -> Explain:
    return Explainer(
        subject.model,
        subject.train,
        generator=Random(m=settings.m),
        score=ConstantsScoreZero(),
        outcome=Flip(),
    )


def _recommended(subject: Subject, settings: Settings) -> Explain:
    return Explainer(subject.model, subject.train)


def _dice(subject: Subject, settings: Settings) -> Explain:
    return DiceImportance(subject.model, subject.train, generator=Dice(m=settings.m))


def _shap(subject: Subject, settings: Settings) -> Explain:
    return Shap(subject.model, subject.train)


def _lime(subject: Subject, settings: Settings) -> Explain:
    return Lime(subject.model, subject.train, discretizer="quartile")  # LIME's own default


def _chance(subject: Subject, settings: Settings) -> Explain:
    return Chance(subject.model, subject.train)


def _kernel(kernel: str, bandwidth: str | float) -> Callable[[Subject, Settings], Explain]:
    def make(subject: Subject, settings: Settings) -> Explain:
        return Explainer.paper(subject.model, subject.train, m=settings.m, density=Kernel(kernel, bandwidth=bandwidth))

    return make


def _searched(generator: Callable[[int], Generator]) -> Callable[[Subject, Settings], Explain]:
    """The paper's score on the samples of another generator."""

    def make(subject: Subject, settings: Settings) -> Explain:
        return Explainer(
            subject.model, subject.train, generator=generator(settings.m), score=PerFeature(), outcome=Flip()
        )

    return make


def _kernels() -> list[Method]:
    """Both other kernels by two bandwidths, on the samples of the Gaussian one and on samples of their own."""
    bandwidths: dict[str, str | float] = {"silverman": "silverman", "one": 1.0}
    return [
        Method(f"{kernel}-{width}{suffix}", f"{kernel}, {width}", _kernel(kernel, value), first_seed=seed)
        for kernel, own_seed in OWN_SAMPLES.items()
        for width, value in bandwidths.items()
        for suffix, seed in (("", 0), ("-own", own_seed))
    ]


METHODS: dict[str, Method] = {
    method.key: method
    for method in (
        Method("cid", "CID", _paper),
        Method("cid-again", "CID, other seeds", _paper, first_seed=3_000),
        Method("cid-zero", "CID, constants 0", _paper_without_constants),
        Method("recommended", "recommended", _recommended),
        Method("shap", "SHAP", _shap, runs=once),
        Method("lime", "LIME", _lime, runs=once),
        Method("chance", "chance", _chance),
        *_kernels(),
        Method("genetic", "genetic", _searched(lambda m: Genetic(m=m, population=max(75, m)))),
        Method("dice", "DiCE", _dice),
        Method(
            "dice-genetic",
            "genetic (dice-ml)",
            _searched(lambda m: Dice("genetic", m=m)),
            runs=once,
            rows=few_rows,
        ),
    )
}
