"""What can be asked of a model, and the way from a page's words for it to an outcome."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from xcid.app._fields import Fields
from xcid.errors import InvalidParameter
from xcid.explainer import Explainer
from xcid.outcomes import (
    OTHER_LABEL,
    Flip,
    Interval,
    Outcome,
    SoftFlip,
    SoftToClass,
    Threshold,
    ToClass,
    are_probabilities,
)


def questions(explainer: Explainer) -> list[dict[str, Any]]:
    """The kinds of questions, the usual one first, each with what it has to be told and a sensible value for it.

    ``targets`` says that a class has to be named, out of the first so many.
    """
    outputs = explainer.subject.outputs
    if outputs.shape[1] == 1:
        width = Interval().bind(explainer.subject.predict.read.names, outputs).half_width or 1.0
        middle = float(f"{_middle(outputs[:, 0]):.3g}")
        return [
            {"kind": "interval", "half_width": float(f"{width:.3g}")},
            {"kind": "threshold", "level": middle},
        ]
    targets = len(_targets(explainer))
    asked: list[dict[str, Any]] = [{"kind": "flip"}, {"kind": "class", "targets": targets}]
    if not _are_labels(explainer):
        level = 0.5 if are_probabilities(outputs) else float(f"{_middle(outputs[:, -1]):.3g}")
        asked.append({"kind": "threshold", "targets": targets, "target": targets - 1, "level": level})
    return asked


def outcome(explainer: Explainer, asked: Fields) -> Outcome:
    """The outcome that a page asks for; says what is wrong where there is no such thing."""
    known = [question["kind"] for question in questions(explainer)]
    kind = asked.text("kind")
    if kind not in known:
        raise InvalidParameter(f"the question must be one of {known}, not {kind!r:.40}")
    return _MAKERS[kind](explainer, asked)


def _flip(explainer: Explainer, asked: Fields) -> Outcome:
    asked.only("kind")
    return SoftFlip() if are_probabilities(explainer.subject.outputs) else Flip()


def _to_class(explainer: Explainer, asked: Fields) -> Outcome:
    asked.only("kind", "target")
    target = _target(explainer, asked)
    return SoftToClass(target) if are_probabilities(explainer.subject.outputs) else ToClass(target)


def _threshold(explainer: Explainer, asked: Fields) -> Outcome:
    asked.only("kind", "target", "level")
    return Threshold(asked.number("level"), _target(explainer, asked))


def _interval(explainer: Explainer, asked: Fields) -> Outcome:
    asked.only("kind", "half_width")
    return Interval(asked.number("half_width"))


_MAKERS: dict[str, Callable[[Explainer, Fields], Outcome]] = {
    "flip": _flip,
    "class": _to_class,
    "threshold": _threshold,
    "interval": _interval,
}


def _target(explainer: Explainer, asked: Fields) -> str:
    names = _targets(explainer)
    return names[asked.position("target", len(names))]


def _targets(explainer: Explainer) -> list[str]:
    return [name for name in explainer.subject.predict.read.names if name != OTHER_LABEL]


def _are_labels(explainer: Explainer) -> bool:
    return explainer.subject.predict.read.names[-1] == OTHER_LABEL


def _middle(outputs: Any) -> float:
    return float((outputs.min() + outputs.max()) / 2)
