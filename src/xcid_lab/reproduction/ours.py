"""Our figures: means with 2σ/√n, from the measured scores and curves alone, under every reading of the paper."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import partial
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from xcid.metrics import feature_agreement, rank_agreement
from xcid.records import Array
from xcid_lab.metrics import Interval, interval, paired
from xcid_lab.reproduction.measure import Measured, Results

Cells: TypeAlias = Mapping[str, Interval]
COMPARED = ("dice", "shap", "lime", "cid", "recommended")
PEERS = ("dice", "shap", "lime")

# What the paper may mean: the same runs, counted in several ways, each known by its title.
REDUCTIONS: dict[str, Callable[..., Array]] = {"mean": np.mean, "sum": np.sum}  # the mean is what the paper prints
RANKINGS: dict[str, Callable[[Measured], tuple[Array, Array]]] = {  # outputs with the first features masked, and kept
    "by magnitude": lambda one: (one.masked, one.kept),
    "by signed score": lambda one: (one.masked_signed, one.kept_signed),
    # masking the best l features is keeping the worst d - l
    "by magnitude, smallest first": lambda one: (one.kept[:, ::-1], one.masked[:, ::-1]),
    "by signed score, lowest first": lambda one: (one.kept_signed[:, ::-1], one.masked_signed[:, ::-1]),
}
SIDES: dict[str, Callable[[Measured], Array]] = {  # +1, or -1 where the output is that of the other class
    "predicted class": lambda one: np.ones(len(one.full)),  # as the paper has it
    "class 1": lambda one: np.where(one.predicted == 1, 1.0, -1.0),  # whatever is predicted
}


def faithfulness(reduction: str, ranking: str, side: str, measured: Measured) -> tuple[Array, Array]:
    """(n,) comprehensiveness and (n,) sufficiency."""
    comprehensiveness, sufficiency = (
        SIDES[side](measured) * REDUCTIONS[reduction](measured.full[:, None] - outputs, axis=1)
        for outputs in RANKINGS[ranking](measured)
    )
    return comprehensiveness, sufficiency


FAITHFULNESS = {
    f"{reduction}, {ranking}, {side}": partial(faithfulness, reduction, ranking, side)
    for side in SIDES
    for ranking in RANKINGS
    for reduction in REDUCTIONS
}
PRINTED, PLAIN_SUM, SIGNED, *_ = FAITHFULNESS

COUNTS = {"sets": feature_agreement, "ranks": rank_agreement}
SAMPLED = {  # methods of the two other kernels: by bandwidth, and whether they have samples of their own
    "Silverman, same samples": "silverman",
    "Silverman, own samples": "silverman-own",
    "bandwidth 1, same samples": "one",
    "bandwidth 1, own samples": "one-own",
}
RUNS: dict[str, Callable[[Measured], Array]] = {
    "mean of runs": lambda one: one.scores,  # as in the main text
    "one run": lambda one: one.runs[0],  # the appendix mentions no repeats
}


def kernel_agreement(count: str, sampled: str, runs: str, results: Results, k: int) -> dict[str, Interval]:
    """Agreement of each pair of kernels."""
    keys = {"gaussian": "cid"} | {name: f"{name}-{SAMPLED[sampled]}" for name in ("epanechnikov", "exponential")}
    scores = {name: RUNS[runs](results[key]) for name, key in keys.items()}
    return {f"{a}, {b}": interval(COUNTS[count](scores[a], scores[b], k)) for a, b in combinations(scores, 2)}


KERNELS = {
    f"{count}, {sampled}, {runs}": partial(kernel_agreement, count, sampled, runs)
    for count in COUNTS
    for sampled in SAMPLED
    for runs in RUNS
}
AS_DESCRIBED, *_ = KERNELS


class Ours(NamedTuple):
    """The figures of one data set.

    "cid, cid-again" in ``agreement`` are two runs of one setting with other seeds, each averaged over the repeats, and
    "single run" two single runs.
    """

    agreement: Cells  # of top-k sets, by pair of methods
    comprehensiveness: Mapping[str, Cells]  # by title of the reading, then by method
    sufficiency: Mapping[str, Cells]
    kernels: Mapping[str, Cells]  # by title of the reading, then by pair of kernels
    genetic: Cells  # agreement of genetic samples with random ones: by how it is counted and who searched
    lead: Mapping[str, Cells]  # CID's comprehensiveness minus sufficiency, less that of others, in pairs of rows

    @staticmethod
    def of(results: Results, k: int) -> Ours:
        """Summarise what was measured on one data set."""
        faithful = {title: {key: read(found) for key, found in results.items()} for title, read in FAITHFULNESS.items()}
        comprehensiveness, sufficiency = (
            {title: {key: interval(both[part]) for key, both in methods.items()} for title, methods in faithful.items()}
            for part in (0, 1)
        )
        net = {key: first - second for key, (first, second) in faithful[PRINTED].items()}
        return Ours(
            agreement=_agreement(results, k),
            comprehensiveness=comprehensiveness,
            sufficiency=sufficiency,
            kernels={title: read(results, k) for title, read in KERNELS.items()},
            genetic=_genetic(results, k),
            lead={
                key: {peer: paired(net[key], net[peer]) for peer in (*PEERS, "chance")} for key in ("cid", "cid-zero")
            },
        )


def _agreement(results: Results, k: int) -> dict[str, Interval]:
    pairs = [*combinations(COMPARED, 2), *((peer, "cid-zero") for peer in PEERS), ("cid", "cid-again")]
    cells = {f"{a}, {b}": interval(feature_agreement(results[a].scores, results[b].scores, k)) for a, b in pairs}
    first, second = results["cid"].runs[0], results["cid-again"].runs[0]
    return cells | {"single run": interval(feature_agreement(first, second, k))}


def _genetic(results: Results, k: int) -> dict[str, Interval]:
    cells: dict[str, Interval] = {}
    for key in ("genetic", "dice-genetic"):
        if key in results:
            n = min(len(results[key].full), len(results["cid"].full))
            pair = results["cid"].scores[:n], results[key].scores[:n]
            cells |= {f"{count}, {key}": interval(agreement(*pair, k)) for count, agreement in COUNTS.items()}
    return cells


def as_json(ours: Mapping[str, Ours]) -> str:
    """All figures as text, for other programs; null where an interval is not known."""
    return json.dumps({key: _plain(one._asdict()) for key, one in ours.items()}, indent=1, sort_keys=True)


def _plain(value: Mapping[str, object] | object) -> object:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [float(part) if np.isfinite(part) else None for part in value] if isinstance(value, tuple) else value
