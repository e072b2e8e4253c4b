"""What counts as a flip: ``outcome(outputs, reference) -> membership in C+``.

``outputs`` (N, k) are the model's answers for perturbed rows, ``reference`` (N, k) those for the rows they come from;
the result (N,) is 1 for a positive and 0 for a negative. Any function with that signature is an outcome.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from xcid._data import Array


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
        """Compare the positions of the largest outputs."""
        return (outputs.argmax(axis=-1) != reference.argmax(axis=-1)).astype(np.float64)
