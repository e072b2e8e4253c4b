"""What stands where on the pages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xcid.lab.reproduction import closeness, figures, published, tables, words
from xcid.lab.reproduction.measure import Array, FirstRow, Results
from xcid.lab.reproduction.ours import Ours
from xcid.lab.reproduction.pages import Block, Heading, Picture, Points, Text
from xcid.lab.reproduction.settings import Settings
from xcid.lab.reproduction.subjects import Subject

TITLE = "The paper's experiments, reproduced"


def draw(
    both: Sequence[Subject],
    settings: Settings,
    results: Sequence[Results],
    first_rows: Sequence[Mapping[str, FirstRow]],
) -> list[Picture]:
    """Figures 1 to 7."""
    one, times = both[0], settings.first_row_repeats
    captions = (
        f"Figure 1. Densities of C+ and C− of the first test entry of {one.title} in the paper's setting; dotted: its "
        "own value.",
        f"Figure 2. Importance of the first test entries in {times} runs, by CID and by DiCE.",
        f"Figure 3. Output of the first test entry of {one.title} as the best features of each method are masked.",
    )
    drawn = (
        figures.illustration(one, settings),
        figures.repeated_runs(both, first_rows),
        figures.trend(one, results[0]),
    )
    pictures = [
        Picture(f"figure-{number}", caption, png)
        for number, (caption, png) in enumerate(zip(captions, drawn, strict=True), start=1)
    ]
    for first, what, chosen in ((4, "kernel", _by_kernel), (6, "generator", _by_generator)):
        for number, (subject, found) in enumerate(zip(both, results, strict=True), start=first):
            caption = f"Figure {number}. Importance by {what}, {subject.title}: all rows, feature by feature."
            pictures.append(Picture(f"figure-{number}", caption, figures.distributions(subject, chosen(found))))
    return pictures


def page(
    both: Sequence[Subject],
    settings: Settings,
    results: Sequence[Results],
    ours: Mapping[str, Ours],
    pictures: Sequence[Picture],
) -> list[Block]:
    """All that the pages say; the one place where the published figures are read."""
    theirs = published.load()
    first, second, third, *others = pictures
    one, two = both
    return [
        Heading(1, TITLE),
        Text(words.INTRODUCTION),
        Heading(2, "What was run"),
        Points(words.opening(settings, both, results)),
        Heading(2, "What reproduces, and what does not"),
        Points(
            (
                *words.tally_words(both, ours, theirs),
                *words.agreement_words(both, ours, theirs),
                *words.lead_words(both, ours),
                *words.impossible_words(settings, both, ours, theirs),
                *words.order_words(both, ours, theirs),
            )
        ),
        Heading(2, "Closest readings"),
        Text(words.READINGS),
        Points(words.closest_words(both, ours, theirs)),
        closeness.readings_table(both, ours, theirs),
        closeness.methods_table(both, ours, theirs),
        Heading(2, "Illustration"),
        first,
        second,
        Heading(2, "Agreement with other methods"),
        tables.agreement_table(1, one, ours[one.key], theirs[one.key], settings.k),
        tables.agreement_table(2, two, ours[two.key], theirs[two.key], settings.k),
        Heading(2, "Faithfulness"),
        Text(words.FAITHFULNESS),
        tables.faithfulness_table(3, "comprehensiveness", both, ours, theirs),
        tables.faithfulness_table(4, "sufficiency", both, ours, theirs),
        third,
        Heading(2, "Kernels and generators"),
        tables.kernel_table(5, one, ours[one.key], theirs[one.key]),
        tables.kernel_table(6, two, ours[two.key], theirs[two.key]),
        tables.genetic_table(both, ours, theirs),
        tables.settings_table(7, one, ours[one.key], theirs[one.key]),
        tables.settings_table(8, two, ours[two.key], theirs[two.key]),
        *others,
    ]


def _by_kernel(found: Results) -> dict[str, Array]:
    scores = {"Gaussian, Silverman": found["cid"].scores}
    for kernel in ("epanechnikov", "exponential"):
        scores[f"{kernel.capitalize()}, Silverman"] = found[f"{kernel}-silverman"].scores
        scores[f"{kernel.capitalize()}, bandwidth 1"] = found[f"{kernel}-one"].scores
    return scores


def _by_generator(found: Results) -> dict[str, Array]:
    return {"random": found["cid"].scores, "genetic": found["genetic"].scores}
