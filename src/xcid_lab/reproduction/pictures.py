"""The paper's Figures 1 to 7, drawn from what was measured."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from xcid import CID, plots
from xcid._require import require
from xcid.records import Array
from xcid_lab.reproduction.measure import Results
from xcid_lab.reproduction.methods import Settings
from xcid_lab.reproduction.pages import Picture
from xcid_lab.reproduction.published import MAIN, Case
from xcid_lab.reproduction.tables import OTHER_KERNELS, TITLES
from xcid_lab.subjects import Subject

DPI = 72
COLOURS = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#555555")
KERNELS = {"Gaussian, Silverman": "cid", **OTHER_KERNELS}
GENERATORS = {"random": "cid", "genetic": "genetic"}


def draw(cases: Sequence[Case], settings: Settings) -> list[Picture]:
    """All figures, with their captions."""
    first = cases[0]
    drawn = {
        f"Densities of C+ and C− of the first test entry of {first.title} in the paper's setting; dotted: its own "
        "value.": illustration(first.subject, settings.m),
        f"Importance of the first test entries in {settings.first_row_repeats} runs, by CID and by DiCE.": (
            repeated_runs(cases)
        ),
        f"Output of the first test entry of {first.title} as each method's best features, by sign, are masked.": (
            trend(first.results)
        ),
    }
    for what, methods in (("kernel", KERNELS), ("generator", GENERATORS)):
        for case in cases:
            caption = f"Importance by {what}, {case.title}: all rows, feature by feature."
            drawn[caption] = distributions(case, methods)
    return [
        Picture(f"figure-{number}", f"Figure {number}. {caption}", png)
        for number, (caption, png) in enumerate(drawn.items(), start=1)
    ]


def illustration(subject: Subject, m: int) -> bytes:
    """Figure 1: the two densities of every feature of the first test entry."""
    explanation = CID(subject.model, subject.train, m=m)(subject.test.iloc[:1])
    figure, axes = _grid(-(-subject.n_features // 4), 4, 3.0, 2.1)
    plots.densities(explanation, axes=axes.ravel()[: subject.n_features])
    for unused in axes.ravel()[subject.n_features :]:
        unused.set_visible(False)
    return _png(figure)


def repeated_runs(cases: Sequence[Case]) -> bytes:
    """Figure 2: the scores of the first test entry over many runs, by CID and by DiCE."""
    figure, axes = _grid(len(cases), 2, 6.0, 2.9)
    for line, case in zip(axes, cases, strict=True):
        for ax, (key, scores) in zip(line, case.first_row.items(), strict=True):
            _boxes(ax, list(case.subject.test.columns), {TITLES[key]: scores})
            ax.set_title(f"{case.title}, {TITLES[key]}", fontsize=10)
    return _png(figure)


def trend(results: Results) -> bytes:
    """Figure 3: the output of the first test entry as its best features are masked one by one."""
    figure, ((ax,),) = _grid(1, 1, 7.0, 3.6)
    lines = {TITLES[key]: (results[key].masked_signed[0], "o") for key in MAIN}
    lines["recommended"] = results["recommended"].masked_signed[0], "s"
    for (title, (outputs, marker)), colour in zip(lines.items(), COLOURS, strict=True):
        ax.plot(np.arange(len(outputs)), outputs, marker=marker, markersize=4, color=colour, label=title)
    ax.set_xlabel("features masked, best first")
    ax.set_ylabel("probability of the predicted class")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(frameon=False, fontsize=8)
    return _png(figure)


def distributions(case: Case, methods: Mapping[str, str]) -> bytes:
    """Figures 4 to 7: the scores of all rows, feature by feature, of several settings side by side."""
    figure, ((ax,),) = _grid(1, 1, 11.0, 3.6)
    scores = {title: case.results[key].scores for title, key in methods.items()}
    _boxes(ax, list(case.subject.test.columns), scores)
    figure.legend(loc="outside lower center", ncols=len(scores), frameon=False, fontsize=8)
    return _png(figure)


def _boxes(ax: Any, names: list[str], scores: Mapping[str, Array]) -> None:
    """One box for each feature and setting."""
    width = 0.8 / len(scores)
    for place, ((title, values), colour) in enumerate(zip(scores.items(), COLOURS, strict=False)):
        at = np.arange(len(names)) + (place - (len(scores) - 1) / 2) * width
        drawn = ax.boxplot(values, positions=at, widths=0.85 * width, patch_artist=True, manage_ticks=False, sym=".")
        for box in drawn["boxes"]:
            box.set(facecolor=colour, edgecolor=colour, alpha=0.6)
        for median in drawn["medians"]:
            median.set(color="black")
        for flier in drawn["fliers"]:
            flier.set(markersize=2, markeredgecolor=colour)
        drawn["boxes"][0].set_label(title)
    ax.set_xticks(np.arange(len(names)), names, rotation=30, ha="right", fontsize=8)
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_ylim(0, 1)


def _grid(n_rows: int, n_columns: int, width: float, height: float) -> tuple[Any, Any]:
    figure = require("matplotlib.figure", extra="plot").Figure(
        figsize=(width * n_columns, height * n_rows), layout="constrained"
    )
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def _png(figure: Any) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI, metadata={"Software": None})
    return buffer.getvalue()
