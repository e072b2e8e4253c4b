"""Comparison: by how much two explanations differ, feature by feature."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from xcid.records.arrays import Array, Backend, Flags

Kind = Literal["groups", "pairs", "rows"]


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """By how much two explanations differ, feature by feature, and how sure that is.

    Attributes
    ----------
    first, second : (d,)
        Means over the rows of each: log odds towards the same class, or the effects of a regression in the output's
        own unit.
    difference : (d,)
        ``second - first``.
    lower, upper : (d,)
        Confidence limits (95%) of ``difference``.
    p_values : (d,)
        Against "these two do not differ".
    feature_names : tuple of str
    names : tuple of two str
        What the two are called.
    n_rows : tuple of two int
        The rows behind the means; rows of which nothing is known are left out.
    kind : "groups", "pairs" or "rows"
        Two groups of rows, the same rows explained twice and compared row by row, or two single rows.
    about : str
        The class that signs are about, or "up" for a regression.
    unit : "log odds" or "output"
    question : str
        What was asked, in words.
    shown : tuple of (str, str)
        The values of each feature in two single rows, in words; empty where there are more rows.
    """

    first: Array
    second: Array
    difference: Array
    lower: Array
    upper: Array
    p_values: Array
    feature_names: tuple[str, ...]
    names: tuple[str, str]
    n_rows: tuple[int, int]
    kind: Kind
    about: str
    unit: Literal["log odds", "output"]
    question: str = ""
    shown: tuple[tuple[str, str], ...] = ()

    def __len__(self) -> int:
        return len(self.difference)

    def __repr__(self) -> str:
        first, second = self.n_rows
        return f"<xcid.Comparison: {len(self)} features, {first} and {second} rows, compared as {self.kind}>"

    def __str__(self) -> str:
        from xcid.show import text

        return text.comparison(self)

    def _repr_html_(self) -> str:
        from xcid.show import notebook

        return notebook.comparison(self)

    def report(self, path: str | os.PathLike[str], *, title: str | None = None) -> None:
        """Write one HTML file with sentences, a picture and a table; it needs nothing else."""
        from xcid.show.report.comparison import report

        report(self, path, title=title)

    @property
    def significant(self) -> Flags:
        """(d,) differences whose p-value, corrected for the features, is at most 0.05."""
        from xcid import calibration

        return np.asarray(calibration.is_significant(self.p_values[None])[0])

    def adjusted_p_values(self) -> Array:
        """(d,) p-values adjusted for the number of features by Benjamini and Hochberg's method."""
        from xcid import calibration

        return np.asarray(calibration.benjamini_hochberg(self.p_values[None])[0])

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Give one line for each feature as a data frame of pandas, polars or pyarrow."""
        from xcid import frames

        return frames.frame_of(frames.comparison_columns(self), backend)
