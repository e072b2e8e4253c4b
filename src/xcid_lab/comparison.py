"""Methods on the same rows of the same model: figures, each with two standard errors, as text and as a picture."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
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
from xcid_lab.metrics import FlipShares, flip_shares, interval

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
    """What a method gave for n rows with each of s seeds."""

    values: Array  # (s, n, d) scores; of a single seed, those with the next one behind them
    evaluations: Array  # (s, n)
    milliseconds: Array  # (s, b) for a row, in each block of rows


class Averaged(NamedTuple):
    """A mean over rows, each of them the mean of its seeds."""

    mean: float
    margin: float  # two standard errors over rows
    over_seeds: float  # two standard errors over what each seed gives as the mean; infinite for a single one


class Judges(NamedTuple):
    """What scores of these rows are judged by."""

    curves: Callable[..., Curves]
    flips: Callable[..., FlipShares]


class Comparison(NamedTuple):
    """Figures of several methods."""

    methods: tuple[str, ...]
    k: int  # size of the top sets that are compared
    figures: dict[str, dict[str, Averaged]]  # by method and figure
    agreement: dict[tuple[str, str], Averaged]  # share of the top k that two methods have in common
    left_out: dict[str, str]  # methods that could not run, and why
    seeds: tuple[int, ...]
    n_rows: int


def compare(
    model: Any,
    train: Any,
    rows: Any,
    methods: Mapping[str, Callable[..., Any]],
    seeds: Sequence[int],
    progress: Callable[[int, int], None],
    weights: Any = None,
) -> Comparison:
    """Run methods, by what makes each, on the rows with each seed; one that cannot run is left out.

    Weights are of training rows. All are judged by the same draws of values for masked features, whatever their seed.
    """
    runs: dict[str, Runs] = {}
    left_out: dict[str, str] = {}
    asked = (*seeds, seeds[0] + 1) if len(seeds) == 1 else tuple(seeds)  # two at least, to see how far they agree
    steps = len(asked) * min(BLOCKS, size(rows))
    total = len(methods) * steps
    for place, (method, make) in enumerate(methods.items()):

        def further(more: int, done: int = place * steps) -> None:
            progress(done + more, total)

        further(0)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", XcidWarning)  # rows with few flips are part of the comparison
                runs[method] = _run(make(model, train, weights=weights), rows, asked, further)
        except XcidError as error:
            left_out[method] = " ".join(str(error).split())
    progress(total, total)
    if not runs:
        raise InvalidData(f"no method can explain these rows: {left_out}")
    k = min(4, next(iter(runs.values())).values.shape[-1])
    given: dict[str, Any] = {"reference": train, "seed": seeds[0], "weights": weights}
    judges = Judges(partial(metrics.masking_curves, model, rows, **given), partial(flip_shares, model, rows, **given))
    figures = {method: _figures(one, judges, k, len(seeds)) for method, one in runs.items()}
    agreement = {(a, b): _agreement(runs[a], runs[b], k, len(seeds)) for a in runs for b in runs}
    return Comparison(tuple(runs), k, figures, agreement, left_out, tuple(seeds), size(rows))


def _run(explain: Any, rows: Any, seeds: Sequence[int], progress: Callable[[int], None]) -> Runs:
    explain(part(rows, [0]), seed=seeds[0])  # warm up
    blocks: list[list[Array]] = []
    for positions in np.array_split(np.arange(size(rows)), min(BLOCKS, size(rows))):
        block, found = part(rows, positions.tolist()), []
        for seed in seeds:
            start = time.perf_counter()
            explanation = explain(block, seed=seed)
            milliseconds = 1e3 * (time.perf_counter() - start) / len(positions)
            found.append((supporting(explanation), explanation.n_evaluations.astype(np.float64), [milliseconds]))
            progress(len(seeds) * len(blocks) + len(found))
        blocks.append([np.stack(each) for each in zip(*found, strict=True)])
    return Runs(*(np.concatenate(each, axis=1) for each in zip(*blocks, strict=True)))


def _figures(runs: Runs, judges: Judges, k: int, n_seeds: int) -> dict[str, Averaged]:
    few = min(FEW, k)
    figures = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XcidWarning)  # said when the model was first tried
        for name, masking in MASKINGS.items():
            curves = [judges.curves(scores=values, masking=masking) for values in runs.values[:n_seeds]]
            for kind, at in (("comp", "masked"), ("suff", "kept")):
                falls = [(one.full[:, None] - getattr(one, at)).mean(axis=1) for one in curves]
                figures[f"{kind}, {name}"] = average(falls)
        shares = [judges.flips(scores=values, k=few) for values in runs.values[:n_seeds]]
    figures[f"necessity, top {few}"] = average([one.top for one in shares])
    figures[f"sufficiency, top {few}"] = average([one.any - one.rest for one in shares])
    figures[f"two seeds, top {k}"] = average([metrics.stability(runs.values, k)])
    figures["evaluations a row"] = average(runs.evaluations[:n_seeds])
    figures["ms a row"] = average(runs.milliseconds[:n_seeds])
    return figures


def _agreement(one: Runs, other: Runs, k: int, n_seeds: int) -> Averaged:
    pairs = zip(one.values[:n_seeds], other.values[:n_seeds], strict=True)
    return average([metrics.feature_agreement(a, b, k) for a, b in pairs])


def average(figures: Any) -> Averaged:
    """Mean of (s, n) figures, of s seeds and n rows.

    Seeds of one row are no further rows: so they are averaged before the standard error is taken over rows.

    Examples
    --------
    >>> average([[1.0, 3.0], [2.0, 4.0]])
    Averaged(mean=2.5, margin=2.0, over_seeds=1.0)
    """
    by_seed = np.asarray(figures, dtype=np.float64)
    return Averaged(*interval(by_seed.mean(axis=0)), interval(by_seed.mean(axis=1)).margin)


def markdown(comparison: Comparison) -> str:
    """The figures, the agreement of the methods, and what was left out."""
    methods, n_seeds = comparison.methods, len(comparison.seeds)
    figures = [[method, *map(shown, comparison.figures[method].values())] for method in methods]
    agreement = [[method, *(shown(comparison.agreement[method, other]) for other in methods)] for method in methods]
    each = f", each of them the mean of {n_seeds} seeds" if n_seeds > 1 else ""
    parts = [
        aligned(["method", *comparison.figures[methods[0]]], figures, str.rjust, gap="-"),
        "comp: how far the output falls when the best features are masked, the higher the better;\n"
        "suff: when only they are kept, the lower the better;\n"
        "necessity: the share of ten wanted flips that are found when only the best features may change, the higher "
        "the better;\n"
        "sufficiency: the share of them that are lost when the best features are frozen, the higher the better;\n"
        f"±: two standard errors over rows{each} (of ms: over blocks of rows)",
        aligned([f"top {comparison.k} in common", *methods], agreement, str.rjust, gap="-"),
        *(f"left out: {method}: {reason}" for method, reason in comparison.left_out.items()),
    ]
    return "\n\n".join(parts)


def shown(figure: Averaged) -> str:
    """A mean with its margin, in as many digits as it is worth.

    Examples
    --------
    >>> shown(Averaged(0.12345, 0.01, 0.0)), shown(Averaged(25401.2, 12.0, 9.0)), shown(Averaged(1.5, np.inf, 0.0))
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
            means, margins, _ = np.transpose(figures)
            known = np.where(np.isfinite(margins), margins, 0.0)
            ax.errorbar(means, places + shift, xerr=known, fmt=marker, color=colour, capsize=2, label=f"{kind}, {name}")
    ax.axvline(0, color=colours.INK, linewidth=0.8)
    ax.set_yticks(places, comparison.methods)
    ax.invert_yaxis()
    ax.set_xlabel("fall of the output, ± two standard errors")
    ax.set_title("faithfulness: comp high, suff low")
    ax.legend(fontsize="small", frameon=False, ncols=4, loc="upper center", bbox_to_anchor=(0.5, -0.14))
    ax.spines[["top", "right"]].set_visible(False)
