"""Questions about the predicted class: whether it changes, or becomes a given one; and what is known of classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from xcid._check import meant, name_class, shown
from xcid._kernels.arrays import namespace
from xcid.errors import InvalidParameter
from xcid.outcomes.protocol import FAINTEST, Number, Question, as_ones, remember, signed
from xcid.records import Array, Integers

TIE = 0.5  # the membership of what lies on both sides
MOST_LEAST = 0.01
CLOSE = 1e-6  # to a probability of 0
BELOW = 1e-6  # that a probability may lie below 0, by rounding in single precision
SUM_TOLERANCE = 0.02  # of probabilities, which add up to 1 as far as 8 bits tell
SINGLE = 2.0**-24  # what single precision can tell a probability from 1 by
OTHER_LABEL = "another label"  # of a model that gives labels: one that the reference data never got
HARD = "counted as yes or no"
SOFT = "counted by its probability"
LABELS = f"the model gives labels: yes and no count as probabilities of {1 - MOST_LEAST:g} and {MOST_LEAST:g}"


class OfOneOutput(Question):
    """A question about one output: that of its ``target``, by default the last class, or the number of a regression."""

    __slots__ = ()

    _column: int

    def bind(self, names: Sequence[str], outputs: Array) -> Self:
        """Find the target among the model's outputs."""
        return remember(self, _column=column_of(self.target, names))

    def columns(self, outputs: Array, own: Array) -> Integers:
        """(N,) that output."""
        return np.full(len(outputs), self._column % outputs.shape[1])


@dataclass(frozen=True, slots=True)
class Flip(Question):
    """The predicted class changes, to whatever class.

    Parameters
    ----------
    soft : bool
        By degrees: each perturbation belongs to C+ with its probability. That is the share of the strongest other class
        in what it and the row's own class have together: with two classes the probability of the other one, and with
        any number above 1/2 where the predicted class changes (but for ties).

    Examples
    --------
    >>> import numpy as np
    >>> outputs, reference = np.array([[0.6, 0.2, 0.2], [0.2, 0.3, 0.5]]), np.array([[0.9, 0.1, 0.0]] * 2)
    >>> Flip()(outputs, reference).tolist(), Flip(soft=True)(outputs, reference).round(2).tolist()
    ([0.0, 1.0], [0.25, 0.71])
    """

    soft: bool = False
    _least: float = field(default=0.0, init=False, repr=False, compare=False)
    _how: str = field(default=SOFT, init=False, repr=False, compare=False)
    about_prediction = takes_tensors = True

    @property
    def least(self) -> float | None:
        """What a probability of 0 stands for, by degrees."""
        return self._least if self.soft else None

    def bind(self, names: Sequence[str], outputs: Array) -> Self:
        """See how small probabilities get; by degrees, refuse outputs that are none."""
        return remember(self, **_probabilities(outputs, self.soft))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        present = reference.argmax(axis=-1)
        return 1 - _share(outputs, present) if self.soft else as_ones(outputs.argmax(axis=-1) != present)

    def gain(self, outputs: Array, own: Array) -> Array:
        """Log odds of the strongest other class beside the present one."""
        present = own.argmax(axis=1)
        odds = -log_odds(outputs, present, self._least)
        return np.where(outputs.argmax(axis=1) == present, np.minimum(odds, -FAINTEST), odds)  # a tie is no other class

    def describe(self, names: Sequence[str], number: Number) -> str:
        """Whether the class changes."""
        return f"Does the predicted class change? ({self._how if self.soft else HARD})"

    def describe_side(self, output: Array, names: Sequence[str], number: Number) -> str:
        """In the predicted class."""
        return ""


@dataclass(frozen=True, slots=True)
class ToClass(OfOneOutput):
    """The predicted class becomes a given one.

    Parameters
    ----------
    target : object
        A label of the model, as it gives it or as text.
    soft : bool
        By degrees, as in :class:`Flip`.
    """

    target: Any = field()
    soft: bool = False
    _column: int | None = field(default=None, init=False, repr=False, compare=False)  # type: ignore[assignment]
    _least: float = field(default=0.0, init=False, repr=False, compare=False)
    _how: str = field(default=SOFT, init=False, repr=False, compare=False)
    takes_tensors = True
    least = Flip.least

    def bind(self, names: Sequence[str], outputs: Array) -> Self:
        """Find the target among the model's classes; by degrees, refuse outputs that are not probabilities."""
        return remember(self, **_probabilities(outputs, self.soft), _column=column_of(self.target, names))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        if self._column is None:
            raise InvalidParameter(f"{self!r} does not know the model's classes yet: bind it to them first")
        top = outputs.argmax(axis=-1)
        return _share(outputs, top * 0 + self._column) if self.soft else as_ones(top == self._column)

    def gain(self, outputs: Array, own: Array) -> Array:
        """Log odds of the class beside the strongest other one."""
        odds = log_odds(outputs, self.columns(outputs, own), self._least)
        return odds if self.soft else signed(outputs.argmax(axis=1) == self._column, odds)

    def describe(self, names: Sequence[str], number: Number) -> str:
        """Whether the class becomes the target, or no longer is."""
        how, whom = self._how if self.soft else HARD, name_class(self.target)
        return f"Does the predicted class become {whom}, or stop being {whom}? ({how})"

    def describe_side(self, output: Array, names: Sequence[str], number: Number) -> str:
        """In or out of the target class."""
        is_there = int(output.argmax()) == column_of(self.target, names)
        return f"it {'in' if is_there else 'out of'} class {self.target}"


def _probabilities(outputs: Array, needed: bool) -> dict[str, Any]:
    """What a question about classes knows of a model's probabilities, if its outputs are some or have to be."""
    if not needed and not are_probabilities(outputs):
        return {}
    is_label = np.all((outputs == 0) | (outputs == 1))
    return {"_least": least_probability(outputs), "_how": LABELS if is_label else SOFT}


def _share(outputs: Array, column: Integers) -> Array:
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


def log_odds(outputs: Array, column: Integers, least: float) -> Array:
    """Of a class beside the strongest other one; differences where outputs are not probabilities."""
    line = np.arange(len(outputs))
    others = outputs.copy()
    others[line, column] = -np.inf
    own, other = outputs[line, column], others.max(axis=1)
    if least == 0.0 and outputs.size and (outputs.min() < 0 or outputs.max() > 1 + 1e-6):
        return signed(own > other, own - other)
    floor = max(least, 1e-9)
    return signed(own > other, np.log(np.maximum(own, floor)) - np.log(np.maximum(other, floor)))


def are_probabilities(outputs: Array) -> bool:
    """Whether (N, k) outputs of at least two classes lie in [0, 1]."""
    return outputs.shape[1] > 1 and bool(np.all((outputs >= 0) & (outputs <= 1 + 1e-6)))


def are_shares(outputs: Array) -> bool:
    """Whether (N, k) outputs are probabilities of all classes there are: each row adds up to 1."""
    return bool((outputs >= -BELOW).all() and (np.abs(outputs.sum(axis=1) - 1) <= SUM_TOLERANCE).all())


def class_names(names: Sequence[str]) -> list[str]:
    """The classes that a question can be about."""
    return [name for name in names if name != OTHER_LABEL]


def renamed(names: Sequence[str], given: Sequence[str] | Mapping[Any, str]) -> tuple[str, ...]:
    """Other names for the classes of a model: as many as there are, in their order, or by the model's own labels.

    The number of a regression may get a name, too.
    """
    own, given = class_names(names), [given] if isinstance(given, str) else given
    if len(names) == 1 and (isinstance(given, Mapping) or len(given) != 1):
        raise InvalidParameter(
            "class_names are for a model with classes, and this is a regression: "
            'one name, such as class_names=["price"], says what it predicts'
        )
    if isinstance(given, Mapping):
        unknown = [label for label in given if str(label) not in own]
        if unknown:
            raise InvalidParameter(f"class_names has the classes {unknown}, which are not among the model's: {own}")
        by_label = {str(label): str(name) for label, name in given.items()}
        new = [by_label.get(name, name) for name in own]
    else:
        new = [str(name) for name in given]
    if len(new) != len(own) or len(set(new)) < len(new):
        raise InvalidParameter(f"class_names must have a different name for each of the {len(own)} classes {own}")
    return (*new, *names[len(own) :])


def check_has_classes(n_outputs: int) -> None:
    """Refuse a regression, which has one output."""
    if n_outputs < 2:
        raise InvalidParameter("a regression has no classes: ask with outcomes.Interval, Threshold or Within")


def check_probabilities(outputs: Array) -> None:
    """Refuse outputs that are not probabilities."""
    check_has_classes(outputs.shape[1])
    if not are_probabilities(outputs):
        raise InvalidParameter(
            f"the model's outputs are not probabilities, they go from {outputs.min():g} to {outputs.max():g}: "
            "ask with outcomes.Flip(soft=False) or ToClass(..., soft=False)"
        )


def column_of(target: Any, names: Sequence[str]) -> int:
    """The output that belongs to a class; by default that of the last class."""
    if target is None:
        return max(at for at, name in enumerate(names) if name != OTHER_LABEL)
    if str(target) not in names:
        raise InvalidParameter(no_class(target, names))
    return list(names).index(str(target))


def no_class(name: Any, names: Sequence[str]) -> str:
    """Say that a model with classes of these names has no class of another name."""
    return f"the model has no class {name!r}{meant(str(name), names)}; its classes are {shown(names)}"


def least_probability(outputs: Array) -> float:
    """What a probability of 0 stands for: half of the least that a model gives, and not more than 1 in 100.

    A forest of 100 trees says 0 where it means less than 1 in 100. A model whose probabilities come close to 0 says it
    only where it runs out of digits: then it is 0, or the last digit of one minus a number in single precision.
    Outputs that are not probabilities are refused.
    """
    check_probabilities(outputs)
    of_class = np.where(outputs > 0, outputs, np.inf).min(axis=0)
    if of_class.min() > CLOSE:
        return min(MOST_LEAST, float(of_class.min()) / 2)
    is_single = bool(np.all(outputs == outputs.astype(np.float32)))
    return SINGLE if is_single and of_class.max() > SINGLE else 0.0


@dataclass(frozen=True, slots=True)
class FlipOrTie(Flip):
    """The predicted class changes; where two classes are equally probable, a perturbation lies on both sides.

    So dice-ml has it: a probability of 1/2 is enough for either class that it is asked for. The model itself names the
    first of the two.

    Examples
    --------
    >>> import numpy as np
    >>> outputs, reference = np.array([[0.9, 0.1], [0.5, 0.5], [0.4, 0.6]]), np.array([[0.8, 0.2]] * 3)
    >>> FlipOrTie()(outputs, reference).tolist()
    [0.0, 0.5, 1.0]
    """

    has_ties = True

    def __call__(self, outputs: Array, reference: Array) -> Array:
        found = Flip.__call__(self, outputs, reference)
        if outputs.shape[-1] != 2:
            return found  # of several classes it takes the first of the most probable ones
        tied: Array = namespace(outputs).where(outputs[..., 0] == outputs[..., 1], TIE, found)
        return tied
