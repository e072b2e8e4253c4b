"""The paper's tables: ours beside the published figures, and how far they are apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xcid.lab.reproduction.closeness import MAIN, METRICS, TITLES, apart, gap, metric_of, shown
from xcid.lab.reproduction.ours import Ours
from xcid.lab.reproduction.pages import Table
from xcid.lab.reproduction.published import Published
from xcid.lab.reproduction.readings import KERNELS, PLAIN_SUM, PRINTED, SIGNED
from xcid.lab.reproduction.subjects import Subject
from xcid.metrics import Interval

SETTINGS = {
    "Gaussian (= CID)": ("cid", "cid"),
    "Epanechnikov, Silverman": ("epanechnikov", "epanechnikov-silverman"),
    "Epanechnikov, bandwidth 1": ("epanechnikov", "epanechnikov-one"),
    "Exponential, Silverman": ("exponential", "exponential-silverman"),
    "Exponential, bandwidth 1": ("exponential", "exponential-one"),
    "genetic": ("genetic", "genetic"),
    "genetic (dice-ml, few rows)": ("genetic", "dice-genetic"),
}  # row of Tables 7 and 8: published name, our method


def agreement_table(number: int, subject: Subject, ours: Ours, published: Published, k: int) -> Table:
    """Tables 1 and 2."""
    rows = []
    for pair, figure in ours.agreement.items():
        there = published.agreement.get(pair.replace("cid-zero", "cid"))
        rows.append((_pair_words(pair), *_beside(figure, there, 2)))
    chance = (f"chance: k / d = {k} / {subject.n_features}", "", f"{k / subject.n_features:.2f}", "")
    return Table(
        f"Table {number}. Feature agreement of the top {k}, {subject.title}",
        ("pair", "published", "ours", "difference"),
        (*rows, chance),
    )


def faithfulness_table(
    number: int,
    metric: str,
    subjects: Sequence[Subject],
    ours: Mapping[str, Ours],
    published: Mapping[str, Published],
) -> Table:
    """Tables 3 and 4: as printed (normalised), and as plain sums."""
    rows = []
    for subject in subjects:
        mine, theirs = ours[subject.key], metric_of(published[subject.key], metric)
        for key in ("cid", "cid-zero", *MAIN[1:]):
            there = theirs[key.partition("-")[0]]
            rows.append((subject.title, TITLES[key], *_two_ways(mine, metric, key, there)))
        for key in ("shap", "lime", "recommended"):
            signed = getattr(mine, metric)[SIGNED.title][key]
            rows.append((subject.title, f"{TITLES[key]}, signed", "", shown(signed, 3), "", "", ""))
        chance = _two_ways(mine, metric, "chance", None)
        rows.append((subject.title, "chance", *chance))
    better = "higher" if metric == "comprehensiveness" else "lower"
    return Table(
        f"Table {number}. {metric.capitalize()} ({better} is better)",
        ("data", "method", "published", "ours, mean", "difference", "ours, sum", "difference"),
        tuple(rows),
    )


def kernel_table(number: int, subject: Subject, ours: Ours, published: Published) -> Table:
    """Tables 5 and 6, under every reading; the closest one first."""
    ranked = sorted(KERNELS, key=lambda reading: gap(ours.kernels[reading.title], published.kernels))
    rows = [
        (
            reading.title,
            *(shown(figure, 2) for figure in ours.kernels[reading.title].values()),
            f"{gap(ours.kernels[reading.title], published.kernels):.2f}",
        )
        for reading in ranked
    ]
    pairs = list(ours.kernels[KERNELS[0].title])
    printed = ("published", *(shown(published.kernels[pair], 2) for pair in pairs), "")
    return Table(
        f"Table {number}. Agreement of kernels, {subject.title}",
        ("reading", *pairs, "mean distance"),
        (printed, *rows),
        "The last column is the mean absolute distance to the three published figures.",
    )


def settings_table(number: int, subject: Subject, ours: Ours, published: Published) -> Table:
    """Tables 7 and 8."""
    rows = []
    for title, (name, key) in SETTINGS.items():
        for metric in METRICS:
            if key in getattr(ours, metric)[PRINTED.title]:
                there = metric_of(published, metric)[name]
                rows.append((title, metric, *_two_ways(ours, metric, key, there)))
    return Table(
        f"Table {number}. Faithfulness by kernel and generator, {subject.title}",
        ("setting", "metric", "published", "ours, mean", "difference", "ours, sum", "difference"),
        tuple(rows),
    )


def genetic_table(subjects: Sequence[Subject], ours: Mapping[str, Ours], published: Mapping[str, Published]) -> Table:
    """The agreement that the appendix gives in its text."""
    rows = [
        (subject.title, name, *_beside(figure, published[subject.key].genetic, 2))
        for subject in subjects
        for name, figure in ours[subject.key].genetic.items()
    ]
    return Table(
        "Agreement of genetic with random counterfactuals",
        ("data", "counted by, searched by", "published", "ours", "difference"),
        tuple(rows),
        "genetic is the library's own search, dice-genetic that of dice-ml itself, on few rows and in one run.",
    )


def _two_ways(ours: Ours, metric: str, key: str, there: Interval | None) -> tuple[str, ...]:
    """Published, mean, difference, sum, difference."""
    mean, total = (getattr(ours, metric)[reading.title][key] for reading in (PRINTED, PLAIN_SUM))
    first, second = _beside(mean, there, 3), _beside(total, there, 3)
    return (*first, *second[1:])


def _beside(ours: Interval, published: Interval | None, digits: int) -> tuple[str, str, str]:
    if published is None:
        return "", shown(ours, digits), ""
    return shown(published, digits), shown(ours, digits), f"{apart(ours, published):+.1f}"


def _pair_words(pair: str) -> str:
    if pair == "single run":
        return "CID with itself, two single runs"
    a, b = pair.split(", ")
    if b == "cid-again":
        return "CID with itself, other seeds"
    return f"{TITLES[a]}, {TITLES[b]}"
