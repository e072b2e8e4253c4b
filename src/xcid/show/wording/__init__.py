"""How an explanation is worded wherever it is shown: terminal, notebooks, plots, reports, the app.

What the model answers, what is significant, what a score means and how numbers are written is decided here and nowhere
else; ``names.py`` prepares names that come from data, and ``colours.py`` has the colours.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from xcid.cid.drawn import Kept
from xcid.outcomes.classes import OTHER_LABEL, Flip, SoftFlip, are_probabilities
from xcid.outcomes.numbers import Interval
from xcid.records import SIGNIFICANT, Array, Explanation, Flags, Integers
from xcid.records.status import UNKNOWN
from xcid.records.status import meaning as status_in_words
from xcid.show.wording.names import clean

PREDICTION, ANSWER = "the prediction", "the present answer"  # what signs are about: by default, and for other questions
OPPOSES = "works against it"
NOT_SIGNIFICANT = f"not significant (adjusted p > {SIGNIFICANT:g})"
NO_OUTPUT = "no output"
MOST_LETTERS = 40  # of a class in a sentence
MOST_TIMES = 1_000_000  # that odds are said to be multiplied by


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
    """What the model answers for one row: "positive (0.81)", a label, or a number as ``write`` puts it."""
    name, value = predicted(outputs, names)
    if name == NO_OUTPUT:
        return name
    if len(outputs) == 1:
        return write(value)
    name = of_class(name)
    if names[-1] == OTHER_LABEL:  # of a model that gives labels only
        return name
    return f"{name} ({value:.2f})" if are_probabilities(outputs[None]) else f"{name} ({value:.3g})"


def title(one: Explanation) -> str:
    """A single row and what the model answers: "row 7: predicted positive (0.81)"; or how many rows were averaged.

    A row that is not explained says so, and why.
    """
    if one.n_rows is not None:
        group = "" if one.index[0] == "all" else f" in group {clean(one.index[0], MOST_LETTERS)}"
        return f"mean of {one.n_rows[0]:,} rows{group}"
    if not is_explained(one):
        return f"row {one.index[0]}: {not_explained(one)}"
    said = answer(one.outputs[0], one.output_names)
    return f"row {one.index[0]}: {said}" if said == NO_OUTPUT else f"row {one.index[0]}: predicted {said}"


def is_explained(one: Explanation) -> bool:
    """Whether a single row has scores: one for which the model failed has none."""
    return str(one.status[0]) not in UNKNOWN


def not_explained(one: Explanation) -> str:
    """Say that a single row is not explained, and why."""
    return f"not explained: {status_in_words(str(one.status[0]))}"


def note(status: str) -> str:
    """A status to put behind something: " (frozen)", and nothing where all is well."""
    return "" if status == "ok" else f" ({status})"


def not_significant(explanation: Explanation) -> Flags:
    """(n, d) features that can change and are not significant; none where there are no p-values at all."""
    if explanation.significant is None:
        return np.zeros(explanation.values.shape, dtype=np.bool_)
    return (explanation.feature_status == "ok") & ~explanation.significant


def is_signed(explanation: Explanation) -> bool:
    """Whether the sign of a score says something."""
    return bool(explanation.direction.any())


def score(explanation: Explanation, value: float) -> str:
    """A score with three decimals, and its sign where that says something; none for one that is 0."""
    shown = f"{value:+.3f}" if is_signed(explanation) and explanation.n_rows is None else f"{value:.3f}"
    return "0.000" if shown in ("+0.000", "-0.000") else shown


SHARE = "%: share of rows where the feature is significant"


def share_significant(one: Explanation, at: int) -> str:
    """In how many of the rows that were averaged a feature is significant."""
    return "" if one.share_significant is None else f"{one.share_significant[0, at]:.0%}"


def meaning(explanation: Explanation) -> str:
    """What a score means."""
    if explanation.n_rows is not None:
        return "score: mean size, from 0 to 1"
    if not is_signed(explanation):
        return f"score: {unsigned(explanation)}"
    raises, lowers = directions(explanation)
    return f"score: + {raises}, − {lowers}"


def unsigned(explanation: Explanation) -> str:
    """What a score without a sign is."""
    return f"d1 between C+ ({verb(explanation)}s) and C− (stays)"


def directions(explanation: Explanation) -> tuple[str, str]:
    """What scores above and below 0 say of a present value."""
    about = of_class(explanation.about)
    if not about:
        return f"supports {subject(explanation)}", OPPOSES
    if len(explanation.output_names) == 1:
        return "raises the output", "lowers it"
    return f"raises the odds of {about}", "lowers them"


def subject(explanation: Explanation) -> str:
    """What signs are about: the prediction, or the present answer where the question is not whether that changes."""
    outcome = explanation.outcome
    is_default = outcome is None and "outcome" not in (explanation.settings or {})  # some files do not keep a question
    asks_for_moves = len(explanation.output_names) == 1 and isinstance(outcome, Interval)
    return PREDICTION if is_default or asks_for_moves or isinstance(outcome, (Flip, SoftFlip)) else ANSWER


def verb(explanation: Explanation) -> str:
    """What the perturbations of C+ do to the output: they flip it, or move it where it is a number that may move."""
    asks_for_moves = explanation.outcome is None or isinstance(explanation.outcome, Interval)
    return "move" if len(explanation.output_names) == 1 and asks_for_moves else "flip"


def what_would(names: tuple[str, ...]) -> str:
    """The title of a list of counterfactuals, of a model with outputs of these names."""
    return f"What would {'change' if len(names) == 1 else 'flip'} it"


def in_odds(explanation: Explanation) -> bool:
    """Whether scores say what odds are multiplied by: signed ones with limits, but for those of a regression."""
    return is_signed(explanation) and explanation.lower is not None and explanation.moved is None


def unit(explanation: Explanation) -> str:
    """What stands beside the scores of a single row, of each of many, or of averages."""
    if explanation.n_rows is not None:
        values, limits = "the values", "on average, with 95% limits"
        if explanation.moved is not None:
            return f"+ and -: what {values} add to the output {limits}"
        return f"× and ÷: what {values} multiply or divide the odds of {whom(explanation)} by {limits}"
    if explanation.moved is not None:
        return "+ and -: what the present value adds to the output, with 95% limits"
    return f"× and ÷: what the present value multiplies or divides the odds of {whom(explanation)} by, with 95% limits"


def times(factor: float) -> str:
    """What odds are multiplied or divided by.

    Examples
    --------
    >>> times(1.2345), times(12.345), times(3e7)
    ('1.23', '12.3', 'over 1,000,000')
    """
    if factor > MOST_TIMES:
        return f"over {MOST_TIMES:,}"
    return f"{factor:,.0f}" if factor >= 100 else f"{factor:.3g}"


def worth(one: Explanation, at: int, write: Callable[[float], str] = number) -> str:
    """What the present value of a feature of a single row is worth: "×2.1 (2 to 2.2)", or "+41 (+38 to +44)".

    It is empty where scores have no unit.
    """
    found = _worth(one, at)
    if found is None:
        return ""
    value, ends = found
    return with_limits(value, ends, "output" if one.moved is not None else "log odds", write)


def with_limits(value: float, ends: tuple[float, float], kind: str, write: Callable[[float], str] = number) -> str:
    """A number with its limits: "×2.1 (2 to 2.2)" for log odds, "+41 (+38 to +44)" in the unit of an output.

    Examples
    --------
    >>> with_limits(-0.37, (-0.41, -0.33), "log odds"), with_limits(-0.05, (-0.15, 0.05), "log odds")
    ('÷1.45 (1.39 to 1.51)', '÷1.05 (÷1.16 to ×1.05)')
    """
    if kind == "output":
        return f"{_signed(value, write)} ({' to '.join(_signed(end, write) for end in ends)})"
    low, high = ends
    if low < 0 < high:  # from dividing to multiplying
        return f"{_factor(value)} ({_factor(low)} to {_factor(high)})"
    weak, strong = sorted((abs(low), abs(high)))
    return f"{_factor(value)} ({times(np.exp(weak))} to {times(np.exp(strong))})"


def worths(one: Explanation, write: Callable[[float], str] = number) -> list[str]:
    """What stands beside each score of a single row: what it is worth, and nothing where it is not significant.

    A mean of many rows is left out where its limits lie on both sides of no effect.
    """
    is_shown = (one.feature_status[0] == "ok") & ~not_significant(one)[0]
    if one.n_rows is not None and one.mean_lower is not None and one.mean_upper is not None:
        is_shown &= one.mean_lower[0] * one.mean_upper[0] > 0
    return [worth(one, at, write) if is_shown[at] else "" for at in range(len(one.feature_names))]


def sentence_of(
    one: Explanation, at: int, write: Callable[[float], str] = number, cell: Callable[[str], str] = str
) -> str:
    """One feature of a single row in a sentence: "Glucose 98 divides the odds of diabetes by 2.1 (1.9 to 2.3)".

    ``write`` puts outputs into words, and ``cell`` the present value.
    """
    name = f"{clean(one.feature_names[at], MOST_LETTERS)} {clean(cell(one.shown(0, at)), MOST_LETTERS)}".strip()
    status, found = str(one.feature_status[0, at]), _worth(one, at)
    if status != "ok":
        return f"{name} cannot change ({status})"
    if found is None:
        return f"{name}: d1 {one.values[0, at]:.3f}"
    if not_significant(one)[0, at]:
        return f"{name} makes no significant difference"
    value, (low, high) = found
    low, high = (low, high) if value > 0 else (-high, -low)
    if one.moved is not None:
        ends = f"{write(low)} to {write(high)}"
        return f"{name} {'raises' if value > 0 else 'lowers'} the output by {write(abs(value))} ({ends})"
    ends = f"{times(np.exp(low))} to {times(np.exp(high))}"
    does = "multiplies" if value > 0 else "divides"
    return f"{name} {does} the odds of {whom(one)} by {times(np.exp(abs(value)))} ({ends})"


def whom(one: Explanation) -> str:
    """Whom signs are about: the class of a direction, the class that is predicted for a single row, or the answer."""
    if one.about:
        return of_class(one.about)
    about = ANSWER if len(one.output_names) == 1 else subject(one)
    if about == ANSWER or len(one) > 1 or one.n_rows is not None:
        return about
    return of_class(predicted(one.outputs[0], one.output_names)[0])


def of_class(name: str) -> str:
    """A class in a sentence with other numbers.

    Examples
    --------
    >>> of_class("diabetes"), of_class("1")
    ('diabetes', 'class 1')
    """
    shown = clean(name, MOST_LETTERS)
    return f"class {shown}" if shown.lstrip("-").replace(".", "", 1).isdigit() else shown


def _worth(one: Explanation, at: int) -> tuple[float, tuple[float, float]] | None:
    """A number with its limits: an effect of a regression, or log odds; those of averages are means."""
    if one.n_rows is not None:
        if one.mean is None or one.mean_lower is None or one.mean_upper is None:
            return None
        return float(one.mean[0, at]), (float(one.mean_lower[0, at]), float(one.mean_upper[0, at]))
    if one.moved is not None and one.moved_lower is not None and one.moved_upper is not None:
        return float(one.moved[0, at]), (float(one.moved_lower[0, at]), float(one.moved_upper[0, at]))
    if not in_odds(one):
        return None
    return float(one.log_odds[0, at]), (float(one.log_odds_lower[0, at]), float(one.log_odds_upper[0, at]))


def _factor(log_odds: float) -> str:
    return f"{'×' if log_odds >= 0 else '÷'}{times(np.exp(abs(log_odds)))}"


def _signed(value: float, write: Callable[[float], str]) -> str:
    return f"{'+' if value >= 0 else ''}{write(value)}"


STAYS, BOTH = "perturbations that stay (C−)", "in both"
OWN, AT_ONE_VALUE = "this row's value", "lines with dots: share at exactly one value (right-hand scale)"


def flips(explanation: Explanation) -> str:
    """What C+ is: "perturbations that flip the output (C+)"."""
    return f"perturbations that {verb(explanation)} the output (C+)"


def why(kept: Kept, shown: str, does: str = "flip") -> str:
    """What the evidence of a feature comes to, in a sentence: how many perturbations of either set keep its value.

    ``does`` is the verb of C+, as :func:`verb` gives it.

    Examples
    --------
    >>> from xcid.cid.drawn import Kept
    >>> why(Kept(0.6, 0.24), "98")
    'Among the perturbations that stay, 60% keep 98; among those that flip, 24%.'
    """
    if np.isnan(kept.flip) or np.isnan(kept.stay):
        return f"None of the perturbations {does if np.isnan(kept.flip) else 'stay'}s."
    stay, flip = (f"{100 * share:.0f}%" for share in kept)
    keep = "leave it missing" if shown == "missing" else f"keep {shown}"
    return f"Among the perturbations that stay, {stay} {keep}; among those that {does}, {flip}."


def largest(scores: Array, most: int | None = None) -> Integers:
    """Positions of the largest (d,) absolute scores, the largest first."""
    return np.argsort(-np.abs(scores), kind="stable")[:most]


def left_out(n_features: int, n_shown: int) -> str:
    """Say that there are more features than were shown."""
    more = n_features - n_shown
    if more <= 0:
        return ""
    return "1 more feature has a smaller score" if more == 1 else f"{more:,} more features have smaller scores"


def question(explanation: Explanation, write: Callable[[float], str] = number) -> str:
    """What was asked, in words: "Does the predicted class change? (soft: ...)"; ``write`` puts levels of outputs."""
    outcome = explanation.outcome
    if outcome is None:
        return "What does the output rest on?"
    asks = getattr(outcome, "asks", None)
    if asks:
        return asks(explanation.output_names, write)
    return f"Does the output change sides? (a question of your own: {getattr(outcome, '__name__', repr(outcome))})"
