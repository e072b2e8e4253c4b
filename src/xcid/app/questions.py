"""What can be asked of a model, and the way from what a page asks to an outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xcid.app._fields import Fields
from xcid.errors import InvalidParameter
from xcid.explainer import Explainer
from xcid.outcomes import Interval, Outcome, SoftToClass, Threshold, ToClass
from xcid.outcomes.classes import are_probabilities, class_names
from xcid.question import usual_outcome
from xcid.records import Array
from xcid.report.scores import rounded
from xcid.subject import Subject


def questions(explainer: Explainer) -> list[dict[str, Any]]:
    """The kinds of questions, the usual one first, each with what it needs and a sensible value for that.

    ``targets`` says that a class has to be named, out of the first so many.
    """
    outputs, names = explainer.subject.outputs, explainer.subject.output_names
    if explainer.subject.is_regression:
        width = Interval().bind(names, outputs).half_width or 1.0
        interval = {"kind": "interval", "half_width": rounded(width, 3)}
        return [interval, {"kind": "threshold", "level": _middle(outputs[:, 0])}]
    targets = len(class_names(names))
    asked: list[dict[str, Any]] = [{"kind": "flip"}, {"kind": "class", "targets": targets}]
    if targets == len(names):  # the model gives more than labels
        level = 0.5 if are_probabilities(outputs) else _middle(outputs[:, -1])
        asked.append({"kind": "threshold", "targets": targets, "target": targets - 1, "level": level})
    return asked


def outcome(explainer: Explainer, asked: Fields) -> Outcome:
    """The outcome that a page asks for; says what is wrong where there is no such thing."""
    known = [question["kind"] for question in questions(explainer)]
    kind = asked.text("kind")
    if kind not in known:
        raise InvalidParameter(f"the question must be one of {known}, not {kind!r:.40}")
    return _MAKERS[kind](explainer.subject, asked)


def _flip(subject: Subject, asked: Fields) -> Outcome:
    asked.only("kind")
    return usual_outcome(subject)


def _to_class(subject: Subject, asked: Fields) -> Outcome:
    asked.only("kind", "target")
    make = SoftToClass if are_probabilities(subject.outputs) else ToClass
    return make(_target(subject, asked))


def _threshold(subject: Subject, asked: Fields) -> Outcome:
    asked.only("kind", "target", "level")
    return Threshold(asked.number("level"), _target(subject, asked))


def _interval(subject: Subject, asked: Fields) -> Outcome:
    asked.only("kind", "half_width")
    return Interval(asked.number("half_width"))


_MAKERS: dict[str, Callable[[Subject, Fields], Outcome]] = {
    "flip": _flip,
    "class": _to_class,
    "threshold": _threshold,
    "interval": _interval,
}


def _target(subject: Subject, asked: Fields) -> str:
    names = class_names(subject.output_names)
    return names[asked.position("target", len(names))]


def _middle(outputs: Array) -> float:
    return rounded(float(outputs.min() + outputs.max()) / 2, 3)
