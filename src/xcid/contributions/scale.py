"""The scale that contributions add up on: log odds of a class, margins, its probability, or the output's own number.

Margins are log odds of a class against one other, its strongest rival in the row. Boosted trees and linear models of
several classes add up there, and not in log odds of a class against all others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from xcid._kernels.arrays import namespace
from xcid.errors import InvalidParameter
from xcid.outcomes.classes import CLOSE, are_probabilities, least_probability
from xcid.records import Array, Integers

Name: TypeAlias = Literal["log_odds", "margins", "probability", "number"]
FARTHEST = 34.0  # log odds beyond this lose their digits where the larger probability is held in double precision


@dataclass(frozen=True, slots=True)
class Scale:
    """From outputs to the numbers that contributions add up on.

    Parameters
    ----------
    name : "log_odds", "margins", "probability" or "number"
    least : float
        What a probability of 0 stands for in log odds.

    Examples
    --------
    >>> outputs, column = np.array([[0.25, 0.75]]), np.array([1])
    >>> Scale("log_odds")(outputs, column).round(3).tolist(), Scale("probability")(outputs, column).tolist()
    ([1.099], [0.75])
    """

    name: Name
    least: float = 0.0

    def __call__(self, outputs: Array, column: Integers, rival: Integers | None = None) -> Array:
        """(...,) numbers of (..., k) outputs, about an output each; arrays of NumPy or tensors of torch.

        Margins are against a ``rival``, and without one logarithms of probabilities.
        """
        xp, width = namespace(outputs), outputs.shape[-1]
        is_own = xp.arange(width, device=outputs.device) == column[..., None]
        own: Array = xp.where(is_own, outputs, 0.0).sum(-1)
        if self.name not in ("log_odds", "margins"):
            return own
        nothing = self.least if self.name == "margins" else np.exp(-FARTHEST)
        others = xp.where(is_own, 0.0, outputs).sum(-1)
        if self.name == "margins":
            others = own * 0 + 1 if rival is None else Scale("number")(outputs, rival)
        above, below = (xp.log(xp.where(part > nothing, part, max(self.least, nothing))) for part in (own, others))
        odds: Array = above - below
        return odds

    def bases(self, outputs: Array, weights: Array | None) -> Array:
        """(k,) weighted means of the numbers about each output, over the (N, k) outputs of reference rows."""
        every = [self(outputs, np.full(len(outputs), at)) for at in range(outputs.shape[1])]
        return np.array([np.average(numbers, weights=weights) for numbers in every])


def rival_of(outputs: Array, column: Integers) -> Integers:
    """(n,) the strongest class of (n, k) outputs beside one of each row."""
    is_own = np.arange(outputs.shape[1]) == column[:, None]
    return np.asarray(np.where(is_own, -np.inf, outputs).argmax(axis=1))


def choose_scale(wanted: str, outputs: Array, adds_up_on: str | None) -> Scale:
    """The scale for a model with (N, k) reference outputs; ``adds_up_on`` says where its own parts add up, if known.

    By default, and where nothing is known of the inside: log odds where probabilities lie between 0 and 1, points of
    probability where some are 0, as those of votes and labels are, and numbers as they are.
    """
    if wanted not in ("auto", "log_odds", "margins", "probability"):
        raise InvalidParameter(f"scale must be 'auto', 'log_odds', 'margins' or 'probability', not {wanted!r}")
    if not are_probabilities(outputs):
        if wanted != "auto":
            raise InvalidParameter(f"scale={wanted!r} is for probabilities, and this model's outputs are none")
        return Scale("number")
    least = least_probability(outputs)
    if wanted == "auto":
        known = adds_up_on if adds_up_on in ("log_odds", "probability") else None  # margins change with the rival
        wanted = known or ("probability" if has_votes(outputs) else "log_odds")
    if wanted == "margins":
        return Scale("margins", least) if outputs.shape[1] > 2 else Scale("log_odds", least)
    return Scale("log_odds", least) if wanted == "log_odds" else Scale("probability")


def has_votes(outputs: Array) -> bool:
    """Whether probabilities of 0 are among (N, k) outputs which do not come close to it otherwise."""
    smallest = np.where(outputs > 0, outputs, np.inf).min()
    return bool((outputs == 0).any() and smallest > CLOSE)
