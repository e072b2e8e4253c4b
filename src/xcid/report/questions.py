"""What features support, in a few words, from the question that an explanation answers."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from xcid.records import Explanation
from xcid.wording.names import clean

Number: TypeAlias = Callable[[float], str]
Given: TypeAlias = dict[str, Any]
MOST_LETTERS = 40  # of a class


class Support(NamedTuple):
    """How a sentence continues after the names of features that support the prediction: "keep", "it above 2"."""

    verb: str = "support"
    what: str = "it"

    def after(self, names: str, count: int) -> str:
        """The names with what they do: one keeps, several keep."""
        return f"{names} {self.verb}{'s' if count == 1 else ''} {self.what}"


OPPOSE = Support("work", "against it")
UNKNOWN = Support("keep", "it on its side of the question")
_SCALAR = re.compile(r"np\.\w+\(([^()]*)\)")  # NumPy's own numbers and text
_INFINITE = re.compile(r"(=-?)inf\b")


def support(one: Explanation, number: Number) -> Support:
    """Put the outcome that an explanation of one row is about into words."""
    written = (one.settings or {}).get("outcome")
    if written is None:
        return Support()
    name, given = _read(written)
    try:
        return UNKNOWN if given is None else _QUESTIONS.get(name, _unknown)(one, given, number)
    except (KeyError, TypeError, IndexError, ValueError):  # a class of the user's own that has the name of one of ours
        return UNKNOWN


def _read(written: str) -> tuple[str, Given | None]:
    """Name and arguments of a call as ``repr`` writes it; nothing is run."""
    try:
        plain = _INFINITE.sub(r"\g<1>1e999", _SCALAR.sub(r"\1", written))
        call = ast.parse(plain, mode="eval").body
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            return call.func.id, {word.arg: ast.literal_eval(word.value) for word in call.keywords if word.arg}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        pass
    return "", None


def _unknown(one: Explanation, given: Given, number: Number) -> Support:
    return UNKNOWN


def _flip(one: Explanation, given: Given, number: Number) -> Support:
    return Support()


def _to_class(one: Explanation, given: Given, number: Number) -> Support:
    is_there = int(one.outputs[0].argmax()) == given["column"]
    return Support("keep", f"it {'in' if is_there else 'out of'} {clean(given['target'], MOST_LETTERS)}")


def _threshold(one: Explanation, given: Given, number: Number) -> Support:
    level, outputs = float(given["level"]), one.outputs[0]
    side = "above" if outputs[given["column"]] > level else "below"
    if len(outputs) == 1:
        return Support("keep", f"it {side} {number(level)}")
    name = clean(one.output_names[given["column"]], MOST_LETTERS)
    return Support("keep", f"the probability of {name} {side} {level:g}")


def _interval(one: Explanation, given: Given, number: Number) -> Support:
    return Support("keep", f"it within {number(float(given['half_width']))} of that")


def _within(one: Explanation, given: Given, number: Number) -> Support:
    low, high, value = float(given["low"]), float(given["high"]), float(one.outputs[0, -1])
    is_in = low <= value <= high
    if np.isinf(low) or np.isinf(high):
        level, above = (high, not is_in) if np.isinf(low) else (low, is_in)
        return Support("keep", f"it {'above' if above else 'below'} {number(level)}")
    return Support("keep", f"it {'in' if is_in else 'out of'} the range from {number(low)} to {number(high)}")


_QUESTIONS: dict[str, Callable[[Explanation, Given, Number], Support]] = {
    "Flip": _flip,
    "SoftFlip": _flip,
    "ToClass": _to_class,
    "SoftToClass": _to_class,
    "Threshold": _threshold,
    "Interval": _interval,
    "Within": _within,
}
