"""What a score says in units that people use, about whom, and what is behind it: effects, signs, densities."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

import numpy as np

from xcid._check import position_of, sign_of
from xcid.cid.densities.mixed import Mixed
from xcid.cid.per_feature import evidence as densities_of
from xcid.contributions.adjusted import Adjusted, to_d1
from xcid.contributions.moves import moves
from xcid.errors import EvidenceNotKept, InvalidParameter
from xcid.outcomes.classes import Flip, are_probabilities, class_names, column_of, least_probability
from xcid.outcomes.protocol import as_question
from xcid.records import UNKNOWN, DensityPair, Estimate, Explanation, Flags, Integers, fields

E = TypeVar("E", bound=Explanation)
UP = "up"  # the direction of a regression
ABSENT = frozenset(("no", "none", "false", "negative"))  # classes that are the absence of another
NOT_KEPT = (
    "the model's answers behind these scores were not kept: too many rows were explained at once, or the scores come "
    "from a file; explain fewer rows at once or raise max_evidence_bytes of the Explainer, and after loading explain "
    "the rows again"
)
NEVER_KEPT = (
    "the generator of these scores does not keep the model's answers: explain the rows again with the recommended "
    "setting"
)


def effects(explanation: Explanation) -> Estimate:
    """By how much present values move the output: that of a regression, or the probability of the class in question.

    That is the class that signs are about, the target of the question, or the class that is predicted for each row.
    """
    known = fields.estimate(explanation, "moved")
    if known is not None:
        return known
    cloud = _asked(explanation)
    column = in_question(explanation)
    return moves(cloud, np.take_along_axis(cloud.outputs, column[:, None, None], axis=2)[:, :, 0])


def evidence(explanation: Explanation, row: int, feature: int | str) -> DensityPair:
    """The two densities behind one score."""
    row, column = position_of(row, len(explanation), "row"), explanation.position(feature)
    if explanation.cloud is None:
        raise EvidenceNotKept(
            "the samples behind these scores were not kept: explain this row by itself, "
            "or raise max_evidence_bytes of the Explainer"
        )
    if explanation.density is None:
        raise EvidenceNotKept(
            "the density of these scores is your own, which a file does not keep: "
            "give it again with xcid.load(path, density=...)"
        )
    return densities_of(explanation.cloud, row, column, explanation.density)


def in_question(explanation: Explanation) -> Integers:
    """(n,) the output that a question is about: the class that signs are about, its target, or the predicted one."""
    n, names = len(explanation), explanation.output_names
    about = explanation.about or _target(explanation)
    if explanation.outputs.shape[1] == 1 or about == UP:
        return np.zeros(n, dtype=np.int64)
    if about is None:
        return np.asarray(np.nan_to_num(explanation.outputs, nan=-np.inf).argmax(axis=1))
    return np.full(n, column_of(about, names))


def explained(explanation: E) -> E:
    """The rows that have scores, to be averaged; all rows where none has."""
    known = ~np.isin(explanation.status, UNKNOWN)
    return explanation[known] if known.any() else explanation


def usual_direction(explanation: Explanation) -> str:
    """Whom signs of many rows are about by default: the second of two classes, or up; "" where there is no such."""
    if explanation.about or not explanation.direction.any():
        return explanation.about
    if explanation.outputs.shape[1] == 1:
        return UP if explanation.moved_lower is not None else ""
    names = class_names(explanation.output_names)
    return _positive(names[0], names[1]) if len(names) == 2 else ""


def _positive(first: str, second: str) -> str:
    """The class that people ask about: the second of two, unless it is the absence of the first.

    Examples
    --------
    >>> _positive("0", "1"), _positive("diabetes", "no diabetes")
    ('1', 'diabetes')
    """
    said = second.strip().lower()
    return first if said in ABSENT or said.startswith(("no ", "not ", "non-")) else second


def usual(explanation: E) -> E:
    """The explanation of many rows as it is shown: with signs about one class for all of them, where there is one."""
    name = usual_direction(explanation)
    return towards(explanation, name) if name else explanation


def of_row(one: E) -> E:
    """The explanation of a single row as it is shown: that of a regression is about what raises the output.

    Where the question is another one than whether the output moves, it stays about that question.
    """
    asks_for_moves = one.outcome is None or as_question(one.outcome).about_prediction
    return usual(one) if one.moved is not None and asks_for_moves else one


def towards(explanation: E, name: str) -> E:
    """The same explanation with every sign about one class, or "up" for a regression."""
    is_number = explanation.outputs.shape[1] == 1
    if explanation.about == (UP if is_number and sign_of(name) > 0 else str(name)):
        return explanation
    if explanation.about:
        raise InvalidParameter(f"signs are already about {explanation.about!r}: start from the original explanation")
    if not explanation.direction.any() and len(explanation):
        raise InvalidParameter("these scores have no sign: explain with the recommended setting")
    if is_number:
        return _upwards(explanation, name)
    column = column_of(name, explanation.output_names)
    names = class_names(explanation.output_names)
    asked = _target(explanation)
    if len(names) > 2 and (asked is None or column_of(asked, explanation.output_names) != column):
        return _against_the_rest(explanation, column)
    turned = fields.turn(explanation, np.where(_is_there(explanation, column), 1.0, -1.0))
    return replace(turned, settings=_about(explanation, names[names.index(str(name))]))


def _upwards(explanation: E, name: str) -> E:
    if sign_of(name) < 0:
        raise InvalidParameter(f"the scores of a regression are about {UP!r}: what lowers the output is below 0 there")
    if not sign_of(name):
        raise InvalidParameter(f"the scores of a regression are about {UP!r}, not {name!r}")
    if explanation.moved_lower is None or not explanation.output_scales:
        raise EvidenceNotKept(NEVER_KEPT)
    found, scale = effects(explanation), explanation.output_scales[0] or 1.0
    value, lower, upper = (to_d1(part / scale) for part in found[:3])
    known = fields.named(explanation, "values", Estimate(value, lower, upper, found.p))
    known |= {"direction": np.sign(found.value), "settings": _about(explanation, UP)}
    return fields.rescore(explanation, "values", **known)


def _is_there(explanation: Explanation, column: int) -> Flags:
    """(n,) rows whose present answer lies on the side of a class."""
    asked = Flip() if explanation.outcome is None else as_question(explanation.outcome)
    return asked.speaks_for(column, explanation.outputs, explanation.output_names)


def _target(explanation: Explanation) -> Any:
    """The class that the question is about, if any."""
    return None if explanation.outcome is None else as_question(explanation.outcome).target


def _against_the_rest(explanation: E, column: int) -> E:
    """Score one of several classes against all others, by what the model answered."""
    cloud = _asked(explanation)
    chance = cloud.outputs[:, :, column]
    known = ~np.isnan(chance).any(axis=1)
    least = cloud.least
    if least is None and are_probabilities(explanation.outputs) and known.any():
        least = least_probability(cloud.outputs[known].reshape(-1, cloud.outputs.shape[2]))
    chance = np.where(known[:, None], np.clip(chance, 0.0, 1.0), 0.5)
    scores = Adjusted(explanation.density or Mixed())(replace(cloud, positive=1 - chance, negative=chance, least=least))
    unknown = {each.name: each.unknown for each in fields.declared(explanation)}
    parts = {name: part for name, part in scores._asdict().items() if part is not None}
    known_parts: dict[str, Any] = {name: np.where(known[:, None], part, unknown[name]) for name, part in parts.items()}
    about = _about(explanation, explanation.output_names[column])
    return fields.rescore(explanation, "values", **known_parts, settings=about)


def _asked(explanation: Explanation) -> Any:
    """The cloud with what the model answered for it."""
    cloud = explanation.cloud
    if cloud is None or cloud.outputs is None:
        raise EvidenceNotKept(NOT_KEPT if cloud is None or cloud.plans else NEVER_KEPT)
    return cloud


def _about(explanation: Explanation, name: str) -> dict[str, str]:
    return {**(explanation.settings or {}), "towards": name}
