"""The figures that the paper prints. Only the pages read them: nothing of ours depends on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from xcid.metrics import Interval

NAMES = {"gaussian": "cid", "CID": "cid", "DiCE": "dice", "SHAP": "shap", "LIME": "lime"}


@dataclass(frozen=True, slots=True, eq=False)
class Published:
    """Of one data set, under the same names as ours.

    Attributes
    ----------
    agreement : mapping
        By pair of methods, "cid, dice".
    comprehensiveness, sufficiency : mapping
        By method, kernel or generator.
    kernels : mapping
        Agreement by pair of kernels.
    genetic : Interval
        Agreement of the genetic generator with the random one.
    """

    agreement: Mapping[str, Interval]
    comprehensiveness: Mapping[str, Interval]
    sufficiency: Mapping[str, Interval]
    kernels: Mapping[str, Interval]
    genetic: Interval


def read() -> str:
    """The file as it is."""
    return (files("xcid.lab.reproduction") / "published.json").read_text(encoding="utf-8")


def load() -> dict[str, Published]:
    """By key of the data set."""
    figures = json.loads(read())
    return {subject: _published(figures, subject) for subject in ("diabetes", "heart")}


def _published(figures: Mapping[str, Any], subject: str) -> Published:
    faithful = {}
    for metric in ("comprehensiveness", "sufficiency"):
        both = figures["settings_faithfulness"][subject][metric] | figures[metric][subject]
        faithful[metric] = {_name(name): Interval(*pair) for name, pair in both.items()}
    agreement, kernels = figures["feature_agreement_top4"], figures["kernel_agreement_top4"]
    return Published(
        agreement=_pairs([_name(name) for name in agreement["methods"]], agreement[subject]),
        comprehensiveness=faithful["comprehensiveness"],
        sufficiency=faithful["sufficiency"],
        kernels=_pairs(kernels["kernels"], kernels[subject]),
        genetic=Interval(*figures["genetic_agreement_with_standard_top4"][subject]),
    )


def _name(name: str) -> str:
    return NAMES.get(name, name)


def _pairs(names: list[str], matrix: Mapping[str, Any]) -> dict[str, Interval]:
    """Every pair under both orders of its names, but for the diagonal."""
    return {
        f"{a}, {b}": Interval(matrix["mean"][i][j], matrix["half_width"][i][j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i != j
    }
