"""The explanation of a row in a few sentences."""

from __future__ import annotations

import numpy as np

from xcid import wording
from xcid.records import Explanation, Flags, Integers
from xcid.report.questions import OPPOSE, support
from xcid.report.values import SHOWN, Values
from xcid.wording.names import clean, listed

MOST_NAMES = 3  # in a sentence
MOST_LETTERS = 40  # of a name

STATUSES = {
    "ok": "there are enough perturbations of both kinds",
    "insufficient_flips": "fewer perturbations flip the output than were asked for: take the scores with care",
    "insufficient_stays": "fewer perturbations keep the output than were asked for: take the scores with care",
    "rare_flips": "flips are so rare that a directed search had to find them",
    "rare_stays": "perturbations that keep the output are so rare that a directed search had to find them",
    "no_flips": "no perturbation flips the output: the scores rest on probabilities alone",
    "model_failed": "the model failed for this row or its perturbations: nothing is known of it",
    "too_slow": "the model took longer than it may: nothing is known of this row",
    "some_rows_lack_samples": "some of the rows behind this average lack perturbations of a kind",
}


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
    known = STATUSES.get(status, f"status: {clean(status, MOST_LETTERS)}")
    return [f"{known[0].upper()}{known[1:]}."]


def _signed(one: Explanation, decisive: Flags, values: Values) -> list[str]:
    """Which features support the prediction, and which work against it."""
    parts = []
    for side, does in ((one.values[0] > 0, support(one, values.number)), (one.values[0] < 0, OPPOSE)):
        chosen = _largest(one, decisive & side)
        if chosen.size:
            parts.append(does.after(_names(one, chosen), chosen.size))
    said = [f"{'; '.join(parts)}."]
    return said if one.p_values is not None else [*said, "These scores have no p-values: small ones may be noise."]


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
