"""The same contributions about another class or on another scale; the evidence behind an importance."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar, cast

import numpy as np

from xcid._check import position_of, sign_of, warn
from xcid.cid.per_feature import evidence as densities_of
from xcid.contributions import sources
from xcid.contributions.scale import BASES, NEVER_KEPT, Name, Scale, contribute, count_out
from xcid.errors import EvidenceNotKept, InvalidParameter
from xcid.outcomes.classes import Flip, class_names, column_of
from xcid.outcomes.protocol import as_question
from xcid.records import (
    UNKNOWN,
    Array,
    Density,
    DensityPair,
    Explanation,
    Flags,
    Integers,
    Outcome,
    Perturbations,
    Plan,
    fields,
)

E = TypeVar("E", bound=Explanation)
NOT_KEPT = (
    "the outputs of the samples behind this explanation were not kept: too many rows were explained at once, or it "
    "comes from a file; explain fewer rows at once or raise max_evidence_bytes of the Explainer, and after loading "
    "explain the rows again"
)
LIMITED = (
    "the samples that were kept obey constraints, and contributions are about features without them: explain the rows "
    "again with Explainer(..., scale=...), or with a question about the class that is meant"
)

NO_SOURCES = (
    "what refits and other reference rows told was about other numbers, and is left out: limits allow for our own "
    "sampling alone; to keep it, choose the class by outcome=xcid.outcomes.ToClass(name), or the scale by scale=, when "
    "the rows are explained"
)


def about_question(explanation: E, outcome: Outcome, exact: tuple[str, Array] | None = None) -> E:
    """The same explanation with signs about the target of another question, if it has one.

    ``exact`` has another scale, and the exact contributions to every output on it, where they are known.
    """
    target = as_question(outcome).target
    if target is None or explanation.base_values is None:
        return explanation
    return towards(explanation, str(target), exact)


def evidence(explanation: Explanation, row: int, feature: int | str) -> DensityPair:
    """The two densities whose distance, without the noise of few samples, one importance is."""
    row, column = position_of(row, len(explanation), "row"), explanation.position(feature)
    cloud, density = require_evidence(explanation)
    return densities_of(cloud, row, column, density)


def require_evidence(explanation: Explanation) -> tuple[Perturbations, Density]:
    """The samples behind importance, and what turns them into densities."""
    if explanation.cloud is None:
        raise EvidenceNotKept(
            "the samples behind this importance were not kept: explain this row by itself, "
            "or raise max_evidence_bytes of the Explainer"
        )
    if explanation.details.density is None:
        raise EvidenceNotKept(
            "the density of this explanation is your own, which a file does not keep: "
            "give it again with xcid.load(path, density=...)"
        )
    return explanation.cloud, explanation.details.density


def sides(explanation: Explanation) -> Array:
    """(n,) 1 for rows in which values above 0 support the present answer to the question, and -1 for the others."""
    names, outcome = explanation.output_names, explanation.details.outcome
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


def towards(explanation: E, name: str, exact: tuple[str, Array] | None = None) -> E:
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
        found = _again(explanation, columns, explanation.scale, exact)
        return _keep(found, explanation, explanation.about == names[column])
    bases = np.array(getattr(explanation.details, BASES.get(explanation.scale, "base_outputs")))
    scale = Scale(cast(Name, explanation.scale), explanation.details.least)
    known = count_out(explanation.every_class, bases, explanation.outputs, names, columns, scale)
    return _carry_sources(replace(explanation, **known), columns)


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


def _again(explanation: E, column: Integers, name: str, exact: tuple[str, Array] | None = None) -> E:
    """The contributions again, by the outputs of samples that were kept: about other outputs, or on another scale."""
    cloud = explanation.cloud
    if cloud is None or cloud.outputs is None:
        raise EvidenceNotKept(NOT_KEPT if cloud is None or cloud.plans else NEVER_KEPT)
    if any(plan.fitted.any() or not plan.free.all() for plan in cloud.plans if isinstance(plan, Plan)):
        raise EvidenceNotKept(LIMITED)
    usual = {name: getattr(explanation.details, name) for name in ("base_outputs", *BASES.values())}
    scale = Scale(cast(Name, name), explanation.details.least)
    exact = exact or _known(explanation, column)
    found = contribute(cloud, explanation.outputs, explanation.output_names, column, scale, usual, exact=exact)
    return replace(_without_sources(explanation), **found)


def _keep(found: E, before: E, rows: Flags) -> E:
    """The same with the numbers that some rows had before, unless what limits allow for has changed."""
    if found.limits != before.limits:
        return found
    kept = {}
    for each in fields.list_fields(Explanation):
        old, new = getattr(before, each.name), getattr(found, each.name)
        if each.is_per_row and new is not old and old is not None:
            kept[each.name] = np.where(rows.reshape(-1, *[1] * (new.ndim - 1)), old, new)
    return replace(found, **kept)


def _carry_sources(found: E, column: Integers) -> E:
    """Exact contributions about other outputs, with what refits and other reference rows told about these."""
    if found.sd_computation is None:
        return found
    picked = fields.pick_output(found, column)
    if picked is None:
        return _without_sources(found)
    return sources.widen(follow_refits(replace(picked, p_computation=found.p_values)), found.limits)


def follow_refits(found: E) -> E:
    """The same explanation with the standard deviations over trainings that follow from its refits, if it has any."""
    if found.retrained is None:
        return found
    return replace(found, sd_training=sources.of_training(found.values, found.retrained))


def _without_sources(explanation: E) -> E:
    """The same without what refits and other reference rows told, which was about other numbers."""
    without = fields.without_sources(explanation)
    if without is None:
        return explanation
    warn(NO_SOURCES)
    return replace(without, limits=fields.COMPUTATION)


def _known(explanation: Explanation, column: Integers) -> tuple[str, Array] | None:
    """The scale of an exact explanation, and its contributions to every output, or to the one that is asked about."""
    if not explanation.exact.all():  # type: ignore[union-attr]
        return None
    if explanation.every_class is not None:
        return explanation.scale, explanation.every_class
    sign = np.where((column == 0) & (explanation.scale == "log_odds"), -1.0, 1.0)
    return explanation.scale, (sign[:, None] * explanation.values)[:, :, None]
