"""Types of arrays, pairs of densities, what is significant, and what all rows of an explanation share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt

from xcid._numbers import DIGITS_OF_A_CELL, format_number
from xcid.records.fields import COLUMN, FEATURE, OUTPUT, per

Array: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]
Unsigned: TypeAlias = npt.NDArray[np.uint64]
Flags: TypeAlias = npt.NDArray[np.bool_]
Texts: TypeAlias = npt.NDArray[np.str_]
Backend: TypeAlias = Literal["pandas", "polars", "pyarrow"]

MISSING = "missing"  # a cell in words


def in_words(code: float, unit: str, levels: tuple[str, ...]) -> str:
    """A number of a column in words: a date where it has a unit, the name of a level where it has levels.

    Examples
    --------
    >>> in_words(1.0, "", ("no", "yes")), in_words(3.0, "", ()), in_words(19000.0, "D", ())
    ('yes', '3', '2022-01-08')
    >>> in_words(10076637.88, "", ()), in_words(1250000.0, "", ()), in_words(0.123456789, "", ())
    ('10,076,637.88', '1,250,000', '0.123457')
    """
    if np.isnan(code):
        return MISSING
    if unit:
        return str(np.array(round(code)).astype(f"datetime64[{unit}]"))
    return levels[int(code)] if levels else format_number(code + 0.0, DIGITS_OF_A_CELL)


@dataclass(frozen=True, slots=True, eq=False)
class DensityPair:
    """Two densities on common points, batched over leading axes.

    A point is a cell of the line with its width as ``weights`` and the mean density over the cell as ``p`` and ``q``,
    or an atom with ``weights`` 1 and its mass as ``p`` and ``q``. Either way ``weights * p`` is a mass, so that one
    formula serves continuous, discrete and mixed features.

    Attributes
    ----------
    points : (..., g)
        Where: the middle of a cell, or the value that carries an atom.
    p, q : (..., g)
        Densities (or masses) of C+ and C-.
    weights : (..., g)
        Widths of the cells; 1 for an atom; 0 for an unused place.
    atoms : (..., g) bool
        Which points are atoms.
    """

    points: Array
    p: Array
    q: Array
    weights: Array
    atoms: Flags

    def __str__(self) -> str:
        """Say what a pair is made of; its d1 is ``xcid.distances.d_k(pair.p, pair.q, pair.weights)``."""
        if self.p.ndim > 1:
            return f"distributions where the answer flips (p) and where it stays (q), of shape {self.p.shape[:-1]}"
        used = self.weights > 0
        points, parts = self.points[used & ~self.atoms], list[str]()
        if points.size:
            ends = (format_number(float(end)) for end in (points.min(), points.max()))
            parts.append(f"a curve of {points.size:,} points from {' to '.join(ends)}")
        if n_single := int((self.atoms & used).sum()):
            parts.append(f"{n_single:,} single value{'' if n_single == 1 else 's'}")
        return f"how a feature is distributed where the answer flips (p) and where it stays (q): {' and '.join(parts)}"

    def __getitem__(self, index: Any) -> DensityPair:
        """Select from the leading axes."""
        return DensityPair(self.points[index], self.p[index], self.q[index], self.weights[index], self.atoms[index])

    def compact(self) -> DensityPair:
        """Drop the unused places of a single pair and sort the rest by value."""
        used = np.flatnonzero(self.weights * (self.p + self.q) > 0)
        order = used[np.argsort(self.points[used], kind="stable")]
        return self[order]


class Density(Protocol):
    """Anything that turns weighted samples of features into pairs of densities; a plain function qualifies.

    ``values``, ``positive`` and ``negative`` have a common shape ``(..., s)`` after broadcasting; the result is
    batched over the same leading axes. A density has mass 1 where its weights have a positive sum and 0 elsewhere.
    """

    def __call__(self, values: Array, positive: Array, negative: Array) -> DensityPair: ...


class Outcome(Protocol):
    """Anything that tells positives from negatives; a plain function qualifies. See :mod:`xcid.outcomes`."""

    def __call__(self, outputs: Array, reference: Array) -> Array: ...


SIGNIFICANT = 0.05  # a feature with a larger p-value, corrected for the features of its row, is not significant


def benjamini_hochberg(p_values: Array, can_change: Flags | None = None) -> Array:
    """(n, d) p-values adjusted for the number of features of each row, of those that can change where that is said.

    Features with an adjusted p-value below q have at most a share q of false discoveries among them (Benjamini and
    Hochberg, "Controlling the false discovery rate", JRSS B 1995).

    Examples
    --------
    >>> import numpy as np
    >>> benjamini_hochberg(np.array([[0.01, 0.02, 0.9, 0.04]])).round(4).tolist()
    [[0.04, 0.04, 0.9, 0.0533]]
    """
    counts = np.ones(p_values.shape, dtype=bool) if can_change is None else can_change
    found = np.where(counts, np.nan_to_num(p_values, nan=1.0), np.inf)
    order = np.argsort(found, axis=1, kind="stable")
    number = np.maximum(counts.sum(axis=1, keepdims=True), 1)
    scaled = np.take_along_axis(found, order, axis=1) * (number / np.arange(1, 1 + found.shape[1]))
    least = np.minimum.accumulate(scaled[:, ::-1], axis=1)[:, ::-1]
    adjusted = np.empty_like(found)
    np.put_along_axis(adjusted, order, np.minimum(least, 1.0), axis=1)
    return adjusted


def is_significant(p_values: Array, can_change: Flags | None = None) -> Flags:
    """(n, d) the one rule of significance: p-values corrected for the features of each row that can change.

    Of fifteen features that make no difference, some single p-value is small in every second row; the correction is
    that of :func:`benjamini_hochberg`, and the level 5%.

    Examples
    --------
    >>> import numpy as np
    >>> is_significant(np.array([[0.01, 0.02, 0.9, 0.04]])).tolist()
    [[True, True, False, False]]
    """
    return np.asarray(benjamini_hochberg(p_values, can_change) <= SIGNIFICANT)


@dataclass(frozen=True, slots=True)
class Details:
    """What all rows of an explanation share.

    Attributes
    ----------
    column_names : tuple of str
    features : tuple of tuples of int
        The columns of each feature.
    levels : tuple of tuples of str
        The levels of each column that is made of them, in the order of their codes; empty for numbers.
    units : tuple of str
        "D" or "s" for dates, whose numbers are days or seconds since 1970; else empty.
    scales : tuple of float
        Mean absolute deviation of each column of the reference data: the unit of distances.
    ordered : tuple of bool
        Whether the levels of each column are in order, from low to high; empty in files of earlier versions.
    output_scales : tuple of float
        Standard deviation of each output over the reference data.
    base_outputs, base_log_odds, base_margins : tuple of float
        Mean output of the reference rows, mean log odds of each class, and of several classes the mean logarithms of
        probabilities; empty where there are none.
    least : float
        What a probability of 0 stands for in log odds.
    density : Density or None
        The estimator that turns the evidence into pictures.
    outcome : Outcome or None
        The question that was asked.
    settings : mapping of str to str
        What made this explanation, for the record.
    """

    column_names: tuple[str, ...] = per(COLUMN)
    features: tuple[tuple[int, ...], ...] = per(FEATURE)
    levels: tuple[tuple[str, ...], ...] = per(COLUMN, absent=())
    units: tuple[str, ...] = per(COLUMN, absent="")
    scales: tuple[float, ...] = per(COLUMN)
    ordered: tuple[bool, ...] = per(COLUMN, default=())
    output_scales: tuple[float, ...] = per(OUTPUT, default=())
    base_outputs: tuple[float, ...] = per(OUTPUT, default=())
    base_log_odds: tuple[float, ...] = per(OUTPUT, default=())
    base_margins: tuple[float, ...] = per(OUTPUT, default=())
    density: Density | None = None
    outcome: Outcome | None = None
    settings: Mapping[str, str] | None = None
    least: float = 0.0

    def cell(self, code: float, column: int) -> str:
        """A number of a column in words."""
        return in_words(code, self.units[column], self.levels[column])

    def ask(self, output_names: tuple[str, ...], write: Callable[[float], str]) -> str:
        """What was asked, in words: "Does the predicted class change?"; ``write`` puts levels of outputs."""
        if self.outcome is None:
            return "What does the output rest on?"
        describe = getattr(self.outcome, "describe", None)
        if describe:
            return str(describe(output_names, write))
        own = getattr(self.outcome, "__name__", repr(self.outcome))
        return f"Does the output change sides? (a question of your own: {own})"
