"""Interactions: pairs of features that are worth more, or less, together than their sum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xcid._check import selection
from xcid.records import fields
from xcid.records.arrays import Array, Backend, Flags, Integers, Texts
from xcid.records.explanation import SIGNIFICANT
from xcid.records.fields import COLUMN, FEATURE, LOWER, ROW, UPPER, P, per

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True, eq=False)
class Interactions:
    """How the features of each row interact, by pairs, and how sure that is.

    Attributes
    ----------
    values : (n, f, f)
        Signed d1, as in :class:`Explanation`: ``1 - exp(-|s|/2)`` with the sign of s, the log odds that the present
        values of two features are worth together beyond the sum of both. Above 0 they support the present output
        more than their sum, below 0 less. Symmetric, and 0 on the diagonal.
    lower, upper : (n, f, f)
        Confidence limits (95%) of ``values``.
    p_values : (n, f, f)
        Against "these two do not interact".
    status : (n,) str
        As in :class:`Explanation`.
    n_evaluations : (n,)
        Rows that the model was asked to predict.
    n_flips : (n,)
        Perturbations that flip the output.
    index : (n,)
        Names of the rows.
    feature_names : tuple of str
    data : (n, c)
        The rows as numbers.
    """

    values: Array = per(ROW, FEATURE, FEATURE, unknown=0.0, line="value", of="values")
    lower: Array = per(ROW, FEATURE, FEATURE, unknown=-1.0, line="lower", of="values", part=LOWER)
    upper: Array = per(ROW, FEATURE, FEATURE, unknown=1.0, line="upper", of="values", part=UPPER)
    p_values: Array = per(ROW, FEATURE, FEATURE, unknown=1.0, line="p_value", of="values", part=P)
    status: Texts = per(ROW, dtype=np.str_, line="status")
    n_evaluations: Integers = per(ROW, dtype=np.int64, unknown=0, line="n_evaluations")
    n_flips: Integers = per(ROW, dtype=np.int64, unknown=0)
    index: npt.NDArray[Any] = per(ROW, dtype=None)
    feature_names: tuple[str, ...] = per(FEATURE)
    data: Array = per(ROW, COLUMN)

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, rows: Any) -> Interactions:
        """Select rows by a slice, a list of positions or a mask; a single position gives those of one row."""
        return fields.select(self, selection(rows, len(self)))

    def __iter__(self) -> Iterator[Interactions]:
        return (self[row] for row in range(len(self)))

    def __repr__(self) -> str:
        return f"<xcid.Interactions: {len(self)} rows x {len(self.pairs)} pairs of {len(self.feature_names)} features>"

    def __str__(self) -> str:
        from xcid.show import text

        return text.pairs(self)

    @property
    def pairs(self) -> tuple[tuple[str, str], ...]:
        """All pairs, the strongest first: by absolute values, averaged over the rows."""
        names = self.feature_names
        return tuple((names[i], names[j]) for i, j in zip(*self.places, strict=True))

    @property
    def places(self) -> tuple[Integers, Integers]:
        """(k,) and (k,) the positions of both features of each of ``pairs``: ``values[(0, *places)]`` is in order."""
        first, second = np.triu_indices(len(self.feature_names), k=1)
        strength = np.abs(self.values).sum(axis=0)[first, second]
        order = np.argsort(-strength, kind="stable")
        return first[order], second[order]

    @property
    def significant(self) -> Flags:
        """(n, f, f) pairs whose p-value, corrected for the pairs of the row, is at most 0.05."""
        return np.asarray(self.adjusted_p_values() <= SIGNIFICANT)

    def adjusted_p_values(self) -> Array:
        """(n, f, f) p-values adjusted for the number of pairs of a row by Benjamini and Hochberg's method."""
        from xcid import calibration

        first, second = self.places
        found = np.ones_like(self.p_values)
        if first.size:
            adjusted = calibration.benjamini_hochberg(self.p_values[:, first, second])
            found[:, first, second] = found[:, second, first] = adjusted
        return found

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Give one line for each row and pair, the strongest first, as a data frame of pandas, polars or pyarrow."""
        from xcid import frames

        return frames.pairs_to_frame(self, backend)
