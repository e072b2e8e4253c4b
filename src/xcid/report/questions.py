"""The question behind an explanation, in words: what it is that features hold in place."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from xcid.records import Array, Explanation
from xcid.report._text import clean

Number = Callable[[float], str]


@dataclass(frozen=True, slots=True)
class Question:
    """How a sentence goes on after the names of features.

    Attributes
    ----------
    hold, holds : str
        For several that hold the output in place, and for one.
    pull, pulls : str
        For those that do not.
    """

    hold: str = "hold it there"
    holds: str = "holds it there"
    pull: str = "pull away from it"
    pulls: str = "pulls away from it"

    @staticmethod
    def held(where: str) -> Question:
        """A question about a side that is not just the predicted class."""
        return Question(f"hold {where}", f"holds {where}", "pull the other way", "pulls the other way")


_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")  # NumPy's own numbers and text
_INFINITE = re.compile(r"(=-?)inf\b")
OTHER_METHOD = Question("speak for it", "speaks for it", "speak against it", "speaks against it")
UNKNOWN = Question.held("it on its side of the question")


def question(one: Explanation, number: Number) -> Question:
    """Put the outcome of an explanation of one row into words."""
    written = (one.settings or {}).get("outcome")
    if written is None:
        return OTHER_METHOD if not float(one.n_positive[0] + one.n_negative[0]) else Question()
    name, given = _read(written)
    say = _WORDS.get(name)
    try:
        return UNKNOWN if say is None or given is None else say(one, given, number)
    except (KeyError, TypeError, IndexError, ValueError):  # a class of the user's own that has the name of one of ours
        return UNKNOWN


def _read(written: str) -> tuple[str, dict[str, Any] | None]:
    """Name and arguments of a call as ``repr`` writes it; nothing is run."""
    try:
        plain = _INFINITE.sub(r"\g<1>1e999", _SCALAR.sub(r"\1", written))
        call = ast.parse(plain, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            return call.func.id, {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return "", None


def _flip(one: Explanation, given: dict[str, Any], number: Number) -> Question:
    return Question()


def _to_class(one: Explanation, given: dict[str, Any], number: Number) -> Question:
    is_there = int(one.outputs[0].argmax()) == given["column"]
    return Question.held(f"it {'in' if is_there else 'out of'} {clean(given['target'], 40)}")


def _threshold(one: Explanation, given: dict[str, Any], number: Number) -> Question:
    level, outputs = float(given["level"]), one.outputs[0]
    side = "above" if outputs[given["column"]] > level else "below"
    if len(outputs) == 1:
        return Question.held(f"it {side} {number(level)}")
    return Question.held(f"the probability of {clean(one.output_names[given['column']], 40)} {side} {level:g}")


def _interval(one: Explanation, given: dict[str, Any], number: Number) -> Question:
    return Question.held(f"it within {number(float(given['half_width']))} of that")


def _within(one: Explanation, given: dict[str, Any], number: Number) -> Question:
    low, high, value = float(given["low"]), float(given["high"]), _last(one.outputs)
    is_in = low <= value <= high
    if np.isinf(low) or np.isinf(high):
        level, above = (high, not is_in) if np.isinf(low) else (low, is_in)
        return Question.held(f"it {'above' if above else 'below'} {number(level)}")
    return Question.held(f"it {'in' if is_in else 'out of'} the range from {number(low)} to {number(high)}")


def _last(outputs: Array) -> float:
    return float(outputs[0, -1])


_WORDS: dict[str, Callable[[Explanation, dict[str, Any], Number], Question]] = {
    "Flip": _flip,
    "SoftFlip": _flip,
    "ToClass": _to_class,
    "SoftToClass": _to_class,
    "Threshold": _threshold,
    "Interval": _interval,
    "Within": _within,
}
