"""Questions about a number: a probability or the output of a regression crosses a level, moves, or enters a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np

from xcid._check import as_float, name_class
from xcid._kernels.arrays import spread
from xcid.errors import InvalidParameter
from xcid.outcomes.classes import HARD, SOFT, Flip, OfOneOutput, are_probabilities, column_of, least_probability
from xcid.outcomes.protocol import Number, Question, as_ones, remember, signed
from xcid.records import Array, Flags

SHARES = {
    False: 0.5,
    True: 0.7,
}  # of the spread of the reference outputs that an interval is wide, all or nothing and soft


@dataclass(frozen=True, slots=True)
class Threshold(OfOneOutput):
    """An output crosses a level: the probability of a class, or the number that a regression gives.

    Parameters
    ----------
    level : float
    target : object, optional
        The class whose probability counts; by default the last one, which for two classes is the second.
    soft : bool, optional
        By degrees: a perturbation lies above with odds that are those of the class over those of the level. It is as
        likely on either side where its probability is the level; at 0.5 that is the question whether the class changes,
        for two classes. By default so where outputs are probabilities, else all or nothing.

    Examples
    --------
    >>> import numpy as np
    >>> asked = Threshold(0.2).bind(["no", "yes"], np.array([[0.9, 0.1], [0.3, 0.7]]))
    >>> asked(np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([[0.9, 0.1]] * 2)).tolist()
    [0.5, 0.8]
    """

    level: float
    target: Any = None
    soft: bool | None = None
    _column: int = field(default=-1, init=False, repr=False, compare=False)
    _least: float = field(default=0.0, init=False, repr=False, compare=False)
    takes_tensors = True
    least = Flip.least

    def __post_init__(self) -> None:
        if not np.isfinite(as_float(self.level, "level")):
            raise InvalidParameter(f"level must be finite, not {self.level}")

    def bind(self, names: Sequence[str], outputs: Array) -> Self:
        """Find the target among the model's outputs, and whether these are probabilities."""
        is_inside = 0 < self.level < 1
        soft = are_probabilities(outputs) and is_inside if self.soft is None else self.soft
        if soft and not is_inside:
            raise InvalidParameter(f"the level of a probability must lie between 0 and 1, not at {self.level}")
        least = least_probability(outputs) if soft else 0.0
        return remember(replace(self, soft=soft), _least=least, _column=column_of(self.target, names))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        own = outputs[:, self._column]
        if not self.soft:
            return as_ones(own > self.level)
        others = outputs[:, 1 - self._column] if outputs.shape[1] == 2 else outputs.sum(axis=1) - own
        above, below = own * (1 - self.level), others * self.level
        share: Array = (above / (above + below)).clip(0.0, 1.0)
        return share

    def gain(self, outputs: Array, own: Array) -> Array:
        """How far above the level; by degrees where the question has some."""
        value = outputs[:, self._column]
        return Question.gain(self, outputs, own) if self.soft else signed(value > self.level, value - self.level)

    def speaks_for(self, column: int, outputs: Array, names: Sequence[str]) -> Flags:
        """(n,) rows above the level speak for the target, and those below it for the other class."""
        asked = column_of(self.target, names)
        return np.asarray((outputs[:, asked] > self.level) == (asked == column))

    def describe(self, names: Sequence[str], number: Number) -> str:
        """Whether the level is crossed."""
        if len(names) == 1:
            return f"Does the output cross {number(self.level)}? ({HARD})"
        of_class = names[column_of(self.target, names)]
        return f"Does {_describe_output(of_class)} cross {self.level:g}? ({SOFT if self.soft else HARD})"

    def describe_side(self, output: Array, names: Sequence[str], number: Number) -> str:
        """Above or below the level."""
        column = column_of(self.target, names)
        place = "above" if output[column] > self.level else "below"
        if len(output) == 1:
            return f"it {place} {number(self.level)}"
        return f"{_describe_output(names[column])} {place} {self.level:g}"


@dataclass(frozen=True, slots=True)
class Interval(Question):
    """A number leaves the interval around the row's own output.

    Parameters
    ----------
    half_width : float, optional
        In the unit of the output. By default ``share`` of the standard deviation of the reference outputs.
    share : float, optional
        By default 0.5, and 0.7 by degrees.
    soft : bool
        By degrees: it belongs to C+ with ``1 - 2 ** (-abs(change) / half_width)``, 1/2 at the half-width, 3/4 at twice
        that. The default question for a regression.

    Examples
    --------
    >>> import numpy as np
    >>> Interval(half_width=2.0, soft=True)(np.array([[5.0], [3.0], [9.0]]), np.array([[5.0]] * 3)).tolist()
    [0.0, 0.5, 0.75]
    """

    half_width: float | None = None
    share: float | None = None
    soft: bool = False
    about_prediction = takes_tensors = True

    def __post_init__(self) -> None:
        for name in ("half_width", "share"):
            value = getattr(self, name)
            if value is not None and not 0 < as_float(value, name) < np.inf:
                raise InvalidParameter(f"{name} must be a finite number above 0, not {value}")

    def bind(self, names: Sequence[str], outputs: Array) -> Self:
        """Measure the spread of the outputs."""
        if self.half_width is not None:
            return self
        half_width = self._share * float(spread(outputs)[-1])
        return replace(self, half_width=max(half_width, float(np.finfo(np.float64).tiny)))

    @property
    def _share(self) -> float:
        return SHARES[self.soft] if self.share is None else self.share

    def __call__(self, outputs: Array, reference: Array) -> Array:
        moved = abs(outputs[:, -1] - reference[:, -1])
        if not self.soft:
            return as_ones(moved > self.half_width)  # type: ignore[operator]  # bound
        share: Array = 1 - 0.5 ** (moved / self.half_width)  # type: ignore[operator]
        return share

    def gain(self, outputs: Array, own: Array) -> Array:
        """How far outside."""
        is_there = self(outputs, own) > 0.5
        return signed(is_there, np.abs(outputs[:, -1] - own[:, -1]) - self.half_width)

    def describe(self, names: Sequence[str], number: Number) -> str:
        """Whether the number moves, or leaves the interval."""
        spread_of = f"{self._share:g} standard deviations of the reference outputs"
        width = spread_of if self.half_width is None else number(self.half_width)
        if self.soft:
            return f"Does the output move? (a change of {width} counts as half)"
        return f"Does the output move by more than {width}? ({HARD})"

    def describe_side(self, output: Array, names: Sequence[str], number: Number) -> str:
        """Around the row's own output."""
        return "" if self.half_width is None else f"it within {number(self.half_width)} of that"


@dataclass(frozen=True, slots=True)
class Within(OfOneOutput):
    """A number enters a given interval, the set A of the paper; one end may be infinite.

    Parameters
    ----------
    low, high : float
    target : object, optional
        The class whose probability counts; by default the last one.

    Examples
    --------
    >>> Within(0.7, target="good")
    Within(low=0.7, high=inf, target='good')
    """

    low: float = -np.inf
    high: float = np.inf
    target: Any = None
    _column: int = field(default=-1, init=False, repr=False, compare=False)
    takes_tensors = True

    def __post_init__(self) -> None:
        if not as_float(self.low, "low") < as_float(self.high, "high"):
            raise InvalidParameter(f"low must lie below high, but {self.low} does not lie below {self.high}")

    def __call__(self, outputs: Array, reference: Array) -> Array:
        value = outputs[:, self._column]
        return as_ones((value >= self.low) & (value <= self.high))

    def gain(self, outputs: Array, own: Array) -> Array:
        """How far it lies within the nearer end."""
        value = outputs[:, self._column]
        return signed(self(outputs, own) > 0.5, np.minimum(value - self.low, self.high - value))

    def describe(self, names: Sequence[str], number: Number) -> str:
        """Whether the number enters the interval, or leaves it."""
        ends = [number(end) for end in (self.low, self.high) if np.isfinite(end)]
        where = f"cross {ends[0]}" if len(ends) == 1 else f"enter or leave the range from {' to '.join(ends)}"
        what = _describe_output(self.target)
        return f"Does {what} {where}? ({HARD})" if ends else f"Does {what} take any value? ({HARD})"

    def describe_side(self, output: Array, names: Sequence[str], number: Number) -> str:
        """In or out of the interval; beside the one end that it has."""
        is_in = bool(self.low <= output[column_of(self.target, names)] <= self.high)
        what = "it" if self.target is None else _describe_output(self.target)
        if np.isinf(self.low) or np.isinf(self.high):
            level, above = (self.high, not is_in) if np.isinf(self.low) else (self.low, is_in)
            return f"{what} {'above' if above else 'below'} {number(level)}"
        return f"{what} {'in' if is_in else 'out of'} the range from {number(self.low)} to {number(self.high)}"

    def describe_goal(self, names: Sequence[str], number: Number) -> str:
        """The range."""
        low, high = (number(end) if np.isfinite(end) else "" for end in (self.low, self.high))
        wanted = f"{low} to {high}" if low and high else f"at least {low}" if low else f"at most {high}"
        return wanted if self.target is None else f"{_describe_output(self.target).removeprefix('the ')} {wanted}"


@dataclass(frozen=True, slots=True)
class Raise(OfOneOutput):
    """A number rises by at least a share of what it is: the output of a regression, or the probability of a class.

    Parameters
    ----------
    by : float
    target : object, optional
        The class whose probability counts; by default the last one.

    Examples
    --------
    >>> Raise(by=0.25)
    Raise(by=0.25, target=None)
    """

    by: float = 0.1
    target: Any = None
    _column: int = field(default=-1, init=False, repr=False, compare=False)
    takes_tensors = True
    sign: ClassVar[int] = 1

    def __post_init__(self) -> None:
        if not 0 <= as_float(self.by, "by") < np.inf:
            raise InvalidParameter(f"by must be a share from 0 up (0.1 for a tenth), not {self.by}")

    def _beyond(self, outputs: Array, own: Array) -> Array:
        """(N,) how far outputs lie beyond the least change."""
        start = own[:, self._column]
        beyond: Array = self.sign * (outputs[:, self._column] - (start + self.sign * self.by * abs(start)))
        return beyond

    def __call__(self, outputs: Array, reference: Array) -> Array:
        moved = outputs[:, self._column] != reference[:, self._column]  # a tenth of 0 is no change
        return as_ones((self._beyond(outputs, reference) >= 0) & moved)

    def gain(self, outputs: Array, own: Array) -> Array:
        """How far it lies beyond the least change."""
        return signed(self(outputs, own) > 0.5, self._beyond(outputs, own))

    def describe(self, names: Sequence[str], number: Number) -> str:
        """Whether the number moves so far."""
        verb = "rise" if self.sign > 0 else "fall"
        return f"Does {_describe_output(self.target)} {verb} by {number(self.by)} of what it is? ({HARD})"

    def describe_side(self, output: Array, names: Sequence[str], number: Number) -> str:
        """Not so far."""
        return f"it {'below' if self.sign > 0 else 'above'} that"

    def describe_goal(self, names: Sequence[str], number: Number) -> str:
        """So much more, or less."""
        share = "a tenth" if self.by == 0.1 else f"{number(self.by)} of what it is"
        wanted = f"at least {share} {'more' if self.sign > 0 else 'less'}"
        return wanted if self.target is None else f"{wanted} of {_describe_output(self.target)}"


@dataclass(frozen=True, slots=True)
class Lower(Raise):
    """A number falls by at least a share of what it is; the parameters are those of :class:`Raise`."""

    sign: ClassVar[int] = -1


def _describe_output(target: Any) -> str:
    return "the output" if target is None else f"the probability of {name_class(target)}"
