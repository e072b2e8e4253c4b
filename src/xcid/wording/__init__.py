"""How an explanation is worded wherever it is shown: terminal, notebooks, plots, reports, the app.

What the model answers, what is significant, what a score means and how numbers are written is decided here and nowhere
else; ``names.py`` prepares names that come from data, and ``colours.py`` has the colours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xcid.outcomes.classes import OTHER_LABEL, are_probabilities
from xcid.records import SIGNIFICANT, Array, Explanation, Flags, Integers
from xcid.wording.names import clean

SUPPORTS, OPPOSES = "supports the prediction", "works against it"
UNSIGNED = "d1 between C+ (flips) and C− (stays)"
NOT_SIGNIFICANT = f"not significant (p > {SIGNIFICANT:g})"
NO_OUTPUT = "no output"
MOST_LETTERS = 40  # of a class in a sentence


def number(value: float) -> str:
    """A number with four digits, or all digits of its whole part.

    Examples
    --------
    >>> number(0.123456), number(-12345.6), number(1e12)
    ('0.1235', '-12,346', '1e+12')
    """
    return f"{value:,.0f}" if 1e4 <= abs(value) < 1e9 else f"{value:.4g}"


def predicted(outputs: Array, names: tuple[str, ...]) -> tuple[str, float]:
    """The class with the largest of (k,) outputs, and that output; a model that failed predicts nothing."""
    if np.isnan(outputs).any():
        return NO_OUTPUT, np.nan
    top = int(outputs.argmax())
    return names[top], float(outputs[top])


def answer(outputs: Array, names: tuple[str, ...], write: Callable[[float], str] = number) -> str:
    """What the model answers for one row: "positive with 0.81", a label, or a number as ``write`` puts it."""
    name, value = predicted(outputs, names)
    if name == NO_OUTPUT:
        return name
    if len(outputs) == 1:
        return write(value)
    name = clean(name, MOST_LETTERS)
    if names[-1] == OTHER_LABEL:  # of a model that gives labels only
        return name
    return f"{name} with {value:.2f}" if are_probabilities(outputs[None]) else f"{name} with {value:.3g}"


def title(one: Explanation) -> str:
    """A single row and what the model answers: "row 7: output positive with 0.81"."""
    said = answer(one.outputs[0], one.output_names)
    return f"row {one.index[0]}: {said}" if said == NO_OUTPUT else f"row {one.index[0]}: output {said}"


def note(status: str) -> str:
    """A status to put behind something: " (frozen)", and nothing where all is well."""
    return "" if status == "ok" else f" ({status})"


def not_significant(explanation: Explanation) -> Flags:
    """(n, d) features whose p-value is above the level or unknown; none where there are no p-values at all."""
    if explanation.p_values is None:
        return np.zeros(explanation.values.shape, dtype=np.bool_)
    return (explanation.feature_status == "ok") & ~(explanation.p_values <= SIGNIFICANT)


def is_signed(explanation: Explanation) -> bool:
    """Whether the sign of a score says something."""
    return bool(explanation.direction.any())


def score(explanation: Explanation, value: float) -> str:
    """A score with three decimals, and its sign where that says something."""
    return f"{value:+.3f}" if is_signed(explanation) else f"{value:.3f}"


def meaning(explanation: Explanation) -> str:
    """What a score means."""
    return f"score: + {SUPPORTS}, − {OPPOSES}" if is_signed(explanation) else f"score: {UNSIGNED}"


def largest(scores: Array, most: int | None = None) -> Integers:
    """Positions of the largest (d,) absolute scores, the largest first."""
    return np.argsort(-np.abs(scores), kind="stable")[:most]


def left_out(n_features: int, n_shown: int) -> str:
    """Say that there are more features than were shown."""
    more = n_features - n_shown
    if more <= 0:
        return ""
    return "1 more feature has a smaller score" if more == 1 else f"{more:,} more features have smaller scores"


def question(explanation: Explanation) -> str:
    """What was asked, in words: "Does the predicted class change? (soft: ...)"."""
    outcome = explanation.outcome
    if outcome is None:
        return "What does the output rest on?"
    asks = getattr(outcome, "asks", None)
    return asks(explanation.output_names, number) if asks else f"Which side does {outcome!r} say?"
