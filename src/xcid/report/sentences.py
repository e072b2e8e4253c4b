"""The explanation of a row in a few sentences."""

from __future__ import annotations

import numpy as np

from xcid import wording
from xcid.records import Explanation, Flags, Integers, meaning
from xcid.report.values import SHOWN, Values
from xcid.wording.names import clean, listed, sentence

MOST_NAMES = 3  # in a sentence
MOST_LETTERS = 40  # of a name
MOST_LETTERS_OF_A_QUESTION = 80


def summary(explanation: Explanation, row: int = 0, values: Values = SHOWN) -> tuple[str, ...]:
    """Say what the model predicts for one row, what supports it, what works against it, and what is not significant.

    Examples
    --------
    >>> import numpy as np, xcid
    >>> background = np.random.default_rng(0).normal(size=(200, 3))
    >>> explainer = xcid.Explainer(lambda X: X[:, 1] > 0, background, feature_names=["a", "b", "c"])
    >>> print(*summary(explainer([0.2, 1.5, -0.3])))
    The model predicts True. b supports it. a and c are not significant.
    """
    one = explanation[row]
    free, faint = one.feature_status[0] == "ok", wording.not_significant(one)[0]
    decisive = free & ~faint & (one.values[0] != 0)
    sentences = [_prediction(one, values), *_status(one)]
    if not decisive.any():
        nothing = one.p_values is None or not free.any()
        sentences.append("All scores are 0." if nothing else "No feature is significant.")
    else:
        sentences += _signed(one, decisive, values) if wording.is_signed(one) else _unsigned(one, decisive)
        sentences += _counted(one, faint, "is not significant", "are not significant")
    return (*sentences, *_counted(one, ~free, "could not change here", "could not change here"))


def _prediction(one: Explanation, values: Values) -> str:
    said = wording.answer(one.outputs[0], one.output_names, values.number)
    return f"The model {'gives' if said == wording.NO_OUTPUT else 'predicts'} {said}."


def _status(one: Explanation) -> list[str]:
    status = str(one.status[0])
    if status == "ok":
        return []
    return [sentence(meaning(clean(status, MOST_LETTERS)))]


def _signed(one: Explanation, decisive: Flags, values: Values) -> list[str]:
    """Which features support the prediction, and which work against it."""
    parts = []
    for sign, (verb, what) in ((1, _supports(one, values)), (-1, ("work", "against it"))):
        chosen = _largest(one, decisive & (sign * one.values[0] > 0))
        if chosen.size:
            parts.append(f"{_names(one, chosen)} {verb}{'s' if chosen.size == 1 else ''} {what}")
    said = [f"{'; '.join(parts)}."]
    return said if one.p_values is not None else [*said, "These scores have no p-values: small ones may be noise."]


def _supports(one: Explanation, values: Values) -> tuple[str, str]:
    """Verb and object of a sentence about features that support the prediction: "support it", "keep it above 2"."""
    where = getattr(one.outcome, "where", None)
    if where is None:
        is_asked = one.outcome is not None or "outcome" in (one.settings or {})
        return ("keep", "it on its side of the question") if is_asked else ("support", "it")
    side = clean(where(one.outputs[0], one.output_names, values.number), MOST_LETTERS_OF_A_QUESTION)
    return ("keep", side) if side else ("support", "it")


def _unsigned(one: Explanation, decisive: Flags) -> list[str]:
    """Where perturbations that flip differ, if scores have no sign."""
    first = _largest(one, decisive)[:MOST_NAMES].tolist()
    names = listed([f"{_name(one, at)} ({one.values[0, at]:.2f})" for at in first])
    said = [f"Perturbations that flip it differ most from those that do not in {names}."]
    return said if one.p_values is not None else [*said, "There are no signs and no p-values in this setting."]


def _counted(one: Explanation, which: Flags, one_does: str, several_do: str) -> list[str]:
    """A sentence about a few features by name, or about many by number."""
    chosen = np.flatnonzero(which)
    if not chosen.size:
        return []
    who = _names(one, chosen) if chosen.size <= MOST_NAMES else f"{chosen.size} of the {len(which)} features"
    return [f"{who} {one_does if chosen.size == 1 else several_do}."]


def _largest(one: Explanation, chosen: Flags) -> Integers:
    """Positions of the chosen features, the largest scores first."""
    order = wording.largest(one.values[0])
    return order[chosen[order]]


def _names(one: Explanation, chosen: Integers) -> str:
    """The first names, and how many more there are; one more is named too."""
    shown = chosen if chosen.size == MOST_NAMES + 1 else chosen[:MOST_NAMES]
    names, more = [_name(one, at) for at in shown.tolist()], chosen.size - shown.size
    return listed([*names, f"{more} more"] if more else names)


def _name(one: Explanation, feature: int) -> str:
    return clean(one.feature_names[feature], MOST_LETTERS)
