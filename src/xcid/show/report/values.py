"""What a page says of values: all of them, or nothing but where they lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from xcid.errors import InvalidParameter
from xcid.records import Array
from xcid.show import wording
from xcid.show.wording.names import clean

Name: TypeAlias = Literal["shown", "hidden"]
MOST_LETTERS = 80


@dataclass(frozen=True, slots=True)
class Values:
    """What becomes of each thing that comes from the table."""

    is_hidden: bool  # whether pictures have no values at their axes
    cell: Callable[[str], str]  # a value as text
    in_sentence: Callable[[str], str]  # a value behind the name of its feature
    number: Callable[[float], str]  # an output of a regression, or a limit measured on outputs
    row: Callable[[int, Any], str]  # the name of a row, from its position and its name in the table
    level: Callable[[int, str], str]  # the name of a level, from its place in a picture and its name in the table
    line: Callable[[float, float], Callable[[Array], Array]]  # places on an axis that goes from low to high
    setting: Callable[[str], str]  # a setting as it was written down


def _cut(text: object) -> str:
    return clean(text, MOST_LETTERS)


def _from_0_to_1(low: float, high: float) -> Callable[[Array], Array]:
    width = high - low
    return lambda points: (points - low) / width if width > 0 else np.full(np.shape(points), 0.5)


def _name_alone(text: str) -> str:
    """The name of a setting without what it was made with, which may hold samples."""
    name, is_call, _ = text.partition("(")
    return f"{name}(…)" if is_call else text if text.lstrip("-").isdecimal() else "hidden"


SHOWN = Values(
    is_hidden=False,
    cell=_cut,
    in_sentence=_cut,
    number=wording.number,
    row=lambda position, name: _cut(name),
    level=lambda position, name: _cut(name),
    line=lambda low, high: lambda points: points,
    setting=str,
)
# Names of features and classes, scores, probabilities and the shapes of pictures stay; an index may name a person, and
# that a cell is missing is no value.
HIDDEN = Values(
    is_hidden=True,
    cell=lambda text: "hidden",
    in_sentence=lambda text: "",
    number=lambda value: "a hidden number",
    row=lambda position, name: str(position),
    level=lambda position, name: name if name == "missing" else f"value {position + 1}",
    line=_from_0_to_1,
    setting=_name_alone,
)


def named(name: Name) -> Values:
    """Find the behaviour that a name stands for."""
    known: dict[str, Values] = {"shown": SHOWN, "hidden": HIDDEN}
    if name not in known:
        raise InvalidParameter(f"values are {' or '.join(map(repr, known))}, not {name!r}")
    return known[name]
