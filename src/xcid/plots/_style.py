"""One look for all pictures; the colours are Okabe and Ito's, which colour-blind people can tell apart."""

from __future__ import annotations

from xcid._data import Explanation

POSITIVE = "#0072B2"
NEGATIVE = "#E69F00"
OVERLAP = "#999999"
HOLDS = "#009E73"
PULLS = "#D55E00"
INK = "#333333"
MOST_LETTERS = 28
_CYCLE = (POSITIVE, PULLS, HOLDS, "#CC79A7", NEGATIVE, "#56B4E9", INK)


def cycle(count: int) -> list[str]:
    """Colours that can be told apart, over again where there are many."""
    return [_CYCLE[at % len(_CYCLE)] for at in range(count)]


def short(name: str) -> str:
    """A name that leaves room for the picture."""
    return name if len(name) <= MOST_LETTERS else f"{name[: MOST_LETTERS - 1]}…"


def cell_label(one: Explanation, feature: int) -> str:
    """A feature of a single row with its value."""
    return f"{short(one.feature_names[feature])} = {short(one.shown(0, feature))}"


def axis_label(explanation: Explanation) -> str:
    """What a score means."""
    return "score: + holds the output in place, - pulls away" if explanation.direction.any() else "d1"
