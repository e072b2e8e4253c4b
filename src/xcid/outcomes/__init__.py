"""Questions: what counts as a flip. ``outcome(outputs, reference) -> membership``.

``outputs`` (N, k) are the model's answers for perturbed rows, ``reference`` (N, k) those for the rows they come from;
the result (N,) is 1 where the output lies on the far side of the question and 0 where it does not, or a number between
that says how far it belongs there. Any function with that signature is an outcome. A perturbation flips when it lies
on the other side than the row itself: a row that is already in the wanted class is explained by what would take it
out.

An outcome that needs to know the model first has a method ``bind(names, outputs) -> outcome``: the names of the
outputs and the outputs for the background.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from xcid._check import as_float
from xcid._kernels.arrays import namespace
from xcid.errors import InvalidParameter
from xcid.records import Array, Integers

OTHER_LABEL = "another label"  # of a model that gives labels: one that the background never got


class Outcome(Protocol):
    """Anything that tells positives from negatives; a plain function qualifies."""

    def __call__(self, outputs: Array, reference: Array) -> Array: ...


@dataclass(frozen=True, slots=True)
class Flip:
    """The predicted class changes, to whatever class.

    Examples
    --------
    >>> import numpy as np
    >>> Flip()(np.array([[0.7, 0.3], [0.4, 0.6]]), np.array([[0.9, 0.1], [0.9, 0.1]])).tolist()
    [0.0, 1.0]
    """

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return _ones(outputs.argmax(axis=-1) != reference.argmax(axis=-1))


@dataclass(frozen=True, slots=True)
class ToClass:
    """The predicted class becomes a given one.

    Parameters
    ----------
    target : object
        A label of the model, as it gives it or as text.
    """

    target: Any
    column: int | None = None

    def bind(self, names: Sequence[str], outputs: Array) -> ToClass:
        """Find the target among the model's classes."""
        return replace(self, column=_column(self.target, names))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return _ones(outputs.argmax(axis=-1) == self.column)


@dataclass(frozen=True, slots=True)
class SoftFlip:
    """The predicted class changes, by degrees: each perturbation belongs to C+ with its probability.

    That is the share of the strongest other class in what it and the row's own class have together: with two classes
    the probability of the other one, and with any number above 1/2 where the predicted class changes (but for ties).

    Examples
    --------
    >>> import numpy as np
    >>> SoftFlip()(np.array([[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]), np.array([[0.9, 0.1, 0.0]] * 2)).round(2).tolist()
    [0.25, 0.71]
    """

    def bind(self, names: Sequence[str], outputs: Array) -> SoftFlip:
        """Refuse outputs that are no probabilities."""
        _check_probabilities(outputs)
        return self

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return 1 - _odds(outputs, reference.argmax(axis=-1))


@dataclass(frozen=True, slots=True)
class SoftToClass:
    """The predicted class becomes a given one, by degrees, as in :class:`SoftFlip`.

    Parameters
    ----------
    target : object
        A label of the model, as it gives it or as text.
    """

    target: Any
    column: int | None = None

    def bind(self, names: Sequence[str], outputs: Array) -> SoftToClass:
        """Find the target among the model's classes; refuse outputs that are no probabilities."""
        _check_probabilities(outputs)
        return replace(self, column=_column(self.target, names))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return _odds(outputs, outputs.argmax(axis=-1) * 0 + self.column)


@dataclass(frozen=True, slots=True)
class Threshold:
    """An output crosses a level: the probability of a class, or the number that a regression gives.

    Parameters
    ----------
    level : float
    target : object, optional
        The class whose probability counts; by default the last one, which for two classes is the second.
    """

    level: float
    target: Any = None
    column: int = -1

    def __post_init__(self) -> None:
        if not np.isfinite(as_float(self.level, "level")):
            raise InvalidParameter(f"level must be finite, not {self.level}")

    def bind(self, names: Sequence[str], outputs: Array) -> Threshold:
        """Find the target among the model's outputs."""
        if self.target is not None:
            return replace(self, column=_column(self.target, names))
        return replace(self, column=max(at for at, name in enumerate(names) if name != OTHER_LABEL))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return _ones(outputs[:, self.column] > self.level)


@dataclass(frozen=True, slots=True)
class Interval:
    """A number leaves the interval around the row's own output; the default question for a regression.

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
        half_width = self.share * float(np.std(outputs[:, -1]))
        return replace(self, half_width=max(half_width, float(np.finfo(np.float64).tiny)))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return _ones(abs(outputs[:, -1] - reference[:, -1]) > self.half_width)  # type: ignore[operator]  # bound


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
        return _ones((value >= self.low) & (value <= self.high))


def are_probabilities(outputs: Array) -> bool:
    """Whether (N, k) outputs of at least two classes lie in [0, 1]."""
    return outputs.shape[1] > 1 and bool(np.all((outputs >= 0) & (outputs <= 1 + 1e-6)))


def _check_probabilities(outputs: Array) -> None:
    if outputs.shape[1] < 2:
        raise InvalidParameter("a regression has no classes: ask with outcomes.Interval, Threshold or Within")
    if not are_probabilities(outputs):
        raise InvalidParameter(
            f"the model's outputs are no probabilities, they go from {outputs.min():g} to {outputs.max():g}: "
            "ask with outcomes.Flip or ToClass"
        )


def _ones(flags: Any) -> Array:
    """1 for true and 0 for false; arrays of NumPy or tensors of torch."""
    ones: Array = flags * 1.0
    return ones


def _odds(outputs: Array, column: Integers) -> Array:
    """Share of a class in what it and the strongest other class have together; arrays of NumPy or tensors."""
    xp = namespace(outputs)
    if outputs.shape[1] == 2:
        own, total = xp.where(column == 0, outputs[:, 0], outputs[:, 1]), outputs[:, 0] + outputs[:, 1]
    else:
        is_own = xp.arange(outputs.shape[1], device=outputs.device) == column[:, None]
        own = xp.where(is_own, outputs, 0.0).sum(axis=1)
        total = own + xp.amax(xp.where(is_own, -np.inf, outputs), axis=1)
    share: Array = xp.where(total > 0, own / xp.where(total > 0, total, 1.0), 0.5).clip(0.0, 1.0)
    return share


def _column(target: Any, names: Sequence[str]) -> int:
    if str(target) not in names:
        raise InvalidParameter(f"the model has no class {target!r}; its classes are {list(names)}")
    return list(names).index(str(target))
