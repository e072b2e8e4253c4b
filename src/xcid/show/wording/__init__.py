"""How an explanation is worded wherever it is shown: terminal, notebooks, plots, reports, the app.

What the model predicts, what a score means and what it is worth is worded here; ``rows.py`` has the table of a row, its
sum and its evidence, ``names.py`` formats names and numbers, ``differences.py`` words comparisons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from xcid import _check
from xcid._numbers import format_factor, format_fixed, format_number, format_probability, percent
from xcid.outcomes.classes import OTHER_LABEL, are_shares
from xcid.outcomes.protocol import as_question
from xcid.records import SIGNIFICANT, Array, Explanation, Flags
from xcid.records.explanation import D1
from xcid.records.fields import COMPUTATION, REFERENCE, TRAINING
from xcid.records.status import UNKNOWN
from xcid.records.status import meaning as status_in_words
from xcid.show.wording.names import (
    clean,
    count_in_words,
    count_left_out,
    format_effect,
    format_limits,
    format_size,
    format_status,
    is_odds,
    rank_largest,
)

if TYPE_CHECKING:
    from xcid.interactions import Interactions

PREDICTION, ANSWER = "the prediction", "the present answer"  # what signs are about: by default, and for other questions
NOT_SIGNIFICANT = f"not significant (adjusted p > {SIGNIFICANT:g})"
OVER = {COMPUTATION: "our sampling", REFERENCE: "reference rows", TRAINING: "trainings"}  # what limits allow for
NO_OUTPUT = "no output"
MOST_LETTERS = 40  # of a class in a sentence


def find_prediction(outputs: Array, names: tuple[str, ...]) -> tuple[str, float]:
    """The class with the largest of (k,) outputs, and that output; a model that failed predicts nothing."""
    if np.isnan(outputs).any():
        return NO_OUTPUT, np.nan
    top = int(outputs.argmax())
    return names[top], float(outputs[top])


def format_prediction(outputs: Array, names: tuple[str, ...], write: Callable[[float], str] = format_number) -> str:
    """What the model predicts for one row: "positive (0.81)", a label, or a number as ``write`` puts it."""
    name, value = find_prediction(outputs, names)
    if name == NO_OUTPUT:
        return name
    if len(outputs) == 1:
        return write(value)
    name = name_class(name)
    if names[-1] == OTHER_LABEL:  # of a model that gives labels only
        return name
    return f"{name} ({format_probability(value)})" if are_shares(outputs[None]) else name  # a score says nothing here


def title_row(one: Explanation) -> str:
    """A single row and what the model predicts: "row 7: predicted positive (0.81)"; or how many rows were averaged.

    A row that is not explained says so, and why.
    """
    if one.n_rows is not None:
        group = "" if one.index[0] == "all" else f" in group {clean(one.index[0], MOST_LETTERS)}"
        return f"mean of {count_in_words(int(one.n_rows[0]), 'row')}{group}"
    if not is_explained(one):
        return f"row {one.index[0]}: {say_not_explained(one)}"
    said = format_prediction(one.outputs[0], one.output_names)
    return f"row {one.index[0]}: {said}" if said == NO_OUTPUT else f"row {one.index[0]}: predicted {said}"


def is_explained(one: Explanation) -> bool:
    """Whether a single row has scores: one for which the model failed has none."""
    return str(one.status[0]) not in UNKNOWN


def say_not_explained(one: Explanation) -> str:
    """Say that a single row is not explained, and why."""
    return f"not explained: {status_in_words(str(one.status[0]))}"


def is_faint(explanation: Explanation) -> Flags:
    """(n, d) features that differ somewhere and are not significant; none where there are no p-values at all."""
    significant = explanation.significant
    if significant is None:
        return np.zeros(explanation.values.shape, dtype=np.bool_)
    return (explanation.feature_status != "constant") & ~significant


def is_signed(explanation: Explanation) -> bool:
    """Whether the sign of a score says something."""
    return explanation.base_values is not None or bool((explanation.values < 0).any())


def format_score(explanation: Explanation, value: float) -> str:
    """A score: three decimals, or an output's own digits, and its sign where that says something."""
    if explanation.scale == "number":
        return format_effect(value, "number", _like(explanation, value))
    return format_fixed(value, 3, is_signed=is_signed(explanation))


def find_largest(explanation: Explanation) -> float:
    """The size of the largest score."""
    return float(np.nanmax(np.abs(explanation.values), initial=0.0))


def _like(explanation: Explanation, value: float) -> float | Array:
    """The numbers whose decimals a score has: those of all scores, in the unit of an output."""
    parts = explanation.values, explanation.lower, explanation.upper
    return np.array([part for part in parts if part is not None]) if explanation.scale == "number" else value


def name_unit(found: Explanation | Interactions) -> str:
    """What contributions are measured in: "log odds of diabetes", "probability of class 1", "the output", "price"."""
    estimand = getattr(found, "estimand", "Shapley")
    kind = "" if estimand == "Shapley" else f", as {estimand} values"
    if found.scale in (D1, "number"):
        return f"{_name_output(found)}{kind}"
    return f"{'log odds' if is_odds(found.scale) else found.scale} of {name_whom(found)}{kind}"


SHARE = "%: share of rows where the feature is significant"


def format_share(one: Explanation, at: int) -> str:
    """In how many of the rows that were averaged a feature is significant."""
    return "" if one.share_significant is None else percent(one.share_significant[0, at])


def explain_score(explanation: Explanation) -> str:
    """What a score means, and its unit."""
    if explanation.base_values is None:
        return f"score: {explain_unsigned(explanation)}"
    mean, it = "mean " if explanation.n_rows is not None else "", "them" if is_odds(explanation.scale) else "it"
    return f"{mean}contribution in {name_unit(explanation)}: + raises {it}, − lowers {it}"


def explain_unsigned(explanation: Explanation) -> str:
    """What a score without a sign is."""
    return f"d1 between C+ ({choose_verb(explanation)}s) and C− (stays)"


def word_directions(explanation: Explanation) -> tuple[str, str]:
    """What contributions above and below 0 say of a present value."""
    if explanation.scale == "number":
        return "raises the output", "lowers it"
    what, it = ("odds", "them") if is_odds(explanation.scale) else ("probability", "it")
    return f"raises the {what} of {name_whom(explanation)}", f"lowers {it}"


def name_subject(explanation: Explanation) -> str:
    """What signs are about: the prediction, or the present answer where the question is not whether that changes."""
    outcome, settings = explanation.details.outcome, explanation.details.settings or {}
    is_default = outcome is None and "outcome" not in settings  # some files do not keep a question
    return PREDICTION if is_default or (outcome is not None and as_question(outcome).about_prediction) else ANSWER


def choose_verb(explanation: Explanation) -> str:
    """What the perturbations of C+ do to the output: they flip it, or move it where it is a number that may move."""
    asks_for_moves = explanation.details.outcome is None or as_question(explanation.details.outcome).about_prediction
    return "move" if len(explanation.output_names) == 1 and asks_for_moves else "flip"


def title_changes(names: tuple[str, ...]) -> str:
    """The title of a list of counterfactuals, of a model with outputs of these names."""
    return f"What would {'change' if len(names) == 1 else 'flip'} it"


def name_limits(explanation: Explanation) -> str:
    """What limits of contributions, or of their averages, allow for: "95% limits over our sampling"."""
    over = OVER[explanation.limits]
    if explanation.n_rows is not None:
        over = "rows" if explanation.limits == COMPUTATION else f"rows and {over}"
    return f"95% limits over {over}"


def explain_faint(explanation: Explanation) -> str:
    """What a mark of features that are not significant means, where their p-values allow for more than sampling."""
    if explanation.limits == COMPUTATION:
        return NOT_SIGNIFICANT
    return NOT_SIGNIFICANT.replace("significant", f"significant over {OVER[explanation.limits]}", 1)


def has_limits(explanation: Explanation) -> bool:
    """Whether there is anything for limits to allow for: our own sampling, or something else that was asked for."""
    return explanation.limits != COMPUTATION or not is_exact(explanation)


def explain_unit(explanation: Explanation) -> str:
    """What stands beside the contributions of a single row, of each of many, or of averages."""
    present = "the values" if explanation.n_rows is not None else "the present value"
    limits = name_limits(explanation)
    if explanation.limits == TRAINING and explanation.sd_reference is None:
        limits += ", not over reference rows"
    ends = f", with {limits}" if has_limits(explanation) else ""
    if is_odds(explanation.scale):
        does = "multiply or divide" if explanation.n_rows is not None else "multiplies or divides"
        return f"× and ÷: what {present} {does} the odds of {name_whom(explanation)} by{ends}"
    return f"in brackets: {limits}"


def is_exact(explanation: Explanation) -> bool:
    """Whether no row was sampled."""
    return bool(explanation.exact.all()) and explanation.n_rows is None  # type: ignore[union-attr]


def format_worth(one: Explanation, at: int) -> str:
    """What the present value of a feature of a single row is worth: "×2.10 (2.00 to 2.20)", "+41.2 (+38.0 to +44.1)".

    It is empty where scores have no unit.
    """
    found = _worth(one, at)
    if found is None:
        return ""
    value, ends = found
    return format_limits(value, ends, one.scale, _like(one, value))


def list_worths(one: Explanation) -> list[str]:
    """What stands beside each contribution of a single row, or mean of rows: odds, limits.

    It is nothing where a contribution of a single row is not significant.
    """
    is_shown = ~is_faint(one)[0] & (one.values[0] != 0)
    texts = [format_worth(one, at) if is_shown[at] else "" for at in range(len(one.feature_names))]
    return texts if is_odds(one.scale) else [text.partition(" ")[2] for text in texts]


def word_feature(one: Explanation, at: int, cell: Callable[[str], str] = str) -> str:
    """One feature of a single row in a sentence: "Glucose 98 divides the odds of diabetes by 2.10 (1.90 to 2.30)".

    ``cell`` puts the present value into words.
    """
    name = f"{clean(one.feature_names[at], MOST_LETTERS)} {clean(cell(one.shown(0, at)), MOST_LETTERS)}".strip()
    found = _worth(one, at)
    if found is None:
        return f"{name}: d1 {one.values[0, at]:.3f}"
    if is_faint(one)[0, at]:
        return f"{name} makes no significant difference"
    value, (low, high) = found
    low, high = (low, high) if value > 0 else (-high, -low)
    verbs, what = _say_what(one)
    if is_odds(one.scale) and format_effect(value, one.scale) == f"×{format_factor(1.0)}":
        return f"{name} hardly changes {what}"
    said, *ends = (format_size(size, one.scale, _like(one, abs(value))) for size in (abs(value), low, high))
    unit = " points" if one.scale == "probability" else ""
    over = "" if low == high else f" ({' to '.join(ends)})"
    return f"{name} {verbs[value < 0]} {what} by {said}{unit}{over}"


def _say_what(one: Explanation) -> tuple[tuple[str, str], str]:
    """The verbs for contributions above and below 0, and their object."""
    if is_odds(one.scale):
        return ("multiplies", "divides"), f"the odds of {name_whom(one)}"
    is_number = one.scale == "number"
    return ("raises", "lowers"), _name_output(one) if is_number else f"the probability of {name_whom(one)}"


def _name_output(one: Explanation | Interactions) -> str:
    """What a regression predicts: the name that was given to it, or "the output"."""
    name = getattr(one, "output_names", ("output",))[-1]
    return clean(name, MOST_LETTERS) if one.scale == "number" and name != "output" else "the output"


def name_whom(one: Explanation | Interactions) -> str:
    """Whom contributions are about: a class, or the predicted class where rows are about several; and its rival."""
    names, against = {*one.about.tolist()}, getattr(one, "against", None)
    whom = name_class(str(names.pop())) if len(names) == 1 else "the predicted class"
    if against is None:
        return whom
    rivals = {*against.tolist()}
    return f"{whom} against {name_class(str(rivals.pop())) if len(rivals) == 1 else 'its strongest rival'}"


def name_class(name: str) -> str:
    """A class in a sentence with other numbers.

    Examples
    --------
    >>> name_class("diabetes"), name_class("1")
    ('diabetes', 'class 1')
    """
    return _check.name_class(clean(name, MOST_LETTERS))


def _worth(one: Explanation, at: int) -> tuple[float, tuple[float, float]] | None:
    """A contribution with its limits; None where values are none."""
    if one.lower is None or one.upper is None or one.base_values is None:
        return None
    return float(one.values[0, at]), (float(one.lower[0, at]), float(one.upper[0, at]))
