"""Our figures: means with 2σ/√n, from the measured scores and curves alone."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np

from xcid.lab.reproduction.measure import Results
from xcid.lab.reproduction.readings import FAITHFULNESS, KERNELS, PRINTED
from xcid.metrics import Interval, feature_agreement, interval, paired, rank_agreement

Cells: TypeAlias = Mapping[str, Interval]
COMPARED = ("dice", "shap", "lime", "cid", "recommended")
PEERS = ("dice", "shap", "lime", "chance")


@dataclass(frozen=True, slots=True, eq=False)
class Ours:
    """Of one data set.

    Attributes
    ----------
    agreement : mapping
        Of top-k sets, by pair of methods; "cid, cid-again" are two runs of one setting with other seeds, each averaged
        over the repeats, and "single run" two single runs.
    comprehensiveness, sufficiency : mapping of mappings
        By title of the reading, then by method.
    kernels : mapping of mappings
        By title of the reading, then by pair of kernels.
    genetic : mapping
        Agreement of genetic samples with random ones: by how it is counted and who searched.
    lead : mapping of mappings
        Paired differences of comprehensiveness minus sufficiency, as printed: CID, with either treatment of constants,
        less each other method.
    """

    agreement: Cells
    comprehensiveness: Mapping[str, Cells]
    sufficiency: Mapping[str, Cells]
    kernels: Mapping[str, Cells]
    genetic: Cells
    lead: Mapping[str, Cells]

    @staticmethod
    def of(results: Results, k: int) -> Ours:
        """Summarise what was measured on one data set."""
        faithful = {
            reading.title: {key: reading(measured) for key, measured in results.items()} for reading in FAITHFULNESS
        }
        comprehensiveness, sufficiency = (
            {title: {key: interval(both[part]) for key, both in methods.items()} for title, methods in faithful.items()}
            for part in (0, 1)
        )
        net = {key: first - second for key, (first, second) in faithful[PRINTED.title].items()}
        return Ours(
            agreement=_agreement(results, k),
            comprehensiveness=comprehensiveness,
            sufficiency=sufficiency,
            kernels={reading.title: reading(results, k) for reading in KERNELS},
            genetic=_genetic(results, k),
            lead={key: {peer: paired(net[key], net[peer]) for peer in PEERS} for key in ("cid", "cid-zero")},
        )


def _agreement(results: Results, k: int) -> dict[str, Interval]:
    scores = {key: results[key].scores for key in (*COMPARED, "cid-zero", "cid-again")}
    cells = {
        f"{a}, {b}": interval(feature_agreement(scores[a], scores[b], k))
        for place, a in enumerate(COMPARED)
        for b in COMPARED[place + 1 :]
    }
    for peer in ("dice", "shap", "lime"):
        cells[f"{peer}, cid-zero"] = interval(feature_agreement(scores[peer], scores["cid-zero"], k))
    cells["cid, cid-again"] = interval(feature_agreement(scores["cid"], scores["cid-again"], k))
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
    return json.dumps({key: _plain(asdict(one)) for key, one in ours.items()}, indent=1, sort_keys=True)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return {str(name): _plain(part) for name, part in value.items()}
    if isinstance(value, tuple):
        return [float(part) if np.isfinite(part) else None for part in value]
    return value
