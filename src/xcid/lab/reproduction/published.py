"""The figures that the paper prints. Only the pages read them: nothing of ours depends on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, NamedTuple

from xcid.lab.reproduction.ours import Cells
from xcid.lab.splits import TITLES
from xcid.metrics import Interval

NAMES = {"gaussian": "cid", "CID": "cid", "DiCE": "dice", "SHAP": "shap", "LIME": "lime"}


class Published(NamedTuple):
    """The figures of one data set, under the same names as ours."""

    agreement: Cells  # by pair of methods, "cid, dice"
    comprehensiveness: Cells  # by method, kernel or generator
    sufficiency: Cells
    kernels: Cells  # agreement, by pair of kernels
    genetic: Interval  # agreement of the genetic generator with the random one


def read() -> str:
    """The file as it is."""
    return (files("xcid.lab.reproduction") / "published.json").read_text(encoding="utf-8")


def load() -> dict[str, Published]:
    """By key of the data set."""
    figures = json.loads(read())
    return {subject: _published(figures, subject) for subject in TITLES}


def _published(figures: Mapping[str, Any], subject: str) -> Published:
    comprehensiveness, sufficiency = (
        {
            NAMES.get(name, name): Interval(*pair)
            for name, pair in (figures["settings_faithfulness"][subject][metric] | figures[metric][subject]).items()
        }
        for metric in ("comprehensiveness", "sufficiency")
    )
    agreement, kernels = figures["feature_agreement_top4"], figures["kernel_agreement_top4"]
    return Published(
        agreement=_pairs([NAMES[name] for name in agreement["methods"]], agreement[subject]),
        comprehensiveness=comprehensiveness,
        sufficiency=sufficiency,
        kernels=_pairs(kernels["kernels"], kernels[subject]),
        genetic=Interval(*figures["genetic_agreement_with_standard_top4"][subject]),
    )


def _pairs(names: list[str], matrix: Mapping[str, Any]) -> dict[str, Interval]:
    """Every pair under both orders of its names, but for the diagonal."""
    return {
        f"{a}, {b}": Interval(matrix["mean"][i][j], matrix["half_width"][i][j])
        for i, a in enumerate(names)
        for j, b in enumerate(names)
        if i != j
    }
