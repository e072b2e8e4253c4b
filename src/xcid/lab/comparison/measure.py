"""Methods on the same rows of the same model: figures, each with two standard errors."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

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


class Runs(NamedTuple):
    """What a method gave for n rows."""

    values: Array  # (n, d) scores
    again: Array  # (n, d) with the next seed
    evaluations: Array  # (n,)
    milliseconds: Array  # (b,) for a row, in each block of rows


class Comparison(NamedTuple):
    """Figures of several methods."""

    methods: tuple[str, ...]
    k: int  # size of the top sets that are compared
    figures: dict[str, dict[str, Interval]]  # by method and figure
    agreement: dict[tuple[str, str], Interval]  # share of the top k that two methods have in common
    left_out: dict[str, str]  # methods that could not run, and why


def compare(
    model: Any, train: Any, rows: Any, methods: Sequence[str], seed: int, progress: Callable[[int, int], None]
) -> Comparison:
    """Run the methods on the rows; one that cannot run is left out."""
    runs: dict[str, Runs] = {}
    left_out: dict[str, str] = {}
    steps = 2 * min(BLOCKS, size(rows))
    total = len(methods) * steps
    for place, method in enumerate(methods):

        def further(more: int, done: int = place * steps) -> None:
            progress(done + more, total)

        further(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", XcidWarning)  # rows with few flips are part of the comparison
                runs[method] = _run(MAKERS[method](model, train), rows, seed, further)
        except XcidError as error:
            left_out[method] = " ".join(str(error).split())
    progress(total, total)
    if not runs:
        raise InvalidData(f"no method can explain these rows: {left_out}")
    k = min(4, next(iter(runs.values())).values.shape[1])
    figures = {method: _figures(one, model, train, rows, k, seed) for method, one in runs.items()}
    agreement = {
        (a, b): interval(metrics.feature_agreement(runs[a].values, runs[b].values, k)) for a in runs for b in runs
    }
    return Comparison(tuple(runs), k, figures, agreement, left_out)


def _run(explain: Any, rows: Any, seed: int, progress: Callable[[int], None]) -> Runs:
    explain(part(rows, [0]), seed=seed)  # warm up
    blocks = []
    for number, positions in enumerate(np.array_split(np.arange(size(rows)), min(BLOCKS, size(rows)))):
        block = part(rows, positions.tolist())
        start = time.perf_counter()
        explanation = explain(block, seed=seed)
        milliseconds = 1e3 * (time.perf_counter() - start) / len(positions)
        progress(2 * number + 1)
        again = explain(block, seed=seed + 1).values
        blocks.append((explanation.values, again, explanation.n_evaluations.astype(np.float64), [milliseconds]))
        progress(2 * number + 2)
    return Runs(*map(np.concatenate, zip(*blocks, strict=True)))


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
