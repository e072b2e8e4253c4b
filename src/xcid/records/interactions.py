"""Pairs of features that tell more together than each by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xcid.records.arrays import Array, Backend


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """Pairs of features of one row, the strongest first.

    Attributes
    ----------
    pairs : tuple of (str, str)
    values : (p,)
        ``joint - alone``: what the two features tell together and neither by itself. Below 0 they tell the same.
    joint : (p,)
        d1 of the joint distribution of the pair.
    alone : (p,)
        What d1 of the joint distribution would be if the two were independent within C+ and within C-.
    p_values : (p,)
        Against that independence, for ``joint`` above ``alone``.
    status : str
        As in :class:`Explanation`.
    """

    pairs: tuple[tuple[str, str], ...]
    values: Array
    joint: Array
    alone: Array
    p_values: Array
    status: str

    @staticmethod
    def of(names: tuple[str, ...], status: str, joint: Array, alone: Array, p_values: Array) -> Interactions:
        """Take the upper half of (f, f) tables."""
        first, second = np.triu_indices(len(names), k=1)
        excess = (joint - alone)[first, second]
        order = np.argsort(-excess, kind="stable")
        at = first[order], second[order]
        found = tuple((names[i], names[j]) for i, j in zip(*at, strict=True))
        return Interactions(found, excess[order], joint[at], alone[at], p_values[at], str(status))

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        from xcid import text

        return text.pairs(self)

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Give one line for each pair as a data frame of pandas, polars or pyarrow."""
        from xcid import frames

        return frames.pairs_to_frame(self, backend)
