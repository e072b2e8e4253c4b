"""The paper's tables: ours beside the published figures, and how far they are apart."""

from __future__ import annotations

from collections.abc import Sequence

from xcid_lab.markdown import Table
from xcid_lab.metrics import Interval
from xcid_lab.reproduction.ours import AS_DESCRIBED, FAITHFULNESS, KERNELS, PLAIN_SUM, PRINTED, SIGNED
from xcid_lab.reproduction.published import APPENDIX, MAIN, METRICS, Case, apart, faithful, gap, of_kernels, width_ratio

TITLES = {
    "dice": "DiCE",
    "shap": "SHAP",
    "lime": "LIME",
    "cid": "CID",
    "cid-zero": "CID (constants 0)",
    "recommended": "recommended",
}
PAIRS = {"single run": "CID with itself, two single runs", "cid, cid-again": "CID with itself, other seeds"}
OTHER_KERNELS = {
    "Epanechnikov, Silverman": "epanechnikov-silverman",
    "Epanechnikov, bandwidth 1": "epanechnikov-one",
    "Exponential, Silverman": "exponential-silverman",
    "Exponential, bandwidth 1": "exponential-one",
}
GENETIC = {"genetic": "genetic", "genetic (dice-ml, few rows)": "dice-genetic"}
SETTINGS = {"Gaussian (= CID)": "cid", **OTHER_KERNELS, **GENETIC}  # rows of Tables 7 and 8
TWO_WAYS = ("published", "ours, mean", "difference", "ours, sum", "difference")


def readings_table(cases: Sequence[Case]) -> Table:
    """How close each reading of the faithfulness metrics comes."""
    lines = []
    for reading in FAITHFULNESS:
        main = [faithful(case, reading, MAIN) for case in cases]
        appendix = [faithful(case, reading, APPENDIX) for case in cases]
        both = [cell for pairs in main for cell in (f"{gap(pairs):.3f}", f"{width_ratio(pairs):.1f}")]
        lines.append((reading, *both, *(f"{gap(pairs):.3f}" for pairs in appendix)))
    head = [f"{case.title}, Tables 3 and 4{what}" for case in cases for what in ("", ": widths")]
    head += [f"{case.title}, Table {number}" for number, case in enumerate(cases, start=7)]
    return Table(
        "Mean absolute distance to the published figures, by reading of the metrics",
        ("reading", *head),
        tuple(lines),
        "Tables 3 and 4: four methods by two metrics; widths is the factor by which the intervals differ. Tables 7 and "
        "8: the two other kernels (Silverman) and the genetic search, by two metrics.",
    )


def methods_table(cases: Sequence[Case]) -> Table:
    """The closest reading of each method by itself."""
    lines = []
    for case in cases:
        for key in MAIN:
            best = min(FAITHFULNESS, key=lambda reading: gap(faithful(case, reading, [key])))
            figures = [shown(one, 2) for ours, published in faithful(case, best, [key]) for one in (published, ours)]
            lines.append((case.title, TITLES[key], best, *figures))
    heads = [f"{metric}, {whose}" for metric in METRICS for whose in ("published", "ours")]
    return Table(
        "The closest reading of each method by itself",
        ("data", "method", "reading", *heads),
        tuple(lines),
        "One and the same reading for all methods of a table would be needed for their comparison to mean anything.",
    )


def agreement_table(number: int, case: Case, k: int) -> Table:
    """Tables 1 and 2."""
    lines = [
        (_pair(pair), *_beside(figure, case.published.agreement.get(pair.replace("cid-zero", "cid")), 2))
        for pair, figure in case.ours.agreement.items()
    ]
    d = case.subject.n_features
    return Table(
        f"Table {number}. Feature agreement of the top {k}, {case.title}",
        ("pair", "published", "ours", "difference"),
        (*lines, (f"chance: k / d = {k} / {d}", "", f"{k / d:.2f}", "")),
    )


def faithfulness_table(number: int, metric: str, cases: Sequence[Case]) -> Table:
    """Tables 3 and 4: as printed (normalised), and as plain sums."""
    lines: list[tuple[str, ...]] = []
    for case in cases:
        for key in ("cid", "cid-zero", *MAIN[1:]):
            lines.append((case.title, TITLES[key], *_two_ways(case, metric, key)))
        for key in ("shap", "lime", "recommended"):
            signed = getattr(case.ours, metric)[SIGNED][key]
            lines.append((case.title, f"{TITLES[key]}, signed", "", shown(signed, 3), "", "", ""))
        lines.append((case.title, "chance", *_two_ways(case, metric, "chance")))
    better = "higher" if metric == "comprehensiveness" else "lower"
    title = f"Table {number}. {metric.capitalize()} ({better} is better)"
    return Table(title, ("data", "method", *TWO_WAYS), tuple(lines))


def kernel_table(number: int, case: Case) -> Table:
    """Tables 5 and 6, under every reading; the closest one first."""
    kernels, published = case.ours.kernels, case.published.kernels
    gaps = {reading: gap(of_kernels(case, reading)) for reading in KERNELS}
    lines = [
        (title, *(shown(figure, 2) for figure in kernels[title].values()), f"{gaps[title]:.2f}")
        for title in sorted(gaps, key=gaps.__getitem__)
    ]
    pairs = list(kernels[AS_DESCRIBED])
    return Table(
        f"Table {number}. Agreement of kernels, {case.title}",
        ("reading", *pairs, "mean distance"),
        (("published", *(shown(published[pair], 2) for pair in pairs), ""), *lines),
        "The last column is the mean absolute distance to the three published figures.",
    )


def settings_table(number: int, case: Case) -> Table:
    """Tables 7 and 8."""
    lines = [
        (title, metric, *_two_ways(case, metric, key))
        for title, key in SETTINGS.items()
        for metric in METRICS
        if key in case.results
    ]
    title = f"Table {number}. Faithfulness by kernel and generator, {case.title}"
    return Table(title, ("setting", "metric", *TWO_WAYS), tuple(lines))


def genetic_table(cases: Sequence[Case]) -> Table:
    """The agreement that the appendix gives in its text."""
    lines = [
        (case.title, name, *_beside(figure, case.published.genetic, 2))
        for case in cases
        for name, figure in case.ours.genetic.items()
    ]
    return Table(
        "Agreement of genetic with random counterfactuals",
        ("data", "counted by, searched by", "published", "ours", "difference"),
        tuple(lines),
        "genetic is the library's own search, dice-genetic that of dice-ml itself, on few rows and in one run.",
    )


def shown(figure: Interval, digits: int) -> str:
    """A mean with its interval."""
    return f"{figure.mean:.{digits}f} ± {figure.margin:.{digits}f}"


def _two_ways(case: Case, metric: str, key: str) -> tuple[str, ...]:
    """Published, mean, difference, sum, difference; "dice-genetic" and "genetic" are both the paper's genetic."""
    published = getattr(case.published, metric).get(key.removeprefix("dice-").partition("-")[0])
    mean, total = (getattr(case.ours, metric)[reading][key] for reading in (PRINTED, PLAIN_SUM))
    return (*_beside(mean, published, 3), *_beside(total, published, 3)[1:])


def _beside(ours: Interval, published: Interval | None, digits: int) -> tuple[str, str, str]:
    if published is None:
        return "", shown(ours, digits), ""
    return shown(published, digits), shown(ours, digits), f"{apart(ours, published):+.1f}"


def _pair(pair: str) -> str:
    return PAIRS.get(pair) or ", ".join(TITLES[name] for name in pair.split(", "))
