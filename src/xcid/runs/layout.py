"""What the columns of a table must be: the background says so, not the rows that a chunk happens to have."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from xcid.space import FeatureSpace

TRUE, FALSE = ("True", "TRUE", "true"), ("False", "FALSE", "false")  # as pandas reads them


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of a table to explain.

    Attributes
    ----------
    names : tuple of str
        Of the features.
    numbers : tuple of str
        Those that are plain numbers.
    level_types : dict of str to type
        What the levels of the others are; dates are in neither.
    target : str or None
        A column that is left out.
    """

    names: tuple[str, ...]
    numbers: tuple[str, ...]
    level_types: dict[str, type]
    target: str | None

    @classmethod
    def of(cls, space: FeatureSpace, target: str | None) -> Layout:
        """The layout of a background."""
        plain = tuple(column.name for column in space.columns if not column.levels and not column.unit)
        types = {column.name: type(column.levels[0]) for column in space.columns if column.levels}
        return cls(space.names, plain, types, target)

    def without_target(self, names: Iterable[str]) -> list[str]:
        """Columns that are features, or would be."""
        return [name for name in names if name != self.target or name in self.names]

    def level(self, name: str) -> Callable[[str], Any]:
        """From the text of a cell to a level; text that cannot be one stays, and is refused by its name later."""
        made_of = self.level_types.get(name, str)
        if made_of is bool:
            return lambda text: True if text in TRUE else False if text in FALSE else text
        return _number if issubclass(made_of, int | float) else str


def _number(text: str) -> Any:
    try:
        return float(text)
    except ValueError:
        return text
