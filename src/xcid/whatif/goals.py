"""What is wanted of the output: the far side of an outcome, or the other side of an explainer's own question."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xcid._check import sign_of
from xcid.errors import InvalidParameter
from xcid.outcomes import Lower, Outcome, Raise, ToClass
from xcid.outcomes.classes import OfOneOutput, are_probabilities, class_names
from xcid.outcomes.protocol import Question, as_question, remember, side
from xcid.records import Array, Integers, Texts
from xcid.subject import Subject


@dataclass(frozen=True, slots=True)
class Goal:
    """The far side of a question, for all rows; or for each the side on which it does not lie."""

    question: Question
    is_other_side: bool = False

    def gain(self, outputs: Array, own: Array) -> Array:
        """(N,) above 0 where (N, k) outputs reach the goal of rows with (N, k) own outputs; the more the better."""
        gain = self.question.gain(outputs, own)
        return np.where(side(self.question, own, own) > 0.5, -gain, gain) if self.is_other_side else gain


def goal_of(target: Any, subject: Subject, outcome: Outcome) -> Goal:
    """Bind a target to a model; None is the other side of the explainer's question."""
    if target is None:
        return Goal(as_question(outcome), is_other_side=True)
    at, wanted = _position(target, subject), target
    if at is not None:
        wanted = ToClass(subject.output_names[at], soft=are_probabilities(subject.outputs))
    elif sign_of(target):
        wanted = Raise() if sign_of(target) > 0 else Lower()
    if not callable(wanted) or isinstance(wanted, type):
        raise InvalidParameter(_advice(target, subject))
    question = as_question(wanted)
    if isinstance(question, OfOneOutput):
        at = None if subject.is_regression else _position(question.target, subject)
        if (at is None) != subject.is_regression or (subject.is_regression and question.target is not None):
            raise InvalidParameter(_advice(target, subject))
        if at is not None:
            question = remember(question, target=subject.output_names[at])
    return Goal(question.bind(subject.output_names, subject.outputs))


def describe_output(goal: Goal, outputs: Array, own: Array, names: tuple[str, ...]) -> tuple[Integers, Texts]:
    """(N,) the output that a line shows, and its class; of a regression "higher", "lower", or "" if nothing moves."""
    columns = goal.question.columns(outputs, own)
    if len(names) > 1:
        return columns, np.array(names)[columns]
    moved = np.sign(outputs[:, 0] - own[:, 0])
    return columns, np.select([moved > 0, moved < 0], ["higher", "lower"], "")


def _position(target: Any, subject: Subject) -> int | None:
    """The output of a class by its name, or by the model's own label."""
    if subject.is_regression or not isinstance(target, str | int | float | bool | np.generic):
        return None
    names = class_names(subject.output_names)
    labels = [str(label) for label in getattr(subject.model, "classes_", [])]
    for known in (names, labels if len(labels) == len(names) else []):
        if str(target) in known:
            return known.index(str(target))
    return None


def _advice(target: Any, subject: Subject) -> str:
    if subject.is_regression:
        return (
            f"target {target!r} does not fit a regression: use 'raise', 'lower', xcid.outcomes.Raise(by=0.1), "
            "Lower(by=0.1) or Within(low, high)"
        )
    names = class_names(subject.output_names)
    return f"target {target!r} is no class of this model: use one of {names}, or Within(0.7, target={names[-1]!r})"
