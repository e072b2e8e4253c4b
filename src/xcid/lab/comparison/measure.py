"""Methods on the same rows of the same model: figures, each with two standard errors."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from xcid import baselines, metrics
from xcid.errors import InvalidData, XcidError, XcidWarning
from xcid.explainer import Explainer
from xcid.files.tables import part, size
from xcid.metrics import Interval, interval
from xcid.records import Array

BLOCKS = 5  # of rows, each timed by itself
MASKINGS: dict[str, metrics.Masking] = {"mean": metrics.mean, "joint rows": metrics.JointRows(50)}
MAKERS: dict[str, Callable[[Any, Any], Any]] = {
    "xcid": Explainer,
    "paper": Explainer.paper,
    "shap": baselines.Shap,
    "lime": baselines.Lime,
    "dice": baselines.DiceImportance,
    "occlusion": baselines.Occlusion,
    "chance": baselines.Chance,
}


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """What a method gave for n rows.

    Attributes
    ----------
    values, again : (n, d)
        Scores with one seed and with the next.
    evaluations : (n,)
    milliseconds : (b,)
        For a row, in each block of rows.
    """

    values: Array
    again: Array
    evaluations: Array
    milliseconds: Array


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Figures of several methods.

    Attributes
    ----------
    methods : tuple of str
    k : int
        Size of the top sets that are compared.
    figures : mapping of str to mapping of str to Interval
        By method and figure.
    agreement : mapping of (str, str) to Interval
        Share of the top k that two methods have in common.
    left_out : mapping of str to str
        Methods that could not run, and why.
    """

    methods: tuple[str, ...]
    k: int
    figures: dict[str, dict[str, Interval]]
    agreement: dict[tuple[str, str], Interval]
    left_out: dict[str, str]


def compare(
    model: Any, train: Any, rows: Any, methods: Sequence[str], seed: int, told: Callable[[int, int], None]
) -> Comparison:
    """Run the methods on the rows; one that cannot run is left out."""
    runs: dict[str, Runs] = {}
    left_out: dict[str, str] = {}
    blocks = min(BLOCKS, size(rows))
    total = len(methods) * 2 * blocks
    for place, method in enumerate(methods):
        done = place * 2 * blocks
        told(done, total)
        try:
            runs[method] = _run(MAKERS[method], model, train, rows, seed, partial(_further, told, done, total))
        except XcidError as error:
            left_out[method] = " ".join(str(error).split())
    told(total, total)
    if not runs:
        raise InvalidData(f"no method can explain these rows: {left_out}")
    k = min(4, next(iter(runs.values())).values.shape[1])
    figures = {method: _figures(one, model, train, rows, k, seed) for method, one in runs.items()}
    agreement = {
        (a, b): interval(metrics.feature_agreement(runs[a].values, runs[b].values, k)) for a in runs for b in runs
    }
    return Comparison(tuple(runs), k, figures, agreement, left_out)


def _further(told: Callable[[int, int], None], done: int, total: int, more: int) -> None:
    told(done + more, total)


def _run(
    make: Callable[[Any, Any], Any], model: Any, train: Any, rows: Any, seed: int, told: Callable[[int], None]
) -> Runs:
    parts = np.array_split(np.arange(size(rows)), min(BLOCKS, size(rows)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XcidWarning)  # rows with few flips are part of the comparison
        explain = make(model, train)
        explain(part(rows, [0]), seed=seed)  # warm up
        values, again, evaluations, milliseconds = [], [], [], []
        for number, positions in enumerate(parts):
            block = part(rows, positions.tolist())
            start = time.perf_counter()
            explanation = explain(block, seed=seed)
            milliseconds.append(1e3 * (time.perf_counter() - start) / len(positions))
            told(2 * number + 1)
            again.append(explain(block, seed=seed + 1).values)
            values.append(explanation.values)
            evaluations.append(explanation.n_evaluations.astype(np.float64))
            told(2 * number + 2)
    return Runs(np.concatenate(values), np.concatenate(again), np.concatenate(evaluations), np.array(milliseconds))


def _figures(runs: Runs, model: Any, train: Any, rows: Any, k: int, seed: int) -> dict[str, Interval]:
    figures = {}
    for name, masking in MASKINGS.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", XcidWarning)  # said when the model was first tried
            curves = metrics.masking_curves(model, rows, runs.values, train, masking=masking, seed=seed)
        figures[f"comp, {name}"] = interval((curves.full[:, None] - curves.masked).mean(axis=1))
        figures[f"suff, {name}"] = interval((curves.full[:, None] - curves.kept).mean(axis=1))
    figures[f"two seeds, top {k}"] = interval(metrics.stability([runs.values, runs.again], k))
    figures["evaluations a row"] = interval(runs.evaluations)
    figures["ms a row"] = interval(runs.milliseconds)
    return figures
