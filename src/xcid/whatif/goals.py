"""What is wanted of the output: another class, a given one, a higher or a lower number, a number in a range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np

from xcid._check import as_float, sign_of
from xcid.errors import InvalidParameter
from xcid.outcomes import Flip, HardThreshold, Interval, Outcome, SoftFlip, SoftInterval, SoftThreshold, ToClass, Within
from xcid.outcomes.classes import are_probabilities, class_names, least_probability
from xcid.question import side
from xcid.records import Array, Flags, Integers, Texts
from xcid.subject import Subject

FAINTEST = 1e-12  # what a goal that is just reached, or just missed, is worth


@dataclass(frozen=True, slots=True)
class Raise:
    """Raise the output of a regression, or the probability of the class ``of``, by at least a share of what it is.

    Examples
    --------
    >>> Raise(by=0.25)
    Raise(by=0.25, of=None)
    """

    by: float = 0.1
    of: Any = None

    def __post_init__(self) -> None:
        _check_share(self.by)

    def limits(self, own: Array) -> tuple[Array, Array]:
        """Lowest and highest output that reach it, for rows with (N,) outputs."""
        return own + self.by * np.abs(own), np.full(own.shape, np.inf)


@dataclass(frozen=True, slots=True)
class Lower:
    """Lower the output of a regression, or the probability of the class ``of``, by at least a share of what it is."""

    by: float = 0.1
    of: Any = None

    def __post_init__(self) -> None:
        _check_share(self.by)

    def limits(self, own: Array) -> tuple[Array, Array]:
        """Lowest and highest output that reach it, for rows with (N,) outputs."""
        return np.full(own.shape, -np.inf), own - self.by * np.abs(own)


@dataclass(frozen=True, slots=True)
class Between:
    """Bring the output of a regression, or the probability of the class ``of``, into a range; one end may be open.

    Examples
    --------
    >>> Between(0.7, of="good")
    Between(low=0.7, high=inf, of='good')
    """

    low: float = -np.inf
    high: float = np.inf
    of: Any = None

    def __post_init__(self) -> None:
        if not as_float(self.low, "low") < as_float(self.high, "high"):
            raise InvalidParameter(f"low must lie below high, but {self.low} does not lie below {self.high}")

    def limits(self, own: Array) -> tuple[Array, Array]:
        """Lowest and highest output that reach it, for rows with (N,) outputs."""
        return np.full(own.shape, self.low), np.full(own.shape, self.high)


Wanted: TypeAlias = Raise | Lower | Between
WAYS: dict[int, type[Raise | Lower]] = {1: Raise, -1: Lower}


class Goal(Protocol):
    """A target that knows the model."""

    def gain(self, outputs: Array, own: Array) -> Array:
        """(N,) above 0 where (N, k) outputs reach the goal of rows with (N, k) own outputs; the more the better."""
        ...

    def column(self, outputs: Array, own: Array) -> Integers:
        """(N,) which of the outputs it is about."""
        ...


@dataclass(frozen=True, slots=True)
class Another:
    """Any other class than the present one."""

    least: float

    def gain(self, outputs: Array, own: Array) -> Array:
        """Log odds of the strongest other class beside the present one."""
        present = own.argmax(axis=1)
        odds = -_log_odds(outputs, present, self.least)
        return np.where(outputs.argmax(axis=1) == present, np.minimum(odds, -FAINTEST), odds)  # a tie is no other class

    def column(self, outputs: Array, own: Array) -> Integers:
        """The strongest other class."""
        others = outputs.copy()
        others[np.arange(len(own)), own.argmax(axis=1)] = -np.inf
        return others.argmax(axis=1)


@dataclass(frozen=True, slots=True)
class OneClass:
    """A given class."""

    at: int
    least: float

    def gain(self, outputs: Array, own: Array) -> Array:
        """Log odds of the class beside the strongest other one."""
        return _log_odds(outputs, np.full(len(outputs), self.at), self.least)

    def column(self, outputs: Array, own: Array) -> Integers:
        """That class."""
        return np.full(len(outputs), self.at)


@dataclass(frozen=True, slots=True)
class Number:
    """An output between limits."""

    at: int
    wanted: Wanted

    def gain(self, outputs: Array, own: Array) -> Array:
        """How far it lies within the nearer limit."""
        low, high = self.wanted.limits(own[:, self.at])
        value = outputs[:, self.at]
        is_there = (value >= low) & (value <= high)
        if not isinstance(self.wanted, Between):
            is_there &= value != own[:, self.at]  # a tenth of 0 is no change
        return _signed(is_there, np.minimum(value - low, high - value))

    def column(self, outputs: Array, own: Array) -> Integers:
        """That output."""
        return np.full(len(outputs), self.at)


@dataclass(frozen=True, slots=True)
class OtherSide:
    """The other side of an explainer's own question."""

    outcome: Outcome
    least: float
    classes: bool

    def gain(self, outputs: Array, own: Array) -> Array:
        """How far it lies on the other side; by degrees where the question has some."""
        away = side(self.outcome, own, own) > 0.5
        there = side(self.outcome, outputs, own)
        return _signed((there > 0.5) != away, np.where(away, -1.0, 1.0) * self._margin(outputs, own, there))

    def _margin(self, outputs: Array, own: Array, there: Array) -> Array:
        asked = self.outcome
        if isinstance(asked, Within):
            return np.minimum(outputs[:, -1] - asked.low, asked.high - outputs[:, -1])
        if isinstance(asked, Interval | SoftInterval):
            return np.abs(outputs[:, -1] - own[:, -1]) - asked.half_width
        if isinstance(asked, ToClass) and self.classes:
            return _log_odds(outputs, np.full(len(outputs), asked.column), self.least)
        if isinstance(asked, HardThreshold) and not isinstance(asked, SoftThreshold):
            return outputs[:, self._at] - asked.level
        return there - 0.5

    @property
    def _at(self) -> int:
        return int(getattr(self.outcome, "_column", -1))

    def column(self, outputs: Array, own: Array) -> Integers:
        """The output that the question is about; the strongest other class where it is about none."""
        if self._at >= 0 or not self.classes:
            return np.full(len(outputs), self._at if self.classes else 0)
        return Another(self.least).column(outputs, own)


def goal_of(target: Any, subject: Subject, outcome: Outcome) -> Goal:
    """Bind a target to a model; None is the other side of the explainer's question."""
    probable = are_probabilities(subject.outputs)
    least = least_probability(subject.outputs) if probable else 0.0
    if target is None:
        if isinstance(outcome, Flip | SoftFlip) and not subject.is_regression:
            return Another(least)
        return OtherSide(outcome, least, classes=not subject.is_regression)
    at = _position(target, subject)
    if at is not None:
        return OneClass(at, least)
    wanted = WAYS[sign_of(target)]() if sign_of(target) else target
    if isinstance(wanted, Wanted) and (subject.is_regression or wanted.of is not None):
        found = 0 if subject.is_regression else _position(wanted.of, subject)
        if found is not None and (wanted.of is None or not subject.is_regression):
            return Number(found, wanted)
    raise InvalidParameter(_advice(target, subject))


def about(goal: Goal, columns: Integers, outputs: Array, own: Array, names: tuple[str, ...]) -> Texts:
    """(N,) the class whose probability a line shows; for a regression "higher", "lower", or "" where nothing moves."""
    if len(names) > 1:
        return np.array(names)[columns]
    moved = np.sign(outputs[:, 0] - own[:, 0])
    return np.select([moved > 0, moved < 0], ["higher", "lower"], "")


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
            f"target {target!r} does not fit a regression: use 'raise', 'lower', xcid.whatif.Raise(by=0.1), "
            "Lower(by=0.1) or Between(low, high)"
        )
    names = class_names(subject.output_names)
    return f"target {target!r} is no class of this model: use one of {names}, or Between(0.7, of={names[-1]!r})"


def _check_share(by: float) -> None:
    if not 0 <= as_float(by, "by") < np.inf:
        raise InvalidParameter(f"by must be a share from 0 up (0.1 for a tenth), not {by}")


def _signed(is_there: Flags, margin: Array) -> Array:
    """A margin that is above 0 exactly where the goal is reached."""
    return np.where(is_there, np.maximum(margin, FAINTEST), np.minimum(margin, -FAINTEST))


def _log_odds(outputs: Array, column: Integers, least: float) -> Array:
    """Of a class beside the strongest other one; differences where outputs are not probabilities."""
    line = np.arange(len(outputs))
    others = outputs.copy()
    others[line, column] = -np.inf
    own, other = outputs[line, column], others.max(axis=1)
    if least == 0.0 and outputs.size and (outputs.min() < 0 or outputs.max() > 1 + 1e-6):
        return _signed(own > other, own - other)
    floor = max(least, 1e-9)
    return _signed(own > other, np.log(np.maximum(own, floor)) - np.log(np.maximum(other, floor)))
