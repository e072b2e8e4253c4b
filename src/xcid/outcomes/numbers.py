"""Questions about a number: a probability or the output of a regression crosses a level, leaves or enters a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from xcid._check import as_float
from xcid._kernels.arrays import spread
from xcid.errors import InvalidParameter
from xcid.outcomes.classes import (
    HARD,
    SOFT,
    Number,
    are_probabilities,
    column_of,
    knowing,
    least_probability,
    ones,
)
from xcid.records import Array


@dataclass(frozen=True, slots=True)
class HardThreshold:
    """An output crosses a level, all or nothing: the probability of a class, or the number that a regression gives.

    Parameters
    ----------
    level : float
    target : object, optional
        The class whose probability counts; by default the last one, which for two classes is the second.
    """

    level: float
    target: Any = None
    _column: int = field(default=-1, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if not np.isfinite(as_float(self.level, "level")):
            raise InvalidParameter(f"level must be finite, not {self.level}")

    def bind(self, names: Sequence[str], outputs: Array) -> HardThreshold:
        """Find the target among the model's outputs."""
        return knowing(self, _column=column_of(self.target, names))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return ones(outputs[:, self._column] > self.level)

    def where(self, output: Array, names: Sequence[str], number: Number) -> str:
        """Above or below the level."""
        column = column_of(self.target, names)
        side = "above" if output[column] > self.level else "below"
        if len(output) == 1:
            return f"it {side} {number(self.level)}"
        return f"the probability of {names[column]} {side} {self.level:g}"

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the level is crossed."""
        if len(names) == 1:
            return f"Does the output cross {number(self.level)}? ({HARD})"
        of_class = names[column_of(self.target, names)]
        return f"Does the probability of {of_class} cross {self.level:g}? ({HARD})"


@dataclass(frozen=True, slots=True)
class Threshold(HardThreshold):
    """An output crosses a level: by degrees where it is a probability, else all or nothing.

    A perturbation lies above with odds that are those of the class over those of the level: it is as likely on either
    side where its probability is the level. At 0.5 that is the question whether the class changes, for two classes.

    Parameters
    ----------
    level : float
    target : object, optional
        The class whose probability counts; by default the last one, which for two classes is the second.
    """

    def bind(self, names: Sequence[str], outputs: Array) -> HardThreshold:
        """Find the target among the model's outputs, and whether these are probabilities."""
        made = SoftThreshold if are_probabilities(outputs) and 0 < self.level < 1 else HardThreshold
        return made(self.level, self.target).bind(names, outputs)


@dataclass(frozen=True, slots=True)
class SoftThreshold(HardThreshold):
    """The probability of a class crosses a level, by degrees; :class:`Threshold` chooses it by itself.

    Examples
    --------
    >>> import numpy as np
    >>> asked = SoftThreshold(0.2).bind(["no", "yes"], np.array([[0.9, 0.1], [0.3, 0.7]]))
    >>> asked(np.array([[0.8, 0.2], [0.5, 0.5]]), np.array([[0.9, 0.1]] * 2)).tolist()
    [0.5, 0.8]
    """

    least: float = field(default=0.0, init=False, repr=False, compare=False)

    def bind(self, names: Sequence[str], outputs: Array) -> SoftThreshold:
        """Find the target among the model's outputs; refuse outputs that are not probabilities."""
        if not 0 < self.level < 1:
            raise InvalidParameter(f"the level of a probability must lie between 0 and 1, not at {self.level}")
        return knowing(self, least=least_probability(outputs), _column=column_of(self.target, names))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        own = outputs[:, self._column]
        others = outputs[:, 1 - self._column] if outputs.shape[1] == 2 else outputs.sum(axis=1) - own
        above, below = own * (1 - self.level), others * self.level
        share: Array = (above / (above + below)).clip(0.0, 1.0)
        return share

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the level is crossed."""
        return f"Does the probability of {names[column_of(self.target, names)]} cross {self.level:g}? ({SOFT})"


@dataclass(frozen=True, slots=True)
class Interval:
    """A number leaves the interval around the row's own output.

    Parameters
    ----------
    half_width : float, optional
        In the unit of the output. By default ``share`` of the standard deviation of the background's outputs.
    share : float
    """

    half_width: float | None = None
    share: float = 0.5

    def __post_init__(self) -> None:
        for name in ("half_width", "share"):
            value = getattr(self, name)
            if value is not None and not 0 < as_float(value, name) < np.inf:
                raise InvalidParameter(f"{name} must be a finite number above 0, not {value}")

    def bind(self, names: Sequence[str], outputs: Array) -> Interval:
        """Measure the spread of the outputs."""
        if self.half_width is not None:
            return self
        half_width = self.share * float(spread(outputs)[-1])
        return replace(self, half_width=max(half_width, float(np.finfo(np.float64).tiny)))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return ones(abs(outputs[:, -1] - reference[:, -1]) > self.half_width)  # type: ignore[operator]  # bound

    def where(self, output: Array, names: Sequence[str], number: Number) -> str:
        """Around the row's own output."""
        return "" if self.half_width is None else f"it within {number(self.half_width)} of that"

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the number leaves the interval."""
        return f"Does the output move by more than {_width(self, number)}? ({HARD})"


@dataclass(frozen=True, slots=True)
class SoftInterval(Interval):
    """A number moves away from the row's own output, by degrees; the default question for a regression.

    It belongs to C+ with ``1 - 2 ** (-abs(change) / half_width)``: 1/2 at the half-width, 3/4 at twice that.

    Parameters
    ----------
    half_width : float, optional
        In the unit of the output. By default ``share`` of the standard deviation of the background's outputs.
    share : float

    Examples
    --------
    >>> import numpy as np
    >>> SoftInterval(half_width=2.0)(np.array([[5.0], [3.0], [9.0]]), np.array([[5.0]] * 3)).tolist()
    [0.0, 0.5, 0.75]
    """

    share: float = 0.7

    def __call__(self, outputs: Array, reference: Array) -> Array:
        moved = abs(outputs[:, -1] - reference[:, -1]) / self.half_width  # type: ignore[operator]  # bound
        share: Array = 1 - 0.5**moved
        return share

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the number moves."""
        return f"Does the output move? (soft: a change of {_width(self, number)} counts as half)"


def _width(interval: Interval, number: Number) -> str:
    if interval.half_width is None:
        return f"{interval.share:g} standard deviations of the reference outputs"
    return number(interval.half_width)


@dataclass(frozen=True, slots=True)
class Within:
    """A number enters a given interval, the set A of the paper; one end may be infinite."""

    low: float = -np.inf
    high: float = np.inf

    def __post_init__(self) -> None:
        if not as_float(self.low, "low") < as_float(self.high, "high"):
            raise InvalidParameter(f"low must lie below high, but {self.low} does not lie below {self.high}")

    def __call__(self, outputs: Array, reference: Array) -> Array:
        value = outputs[:, -1]
        return ones((value >= self.low) & (value <= self.high))

    def where(self, output: Array, names: Sequence[str], number: Number) -> str:
        """In or out of the interval; beside the one end that it has."""
        is_in = bool(self.low <= output[-1] <= self.high)
        if np.isinf(self.low) or np.isinf(self.high):
            level, above = (self.high, not is_in) if np.isinf(self.low) else (self.low, is_in)
            return f"it {'above' if above else 'below'} {number(level)}"
        return f"it {'in' if is_in else 'out of'} the range from {number(self.low)} to {number(self.high)}"

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the number enters the interval, or leaves it."""
        ends = [number(end) for end in (self.low, self.high) if np.isfinite(end)]
        where = f"cross {ends[0]}" if len(ends) == 1 else f"enter or leave the range from {' to '.join(ends)}"
        return f"Does the output {where}? ({HARD})" if ends else f"Does the output take any value? ({HARD})"
