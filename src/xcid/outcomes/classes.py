"""Questions about the predicted class: whether it changes, or becomes a given one; and what all outcomes share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

from xcid._check import meant, shown
from xcid._kernels.arrays import namespace
from xcid.errors import InvalidParameter
from xcid.records import Array, Integers

MOST_LEAST = 0.01
CLOSE = 1e-6  # to a probability of 0
SINGLE = 2.0**-24  # what single precision can tell a probability from 1 by
OTHER_LABEL = "another label"  # of a model that gives labels: one that the background never got
HARD = "hard: every perturbation counts as yes or no"
SOFT = "soft: each perturbation is weighted by its probability"
LABELS = f"the model gives labels: yes and no count as probabilities of {1 - MOST_LEAST:g} and {MOST_LEAST:g}"
Number: TypeAlias = Callable[[float], str]
O = TypeVar("O")  # noqa: E741


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
        return ones(outputs.argmax(axis=-1) != reference.argmax(axis=-1))

    def where(self, output: Array, names: Sequence[str], number: Number) -> str:
        """In the predicted class."""
        return ""

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the class changes."""
        return f"Does the predicted class change? ({HARD})"


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

    least: float = field(default=0.0, init=False, repr=False, compare=False)
    how: str = field(default=SOFT, init=False, repr=False, compare=False)
    where = Flip.where

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the class changes."""
        return f"Does the predicted class change? ({self.how})"

    def bind(self, names: Sequence[str], outputs: Array) -> SoftFlip:
        """Refuse outputs that are not probabilities; see how small they get."""
        return knowing(self, least=least_probability(outputs), how=_how(outputs))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return 1 - _odds(outputs, reference.argmax(axis=-1))


@dataclass(frozen=True, slots=True)
class ToClass:
    """The predicted class becomes a given one.

    Parameters
    ----------
    target : object
        A label of the model, as it gives it or as text.
    """

    target: Any
    _column: int | None = field(default=None, init=False, repr=False, compare=False)

    def bind(self, names: Sequence[str], outputs: Array) -> ToClass:
        """Find the target among the model's classes."""
        return knowing(self, _column=column_of(self.target, names))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return ones(outputs.argmax(axis=-1) == self.column)

    @property
    def column(self) -> int:
        """The output of the target."""
        if self._column is None:
            raise InvalidParameter(f"{self!r} does not know the model's classes yet: bind it to them first")
        return self._column

    def where(self, output: Array, names: Sequence[str], number: Number) -> str:
        """In or out of the target class."""
        is_there = int(output.argmax()) == column_of(self.target, names)
        return f"it {'in' if is_there else 'out of'} class {self.target}"

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the class becomes the target, or no longer is."""
        return f"Does the predicted class become {self.target}, or stop being {self.target}? ({HARD})"


@dataclass(frozen=True, slots=True)
class SoftToClass(ToClass):
    """The predicted class becomes a given one, by degrees, as in :class:`SoftFlip`; the target is as in ToClass."""

    least: float = field(default=0.0, init=False, repr=False, compare=False)
    how: str = field(default=SOFT, init=False, repr=False, compare=False)

    def asks(self, names: Sequence[str], number: Number) -> str:
        """Whether the class becomes the target, or no longer is."""
        return f"Does the predicted class become {self.target}, or stop being {self.target}? ({self.how})"

    def bind(self, names: Sequence[str], outputs: Array) -> SoftToClass:
        """Find the target among the model's classes; refuse outputs that are not probabilities."""
        known = {"least": least_probability(outputs), "how": _how(outputs)}
        return knowing(self, **known, _column=column_of(self.target, names))

    def __call__(self, outputs: Array, reference: Array) -> Array:
        return _odds(outputs, outputs.argmax(axis=-1) * 0 + self.column)


def _how(outputs: Array) -> str:
    return LABELS if np.all((outputs == 0) | (outputs == 1)) else SOFT


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


def are_probabilities(outputs: Array) -> bool:
    """Whether (N, k) outputs of at least two classes lie in [0, 1]."""
    return outputs.shape[1] > 1 and bool(np.all((outputs >= 0) & (outputs <= 1 + 1e-6)))


def class_names(names: Sequence[str]) -> list[str]:
    """The classes that a question can be about."""
    return [name for name in names if name != OTHER_LABEL]


def renamed(names: Sequence[str], given: Sequence[str] | Mapping[Any, str]) -> tuple[str, ...]:
    """Other names for the classes of a model: as many as there are, in their order, or by the model's own labels."""
    own = class_names(names)
    if len(names) == 1:
        raise InvalidParameter("class_names are for a model with classes, and this is a regression")
    if isinstance(given, Mapping):
        unknown = [label for label in given if str(label) not in own]
        if unknown:
            raise InvalidParameter(f"class_names has the classes {unknown}, which are not among the model's: {own}")
        by_label = {str(label): str(name) for label, name in given.items()}
        new = [by_label.get(name, name) for name in own]
    else:
        new = [given] if isinstance(given, str) else [str(name) for name in given]
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
            "ask with outcomes.Flip or ToClass"
        )


def ones(flags: Any) -> Array:
    """1 for true and 0 for false; arrays of NumPy or tensors of torch."""
    made: Array = flags * 1.0
    return made


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


def knowing(outcome: O, **known: Any) -> O:
    """The same outcome, which now knows what it was bound to."""
    made = replace(outcome)  # type: ignore[type-var]
    for name, value in known.items():
        object.__setattr__(made, name, value)
    return made


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
