"""Our figures: means with 2σ/√n, from the measured scores and curves alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from xcid.lab.reproduction.measure import Results
from xcid.lab.reproduction.readings import FAITHFULNESS, KERNELS, PRINTED
from xcid.metrics import Interval, feature_agreement, interval, paired, rank_agreement

Cells: TypeAlias = Mapping[str, Interval]
COMPARED = ("dice", "shap", "lime", "cid", "recommended")
PEERS = ("dice", "shap", "lime")


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
    cells = {}
    for key in ("genetic", "dice-genetic"):
        if key in results:
            n = min(len(results[key].full), len(results["cid"].full))
            pair = results["cid"].scores[:n], results[key].scores[:n]
            cells[f"sets, {key}"] = interval(feature_agreement(*pair, k))
            cells[f"ranks, {key}"] = interval(rank_agreement(*pair, k))
    return cells


def as_json(ours: Mapping[str, Ours]) -> str:
    """All figures as text, for other programs; null where an interval is not known."""
    return json.dumps({key: _plain(one._asdict()) for key, one in ours.items()}, indent=1, sort_keys=True)


def _plain(value: Mapping[str, object] | object) -> object:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    return [float(part) if np.isfinite(part) else None for part in value] if isinstance(value, tuple) else value
