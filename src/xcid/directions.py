"""What contributions are about, and on which scale; the evidence behind an importance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np

from xcid._check import position_of, sign_of
from xcid._kernels.arrays import ratio
from xcid.cid.per_feature import evidence as densities_of
from xcid.contributions import sampled
from xcid.contributions.scale import Name, Scale, rival_of
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
BASES = {"log_odds": "base_log_odds", "margins": "base_margins"}
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
    rival = rival_of(outputs, column) if scale.name == "margins" else None
    base = _base(np.array(usual[BASES.get(scale.name, "base_outputs")]), column, rival)
    gap = scale(outputs, column, rival) - base
    numbers = scale(cloud.outputs, column[:, None], None if rival is None else rival[:, None])
    found = sampled.contributions(cloud, numbers, gap, measure)
    return {**fields.named(Explanation, "values", found), **_told(scale, base, column, rival, names)}


def count_out(
    found: Array, bases: Array, outputs: Array, names: Sequence[str], column: Integers, scale: Scale
) -> dict[str, Any]:
    """Exact contributions by name: from (n, f, q) values and (q,) bases of every output, or of the second of two.

    What the model's own rounding leaves between their sum and its (n, k) outputs is divided by their size.
    """
    rival = rival_of(outputs, column) if scale.name == "margins" else None
    if found.shape[2] == 1:
        sign = np.where((column == 0) & (scale.name == "log_odds"), -1.0, 1.0)
        values, base = found[:, :, 0] * sign[:, None], bases[0] * sign
    else:
        line = np.arange(len(found))
        values = found[line, :, column] - (0.0 if rival is None else found[line, :, rival])
        base = _base(bases, column, rival)
    own, size = scale(outputs, column, rival), np.abs(values)
    is_rounded = size < sampled.ROUNDING * np.maximum(np.abs(own), size.max(axis=1, initial=0.0))[:, None]
    values, size = (np.where(is_rounded, 0.0, part) for part in (values, size))
    gap = own - base - values.sum(axis=1)
    is_rounding = np.abs(gap) <= ROUNDED * (1 + np.abs(own))
    values = values + np.where(is_rounding, gap, 0.0)[:, None] * ratio(size, size.sum(axis=1)[:, None])
    estimate = Estimate(values, values, values, np.where(values == 0, 1.0, 0.0))
    told = _told(scale, base, column, rival, names) | {"exact": np.ones(len(base), dtype=bool)}
    every = {"every_class": found if found.shape[2] > 2 else None}
    return {**fields.named(Explanation, "values", estimate), **told, **every}


def _base(bases: Array, column: Integers, rival: Integers | None) -> Array:
    """(n,) base values about an output each, and against another."""
    return np.asarray(bases[column] if rival is None else bases[column] - bases[rival])


def _told(scale: Scale, base: Array, column: Integers, rival: Integers | None, names: Sequence[str]) -> dict[str, Any]:
    """What is told of contributions beside their values."""
    about, rivals = (
        None if at is None else np.full(len(at), "") if len(names) == 1 else np.array(names)[at]
        for at in (column, rival)
    )
    is_exact = np.zeros(len(base), dtype=bool)
    told = {"base_values": base, "about": about, "against": rivals, "exact": is_exact, "scale": scale.name}
    return told | {"every_class": None}


def contributed(explanation: Explanation) -> dict[str, Any]:
    """What an explanation has about contributions, by name; nothing where its values are none."""
    if explanation.base_values is None:
        return {}
    told = ("base_values", "about", "against", "every_class", "exact", "scale")
    names = [*fields.parts_of(explanation, "values").values(), *told]
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
    columns = np.full(len(explanation), column)
    if explanation.every_class is None:
        return _again(explanation, columns, explanation.scale)
    bases = np.array(getattr(explanation, BASES.get(explanation.scale, "base_outputs")))
    scale = Scale(cast(Name, explanation.scale), explanation.least)
    known = count_out(explanation.every_class, bases, explanation.outputs, names, columns, scale)
    return replace(explanation, **known)


def on(explanation: E, scale: str) -> E:
    """The same explanation on another scale: "log_odds", "margins" or "probability"."""
    if explanation.scale == scale:
        return explanation
    if scale not in ("log_odds", "margins", "probability"):
        raise InvalidParameter(f"a scale is 'log_odds', 'margins' or 'probability', not {scale!r}")
    if explanation.base_values is None or explanation.scale == "number":
        raise InvalidParameter(f"these values are measured in {explanation.unit}: they have no other scale")
    if scale == "margins" and len(explanation.output_names) == 2:
        return on(explanation, "log_odds")
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
    usual = {name: getattr(explanation, name) for name in ("base_outputs", *BASES.values())}
    scale = Scale(cast(Name, name), explanation.least)
    found = contribute(cloud, explanation.outputs, explanation.output_names, column, scale, usual)
    return replace(explanation, **found)
