"""The figures that the paper prints, and how close ours come. Only the pages read them: ours do not depend on them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from itertools import permutations
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid.records import Array
from xcid_lab.metrics import Interval
from xcid_lab.reproduction.measure import Results
from xcid_lab.reproduction.methods import SUBJECTS
from xcid_lab.reproduction.ours import Cells, Ours
from xcid_lab.subjects import Subject

METRICS = ("comprehensiveness", "sufficiency")
MAIN = ("cid", "dice", "shap", "lime")
APPENDIX = ("epanechnikov-silverman", "exponential-silverman", "genetic")
Pairs: TypeAlias = Sequence[tuple[Interval, Interval]]
"""Figures of ours, each with the published one."""
NAMES = {"gaussian": "cid", "CID": "cid", "DiCE": "dice", "SHAP": "shap", "LIME": "lime"}


class Published(NamedTuple):
    """The figures of one data set, under the same names as ours."""

    agreement: Cells  # by pair of methods, "cid, dice"
    comprehensiveness: Cells  # by method, kernel or generator
    sufficiency: Cells
    kernels: Cells  # agreement, by pair of kernels
    genetic: Interval  # agreement of the genetic generator with the random one


def read() -> str:
    """The file as it is."""
    return (files("xcid_lab.reproduction") / "published.json").read_text(encoding="utf-8")


def load() -> list[Published]:
    """In the order of the data sets."""
    figures = json.loads(read())
    return [_published(figures, subject) for subject in SUBJECTS]


def _published(figures: Mapping[str, Any], subject: str) -> Published:
    comprehensiveness, sufficiency = (
        {
            NAMES.get(name, name): Interval(*pair)
            for name, pair in (figures["settings_faithfulness"][subject][metric] | figures[metric][subject]).items()
        }
        for metric in METRICS
    )
    agreement, kernels = figures["feature_agreement_top4"], figures["kernel_agreement_top4"]
    return Published(
        agreement=_pairs([NAMES[name] for name in agreement["methods"]], agreement[subject]),
        comprehensiveness=comprehensiveness,
        sufficiency=sufficiency,
        kernels=_pairs(kernels["kernels"], kernels[subject]),
        genetic=Interval(*figures["genetic_agreement_with_standard_top4"][subject]),
    )


def _pairs(names: list[str], matrix: Mapping[str, Any]) -> dict[str, Interval]:
    """Every pair under both orders of its names, but for the diagonal."""
    return {
        f"{a}, {b}": Interval(matrix["mean"][i][j], matrix["half_width"][i][j])
        for (i, a), (j, b) in permutations(enumerate(names), 2)
    }


class Case(NamedTuple):
    """A data set with all that is known of it."""

    subject: Subject
    results: Results
    first_row: Mapping[str, Array]  # (r, d) scores of the first test entry in many runs, by method
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


def width_ratio(pairs: Pairs) -> float:
    """By what factor the intervals differ from the published ones, up or down, in the geometric mean."""
    ratios = [max(ours.margin, 1e-12) / published.margin for ours, published in pairs]
    return float(np.exp(np.mean(np.abs(np.log(ratios)))))


def shared(ours: Cells, published: Cells) -> Pairs:
    """The figures that both have."""
    return [(ours[name], published[name]) for name in ours if name in published]


def faithful(case: Case, reading: str, methods: Sequence[str]) -> Pairs:
    """Both metrics of some methods under one reading."""
    return [
        (getattr(case.ours, metric)[reading][key], getattr(case.published, metric)[key.partition("-")[0]])
        for metric in METRICS
        for key in methods
    ]


def of_kernels(case: Case, reading: str) -> Pairs:
    """The agreement of kernels under one reading."""
    return shared(case.ours.kernels[reading], case.published.kernels)
