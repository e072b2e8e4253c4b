"""Methods on the same rows of the same model: figures, each with two standard errors, as text and as a picture."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from xcid import metrics
from xcid._require import require
from xcid.directions import supporting
from xcid.errors import InvalidData, XcidError, XcidWarning
from xcid.explainer import Explainer
from xcid.io.tables import part, size
from xcid.method import CID
from xcid.metrics.faithfulness import Curves
from xcid.metrics.maskings import Masking
from xcid.records import Array
from xcid.show.plots import _style
from xcid.show.wording import colours
from xcid_lab import baselines
from xcid_lab.markdown import aligned
from xcid_lab.metrics import FlipShares, Interval, flip_shares, interval

FEW = 2  # features whose necessity and sufficiency are looked at: with more of them, every method has flips
BLOCKS = 5  # of rows, each timed by itself
MASKINGS: dict[str, Masking] = {"mean": metrics.mean, "joint rows": metrics.JointRows(50)}
MARKERS = dict(zip(MASKINGS, "os", strict=True))
COLOURS = {"comp": colours.SUPPORTS, "suff": colours.OPPOSES}
MAKERS: dict[str, Callable[..., Any]] = {
    "xcid": Explainer,
    "cid": CID,
    "shap": baselines.Shap,
    "lime": baselines.Lime,
    "dice": baselines.DiceImportance,
    "occlusion": baselines.Occlusion,
    "chance": baselines.Chance,
    "cf-shap": baselines.CounterfactualShap,
    "bayes-shap": baselines.BayesShap,
    "kolmogorov-smirnov": baselines.RegionalSensitivity,
    "cramer-von-mises": partial(baselines.RegionalSensitivity, statistic=baselines.cramer_von_mises),
    "kernelshap": partial(baselines.Shapiq, estimator="KernelSHAP"),
    "permutation": partial(baselines.Shapiq, estimator="PermutationSamplingSV"),
    "leverageshap": partial(baselines.Shapiq, estimator="LeverageSHAP"),
    "regression-msr": partial(baselines.Shapiq, estimator="RegressionMSR"),
    "proxyshap": partial(baselines.Shapiq, estimator="ProxySHAP"),
    "oddshap": partial(baselines.Shapiq, estimator="OddSHAP"),
}


class Runs(NamedTuple):
    """What a method gave for n rows."""

    values: Array  # (n, d) scores
    again: Array  # (n, d) with the next seed
    evaluations: Array  # (n,)
    milliseconds: Array  # (b,) for a row, in each block of rows


class Judges(NamedTuple):
    """What scores of these rows are judged by."""

    curves: Callable[..., Curves]
    flips: Callable[..., FlipShares]


class Comparison(NamedTuple):
    """Figures of several methods."""

    methods: tuple[str, ...]
    k: int  # size of the top sets that are compared
    figures: dict[str, dict[str, Interval]]  # by method and figure
    agreement: dict[tuple[str, str], Interval]  # share of the top k that two methods have in common
    left_out: dict[str, str]  # methods that could not run, and why


def compare(
    model: Any,
    train: Any,
    rows: Any,
    methods: Mapping[str, Callable[..., Any]],
    seed: int,
    progress: Callable[[int, int], None],
    weights: Any = None,
) -> Comparison:
    """Run methods, by what makes each, on the rows; one that cannot run is left out. Weights are of training rows."""
    runs: dict[str, Runs] = {}
    left_out: dict[str, str] = {}
    steps = 2 * min(BLOCKS, size(rows))
    total = len(methods) * steps
    for place, (method, make) in enumerate(methods.items()):

        def further(more: int, done: int = place * steps) -> None:
            progress(done + more, total)

        further(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", XcidWarning)  # rows with few flips are part of the comparison
                runs[method] = _run(make(model, train, weights=weights), rows, seed, further)
        except XcidError as error:
            left_out[method] = " ".join(str(error).split())
    progress(total, total)
    if not runs:
        raise InvalidData(f"no method can explain these rows: {left_out}")
    k = min(4, next(iter(runs.values())).values.shape[1])
    given: dict[str, Any] = {"reference": train, "seed": seed, "weights": weights}
    judges = Judges(partial(metrics.masking_curves, model, rows, **given), partial(flip_shares, model, rows, **given))
    figures = {method: _figures(one, judges, k) for method, one in runs.items()}
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
        again = supporting(explain(block, seed=seed + 1))
        blocks.append((supporting(explanation), again, explanation.n_evaluations.astype(np.float64), [milliseconds]))
        progress(2 * number + 2)
    return Runs(*map(np.concatenate, zip(*blocks, strict=True)))


def _figures(runs: Runs, judges: Judges, k: int) -> dict[str, Interval]:
    few = min(FEW, k)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XcidWarning)  # said when the model was first tried
        masked = {name: judges.curves(scores=runs.values, masking=masking) for name, masking in MASKINGS.items()}
        shares = judges.flips(scores=runs.values, k=few)
    figures = {}
    for name, curves in masked.items():
        figures[f"comp, {name}"] = interval((curves.full[:, None] - curves.masked).mean(axis=1))
        figures[f"suff, {name}"] = interval((curves.full[:, None] - curves.kept).mean(axis=1))
    figures[f"necessity, top {few}"] = interval(shares.top)
    figures[f"sufficiency, top {few}"] = interval(shares.any - shares.rest)
    figures[f"two seeds, top {k}"] = interval(metrics.stability([runs.values, runs.again], k))
    figures["evaluations a row"] = interval(runs.evaluations)
    figures["ms a row"] = interval(runs.milliseconds)
    return figures


def markdown(comparison: Comparison) -> str:
    """The figures, the agreement of the methods, and what was left out."""
    methods = comparison.methods
    figures = [[method, *map(shown, comparison.figures[method].values())] for method in methods]
    agreement = [[method, *(shown(comparison.agreement[method, other]) for other in methods)] for method in methods]
    parts = [
        aligned(["method", *comparison.figures[methods[0]]], figures, str.rjust, gap="-"),
        "comp: how far the output falls when the best features are masked, the higher the better;\n"
        "suff: when only they are kept, the lower the better;\n"
        "necessity: the share of ten wanted flips that are found when only the best features may change, the higher "
        "the better;\n"
        "sufficiency: the share of them that are lost when the best features are frozen, the higher the better;\n"
        "±: two standard errors (of ms: over blocks of rows)",
        aligned([f"top {comparison.k} in common", *methods], agreement, str.rjust, gap="-"),
        *(f"left out: {method}: {reason}" for method, reason in comparison.left_out.items()),
    ]
    return "\n\n".join(parts)


def shown(figure: Interval) -> str:
    """A mean with its margin, in as many digits as it is worth.

    Examples
    --------
    >>> shown(Interval(0.12345, 0.01)), shown(Interval(25401.2, 12.0)), shown(Interval(1.5, float("inf")))
    ('0.123 ± 0.010', '25,401 ± 12', '1.500 ± ?')
    """
    digits = 3 if abs(figure.mean) < 10 else 1 if abs(figure.mean) < 1000 else 0
    margin = f"{figure.margin:,.{digits}f}" if figure.margin < float("inf") else "?"
    return f"{figure.mean:,.{digits}f} ± {margin}"


def draw(comparison: Comparison) -> Any:
    """Faithfulness with its margins, and which methods agree, in a matplotlib Figure apart from those of pyplot."""
    figure = require("matplotlib.figure", extra="plot").Figure(
        figsize=(11, 2.2 + 0.45 * len(comparison.methods)), layout="constrained"
    )
    left, right = figure.subplots(1, 2)
    _faithfulness(left, comparison)
    names = comparison.methods
    _style.draw_heat(right, np.array([[comparison.agreement[a, b].mean for b in names] for a in names]), names)
    right.set_title(f"share of the top {comparison.k} in common")
    return figure


def _faithfulness(ax: Any, comparison: Comparison) -> None:
    places = np.arange(len(comparison.methods))
    for shift, (name, marker) in zip((-0.12, 0.12), MARKERS.items(), strict=True):
        for kind, colour in COLOURS.items():
            figures = [comparison.figures[method][f"{kind}, {name}"] for method in comparison.methods]
            means, margins = np.transpose(figures)
            known = np.where(np.isfinite(margins), margins, 0.0)
            ax.errorbar(means, places + shift, xerr=known, fmt=marker, color=colour, capsize=2, label=f"{kind}, {name}")
    ax.axvline(0, color=colours.INK, linewidth=0.8)
    ax.set_yticks(places, comparison.methods)
    ax.invert_yaxis()
    ax.set_xlabel("fall of the output, ± two standard errors")
    ax.set_title("faithfulness: comp high, suff low")
    ax.legend(fontsize="small", frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    ax.spines[["top", "right"]].set_visible(False)
