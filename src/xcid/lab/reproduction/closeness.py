"""Under which reading the published figures come closest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from xcid.lab.reproduction.ours import Cells, Ours
from xcid.lab.reproduction.pages import Table
from xcid.lab.reproduction.published import Published
from xcid.lab.reproduction.readings import FAITHFULNESS, KERNELS, PRINTED, Faithfulness
from xcid.lab.reproduction.subjects import Subject
from xcid.metrics import Interval

METRICS = ("comprehensiveness", "sufficiency")
MAIN = ("cid", "dice", "shap", "lime")
APPENDIX = ("epanechnikov-silverman", "exponential-silverman", "genetic")
TITLES = {
    "dice": "DiCE",
    "shap": "SHAP",
    "lime": "LIME",
    "cid": "CID",
    "cid-zero": "CID (constants 0)",
    "recommended": "recommended",
}


def apart(ours: Interval, published: Interval) -> float:
    """Ours less the published figure, in units of both intervals together; within 1 they agree.

    Examples
    --------
    >>> apart(Interval(0.5, 0.03), Interval(0.6, 0.04))
    -2.0
    """
    return round((ours.mean - published.mean) / max(float(np.hypot(ours.margin, published.margin)), 1e-12), 10)


def gap(ours: Cells, published: Cells) -> float:
    """Mean absolute distance of the figures that both have."""
    return float(np.mean([abs(ours[name].mean - published[name].mean) for name in ours if name in published]))


def faithful_gap(ours: Ours, published: Published, reading: Faithfulness, methods: Sequence[str]) -> float:
    """Mean absolute distance of both metrics of some methods under one reading."""
    return float(
        np.mean([gap(_cells(ours, metric, reading, methods), metric_of(published, metric)) for metric in METRICS])
    )


def width_factor(ours: Ours, published: Published, reading: Faithfulness, methods: Sequence[str]) -> float:
    """By what factor the intervals differ from the published ones, up or down, in the geometric mean."""
    ratios = [
        max(figure.margin, 1e-12) / metric_of(published, metric)[name].margin
        for metric in METRICS
        for name, figure in _cells(ours, metric, reading, methods).items()
    ]
    return float(np.exp(np.mean(np.abs(np.log(ratios)))))


def tally(subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]) -> dict[str, str]:
    """How many published figures lie within the intervals of ours, read as printed."""
    found: dict[str, list[bool]] = {}
    for subject in subjects:
        mine, theirs = ours[subject.key], published[subject.key]
        pairs: list[tuple[str, Cells, Cells]] = [
            ("feature agreement (Tables 1 and 2)", mine.agreement, theirs.agreement),
            ("agreement of kernels (Tables 5 and 6)", mine.kernels[KERNELS[0].title], theirs.kernels),
            ("agreement of generators", {"": mine.genetic["sets, genetic"]}, {"": theirs.genetic}),
        ]
        for what, methods in (("faithfulness (Tables 3 and 4)", MAIN), ("other settings (Tables 7 and 8)", APPENDIX)):
            for metric in METRICS:
                pairs.append((what, _cells(mine, metric, PRINTED, methods), metric_of(theirs, metric)))
        for what, here, there in pairs:
            within = [abs(apart(here[name], there[name])) <= 1 for name in here if name in there]
            found.setdefault(what, []).extend(within)
    return {what: f"{sum(within)} of {len(within)}" for what, within in found.items()}


def readings_table(subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]) -> Table:
    """How close each reading of the faithfulness metrics comes."""
    rows = []
    for reading in FAITHFULNESS:
        row = [reading.title]
        for subject in subjects:
            both = ours[subject.key], published[subject.key]
            row.append(f"{faithful_gap(*both, reading, MAIN):.3f}")
            row.append(f"{width_factor(*both, reading, MAIN):.1f}")
        row += [
            f"{faithful_gap(ours[subject.key], published[subject.key], reading, APPENDIX):.3f}" for subject in subjects
        ]
        rows.append(tuple(row))
    main = [f"{subject.title}, Tables 3 and 4{what}" for subject in subjects for what in ("", ": widths")]
    appendix = [f"{subject.title}, Table {number}" for number, subject in enumerate(subjects, start=7)]
    return Table(
        "Mean absolute distance to the published figures, by reading of the metrics",
        ("reading", *main, *appendix),
        tuple(rows),
        "Tables 3 and 4: four methods by two metrics; widths is the factor by which the intervals differ. Tables 7 and "
        "8: the two other kernels (Silverman) and the genetic search, by two metrics.",
    )


def methods_table(subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]) -> Table:
    """The closest reading of each method by itself."""
    rows = []
    for subject in subjects:
        mine, theirs = ours[subject.key], published[subject.key]
        for key in MAIN:
            best = min(FAITHFULNESS, key=lambda reading: faithful_gap(mine, theirs, reading, [key]))
            row = [subject.title, TITLES[key], best.title]
            for metric in METRICS:
                row.append(shown(metric_of(theirs, metric)[key], 2))
                row.append(shown(getattr(mine, metric)[best.title][key], 2))
            rows.append(tuple(row))
    heads = [f"{metric}, {whose}" for metric in METRICS for whose in ("published", "ours")]
    return Table(
        "The closest reading of each method by itself",
        ("data", "method", "reading", *heads),
        tuple(rows),
        "One and the same reading for all methods of a table would be needed for their comparison to mean anything.",
    )


def metric_of(published: Published, metric: str) -> Cells:
    """The published figures of one metric."""
    return published.comprehensiveness if metric == "comprehensiveness" else published.sufficiency


def shown(figure: Interval, digits: int) -> str:
    """A mean with its interval."""
    return f"{figure.mean:.{digits}f} ± {figure.margin:.{digits}f}"


def _cells(ours: Ours, metric: str, reading: Faithfulness, methods: Sequence[str]) -> dict[str, Interval]:
    """Our figures under the published names."""
    return {key.partition("-")[0]: getattr(ours, metric)[reading.title][key] for key in methods}
