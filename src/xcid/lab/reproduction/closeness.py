"""How close our figures come to the published ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from xcid.lab.reproduction.measure import Results
from xcid.lab.reproduction.ours import Cells, Ours
from xcid.lab.reproduction.published import Published
from xcid.lab.reproduction.readings import Faithfulness, KernelAgreement
from xcid.lab.reproduction.subjects import Subject
from xcid.metrics import Interval

METRICS = ("comprehensiveness", "sufficiency")
MAIN = ("cid", "dice", "shap", "lime")
APPENDIX = ("epanechnikov-silverman", "exponential-silverman", "genetic")
Pairs: TypeAlias = Sequence[tuple[Interval, Interval]]
"""Figures of ours, each with the published one."""


class Case(NamedTuple):
    """A data set with all that is known of it."""

    subject: Subject
    results: Results
    ours: Ours
    published: Published

    @property
    def title(self) -> str:
        """For readers."""
        return self.subject.title


def apart(ours: Interval, published: Interval) -> float:
    """Ours less the published figure, in units of both intervals together; within 1 they agree.

    Examples
    --------
    >>> apart(Interval(0.5, 0.03), Interval(0.6, 0.04))
    -2.0
    """
    return round((ours.mean - published.mean) / max(float(np.hypot(ours.margin, published.margin)), 1e-12), 10)


def agree(pairs: Pairs) -> list[bool]:
    """Which published figures lie within the intervals."""
    return [abs(apart(*pair)) <= 1 for pair in pairs]


def gap(pairs: Pairs) -> float:
    """Mean absolute distance."""
    return float(np.mean([abs(ours.mean - published.mean) for ours, published in pairs]))


def width_factor(pairs: Pairs) -> float:
    """By what factor the intervals differ from the published ones, up or down, in the geometric mean."""
    ratios = [max(ours.margin, 1e-12) / published.margin for ours, published in pairs]
    return float(np.exp(np.mean(np.abs(np.log(ratios)))))


def shared(ours: Cells, published: Cells) -> Pairs:
    """The figures that both have."""
    return [(ours[name], published[name]) for name in ours if name in published]


def faithful(case: Case, reading: Faithfulness, methods: Sequence[str]) -> Pairs:
    """Both metrics of some methods under one reading."""
    return [
        (getattr(case.ours, metric)[reading.title][key], getattr(case.published, metric)[key.partition("-")[0]])
        for metric in METRICS
        for key in methods
    ]


def of_kernels(case: Case, reading: KernelAgreement) -> Pairs:
    """The agreement of kernels under one reading."""
    return shared(case.ours.kernels[reading.title], case.published.kernels)
