"""The question of the paper: yes or no, and ties as dice-ml counts them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from xcid._kernels.arrays import namespace
from xcid.outcomes.classes import Flip
from xcid.outcomes.numbers import Interval
from xcid.outcomes.protocol import Question
from xcid.records import Array

TIE = 0.5


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


class Crossing(Question):
    """Whether the output crosses to the other side: of two or more classes, or of an interval around a number."""

    __slots__ = ()

    def bind(self, names: Sequence[str], outputs: Array) -> Any:
        """The question that fits the model."""
        question = FlipOrTie() if outputs.shape[1] > 1 else Interval()
        return question.bind(names, outputs)
