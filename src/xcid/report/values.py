"""What a page says of values: all of them, or nothing but where they lie."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np

from xcid.errors import InvalidParameter
from xcid.records import Array
from xcid.report._text import clean

Name: TypeAlias = Literal["shown", "hidden"]
MOST_LETTERS = 80


class Values(Protocol):
    """What becomes of each thing that comes from the table."""

    @property
    def is_hidden(self) -> bool:
        """Whether pictures have no values at their axes."""

    def cell(self, text: str) -> str:
        """A value in words."""

    def number(self, value: float) -> str:
        """An output of a regression, or a limit measured on outputs."""

    def row(self, position: int, name: Any) -> str:
        """Name of a row."""

    def level(self, position: int, name: str) -> str:
        """Name of a level in a picture."""

    def line(self, low: float, high: float) -> Callable[[Array], Array]:
        """Places on an axis that goes from low to high."""

    def setting(self, text: str) -> str:
        """A setting as it was written down."""


@dataclass(frozen=True, slots=True)
class Shown:
    """All of them."""

    is_hidden: bool = False

    def cell(self, text: str) -> str:
        """As it is."""
        return clean(text, MOST_LETTERS)

    def number(self, value: float) -> str:
        """Four digits."""
        return f"{value:.4g}" if abs(value) < 1e4 else f"{value:,.0f}" if abs(value) < 1e9 else f"{value:.4g}"

    def row(self, position: int, name: Any) -> str:
        """As the table names it."""
        return clean(name, MOST_LETTERS)

    def level(self, position: int, name: str) -> str:
        """As it is."""
        return clean(name, MOST_LETTERS)

    def line(self, low: float, high: float) -> Callable[[Array], Array]:
        """As they are."""
        return lambda points: points

    def setting(self, text: str) -> str:
        """As it is."""
        return text


@dataclass(frozen=True, slots=True)
class Hidden:
    """Names of features and classes, scores and probabilities, and the shapes of pictures, but no value."""

    is_hidden: bool = True

    def cell(self, text: str) -> str:
        """Nothing."""
        return "hidden"

    def number(self, value: float) -> str:
        """Nothing."""
        return "a hidden number"

    def row(self, position: int, name: Any) -> str:
        """Its position: an index may name a person."""
        return str(position)

    def level(self, position: int, name: str) -> str:
        """Its place in the picture; that a cell is missing is no value."""
        return name if name == "missing" else f"value {position + 1}"

    def line(self, low: float, high: float) -> Callable[[Array], Array]:
        """From 0 to 1, whatever the range."""
        width = high - low
        return lambda points: (points - low) / width if width > 0 else np.full(np.shape(points), 0.5)

    def setting(self, text: str) -> str:
        """The name without what it was made with, which may hold samples."""
        name, is_call, _ = text.partition("(")
        return f"{name}(…)" if is_call else text if text.lstrip("-").isdecimal() else "hidden"


SHOWN, HIDDEN = Shown(), Hidden()


def named(name: Name) -> Values:
    """Find the behaviour that a name stands for."""
    known: dict[str, Values] = {"shown": SHOWN, "hidden": HIDDEN}
    if name not in known:
        raise InvalidParameter(f"values are {' or '.join(map(repr, known))}, not {name!r}")
    return known[name]
