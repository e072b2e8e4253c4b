"""What contributions are about, and on which scale; the evidence behind an importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from xcid._check import position_of, sign_of
from xcid._kernels.arrays import ratio
from xcid.cid.per_feature import evidence as densities_of
from xcid.contributions import sampled
from xcid.contributions.scale import Scale
from xcid.errors import EvidenceNotKept, InvalidParameter
from xcid.outcomes.classes import Flip, class_names, column_of
from xcid.outcomes.protocol import as_question
from xcid.records import (
    UNKNOWN,
    Array,
    DensityPair,
    Estimate,
    Explanation,
    Integers,
    Outcome,
    Perturbations,
    Plan,
    fields,
)

E = TypeVar("E", bound=Explanation)
ROUNDED = 1e-5  # of an output, by a model that computes in single precision
NOT_KEPT = (
    "the outputs of the samples behind this explanation were not kept: too many rows were explained at once, or it "
    "comes from a file; explain fewer rows at once or raise max_evidence_bytes of the Explainer, and after loading "
    "explain the rows again"
)
LIMITED = (
    "the samples that were kept obey constraints, and contributions are about features without them: explain the rows "
    "again with Explainer(..., scale=...), or with a question about the class that is meant"
)
NEVER_KEPT = "the generator of this explanation does not keep outputs: explain the rows again with the recommended one"


def column_in_question(outcome: Outcome | None, outputs: Array, names: Sequence[str]) -> Integers:
    """(n,) the output that contributions of rows with (n, k) outputs are about.

    The target of the question, the second of two classes, the predicted one of several, or the one number.
    """
    target, n_classes = None if outcome is None else as_question(outcome).target, len(class_names(names))
    if target is not None or n_classes <= 2:
        return np.full(len(outputs), column_of(target, names))
    return np.asarray(np.nan_to_num(outputs, nan=-np.inf).argmax(axis=1))


def contribute(
    cloud: Perturbations,
    outputs: Array,
    names: Sequence[str],
    column: Integers,
    scale: Scale,
    usual: Mapping[str, Sequence[float]],
    measure: sampled.Measure | None = None,
) -> dict[str, Any]:
    """Contributions by the samples of a cloud, about an output of each row, by the names that a record has for them."""
    if cloud.outputs is None:
        raise EvidenceNotKept(NEVER_KEPT)
    base = np.array(usual["base_log_odds" if scale.name == "log_odds" else "base_outputs"])[column]
    gap = scale(outputs, column) - base
    found = sampled.contributions(cloud, scale(cloud.outputs, column[:, None]), gap, measure)
    return {**fields.named(Explanation, "values", found), **_told(scale, base, column, names)}


def count_out(
    found: Array, bases: Array, outputs: Array, names: Sequence[str], column: Integers, scale: Scale
) -> dict[str, Any]:
    """Exact contributions by name: from (n, f, q) values and (q,) bases of every class, or of the second of two.

    What the model's own rounding leaves between their sum and its (n, k) outputs is divided by their size.
    """
    if found.shape[2] == 1:
        sign = np.where((column == 0) & (scale.name == "log_odds"), -1.0, 1.0)
        values, base = found[:, :, 0] * sign[:, None], bases[0] * sign
    else:
        values, base = np.take_along_axis(found, column[:, None, None], axis=2)[:, :, 0], bases[column]
    own, size = scale(outputs, column), np.abs(values)
    is_rounded = size < sampled.ROUNDING * np.maximum(np.abs(own), size.max(axis=1, initial=0.0))[:, None]
    values, size = (np.where(is_rounded, 0.0, part) for part in (values, size))
    gap = own - base - values.sum(axis=1)
    is_rounding = np.abs(gap) <= ROUNDED * (1 + np.abs(own))
    values = values + np.where(is_rounding, gap, 0.0)[:, None] * ratio(size, size.sum(axis=1)[:, None])
    estimate = Estimate(values, values, values, np.where(values == 0, 1.0, 0.0))
    told = _told(scale, base, column, names) | {"exact": np.ones(len(base), dtype=bool)}
    return {**fields.named(Explanation, "values", estimate), **told}


def _told(scale: Scale, base: Array, column: Integers, names: Sequence[str]) -> dict[str, Any]:
    """What is told of contributions beside their values."""
    about = np.full(len(column), "") if len(names) == 1 else np.array(names)[column]
    return {"base_values": base, "about": about, "exact": np.zeros(len(base), dtype=bool), "scale": scale.name}


def contributed(explanation: Explanation) -> dict[str, Any]:
    """What an explanation has about contributions, by name; nothing where its values are none."""
    if explanation.base_values is None:
        return {}
    names = (*fields.parts_of(explanation, "values").values(), "base_values", "about", "exact", "scale")
    return {name: getattr(explanation, name) for name in names}


def about_question(explanation: E, outcome: Outcome) -> E:
    """The same explanation with signs about the target of another question, if it has one."""
    target = as_question(outcome).target
    return explanation if target is None or explanation.base_values is None else towards(explanation, str(target))


def evidence(explanation: Explanation, row: int, feature: int | str) -> DensityPair:
    """The two densities whose distance one importance is."""
    row, column = position_of(row, len(explanation), "row"), explanation.position(feature)
    if explanation.cloud is None:
        raise EvidenceNotKept(
            "the samples behind this importance were not kept: explain this row by itself, "
            "or raise max_evidence_bytes of the Explainer"
        )
    if explanation.density is None:
        raise EvidenceNotKept(
            "the density of this explanation is your own, which a file does not keep: "
            "give it again with xcid.load(path, density=...)"
        )
    return densities_of(explanation.cloud, row, column, explanation.density)


def sides(explanation: Explanation) -> Array:
    """(n,) 1 for rows in which values above 0 support the present answer to the question, and -1 for the others."""
    names, outcome = explanation.output_names, explanation.outcome
    question = Flip() if outcome is None else as_question(outcome)
    column = [0 if len(names) == 1 else column_of(name, names) for name in explanation.about.tolist()]
    speaks = {at: question.speaks_for(at, explanation.outputs, names) for at in {*column}}
    return np.array([1.0 if speaks[at][row] else -1.0 for row, at in enumerate(column)])


def supporting(explanation: Explanation) -> Array:
    """(n, d) scores to rank by, as metrics do: above 0 where a value supports the present answer to the question.

    Contributions to a number count by their size, and values that do not add up as they are.
    """
    if explanation.base_values is None:
        return explanation.values
    if explanation.scale == "number":
        return np.abs(explanation.values)
    return sides(explanation)[:, None] * explanation.values


def explained(explanation: E) -> E:
    """The rows that have scores, to be averaged; all rows where none has."""
    known = ~np.isin(explanation.status, UNKNOWN)
    return explanation[known] if known.any() else explanation


def towards(explanation: E, name: str) -> E:
    """The same explanation with every sign about one class, or "up" for a number."""
    if explanation.base_values is None:
        raise InvalidParameter("these values have no sign: explain with the recommended setting")
    names = explanation.output_names
    if len(names) == 1:
        if sign_of(name) > 0:
            return explanation
        advice = ": what lowers the output is below 0" if sign_of(name) < 0 else f", not {name!r}"
        raise InvalidParameter(f"the contributions to a number are about 'up'{advice}")
    column = column_of(name, names)
    if (explanation.about == names[column]).all():
        return explanation
    if len(class_names(names)) == 2 and explanation.scale != "number":
        return _turned(explanation, names[column])
    return _again(explanation, np.full(len(explanation), column), explanation.scale)


def on(explanation: E, scale: str) -> E:
    """The same explanation on another scale: "log_odds" or "probability"."""
    if explanation.scale == scale:
        return explanation
    if scale not in ("log_odds", "probability"):
        raise InvalidParameter(f"a scale is 'log_odds' or 'probability', not {scale!r}")
    if explanation.base_values is None or explanation.scale == "number":
        raise InvalidParameter(f"these values are measured in {explanation.unit}: they have no other scale")
    columns = np.array([column_of(name, explanation.output_names) for name in explanation.about])
    return _again(explanation, columns, scale)


def _turned(explanation: E, name: str) -> E:
    """The same contributions about the other one of two classes, where they are not about it yet."""
    sign = np.where(explanation.about == name, 1.0, -1.0)
    base = np.asarray(explanation.base_values)
    turned = np.where(sign > 0, base, -base if explanation.scale == "log_odds" else 1 - base)
    found = fields.turn(explanation, "values", sign)
    return replace(found, base_values=turned, about=np.full(len(sign), name))


def _again(explanation: E, column: Integers, name: str) -> E:
    """The contributions again, by the outputs of samples that were kept: about other outputs, or on another scale."""
    cloud = explanation.cloud
    if cloud is None or cloud.outputs is None:
        raise EvidenceNotKept(NOT_KEPT if cloud is None or cloud.plans else NEVER_KEPT)
    if any(plan.fitted.any() or not plan.free.all() for plan in cloud.plans if isinstance(plan, Plan)):
        raise EvidenceNotKept(LIMITED)
    usual = {"base_outputs": explanation.base_outputs, "base_log_odds": explanation.base_log_odds}
    scale = Scale(name, explanation.least)  # type: ignore[arg-type]
    found = contribute(cloud, explanation.outputs, explanation.output_names, column, scale, usual)
    return replace(explanation, **found)
