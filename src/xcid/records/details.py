"""What all rows of an explanation share: its columns, its outputs on average, its question and its settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from xcid.records.arrays import Density, Outcome, in_words
from xcid.records.fields import COLUMN, FEATURE, OUTPUT, per


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
