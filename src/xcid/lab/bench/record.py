"""What a run leaves behind: figures with their targets, and tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

Cell: TypeAlias = str | float | int | None
Better: TypeAlias = Literal["higher", "lower"]


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured number.

    Attributes
    ----------
    key : str
        Known by this to later runs.
    group : str
        Heading that it belongs to.
    what : str
    value : float or None
        None where it was not measured; ``detail`` says why.
    unit : str
        "x" for a ratio, "s", "MB", or "" for an exponent.
    better : str
        "higher" or "lower".
    target : float or None
        The bound it has to keep.
    detail : str
        On what it was measured.
    """

    key: str
    group: str
    what: str
    value: float | None
    unit: str = "x"
    better: Better = "higher"
    target: float | None = None
    detail: str = ""

    @property
    def met(self) -> bool | None:
        """Whether the target is kept; None where there is none, or nothing was measured."""
        if self.target is None or self.value is None:
            return None
        return self.value >= self.target if self.better == "higher" else self.value <= self.target


@dataclass(frozen=True, slots=True)
class Table:
    """Numbers that belong together, of no target."""

    title: str
    head: tuple[str, ...]
    lines: tuple[tuple[Cell, ...], ...]
    note: str = ""


class Part(NamedTuple):
    """What one step of the benchmark gives."""

    figures: tuple[Figure, ...] = ()
    tables: tuple[Table, ...] = ()


@dataclass(frozen=True, slots=True)
class Record:
    """A whole run.

    Attributes
    ----------
    about : mapping of str to str
        Date, extent, machine, versions, commit.
    figures : tuple of Figure
    tables : tuple of Table
    """

    about: Mapping[str, str]
    figures: tuple[Figure, ...]
    tables: tuple[Table, ...]

    def as_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Record:
        """The way back."""
        return cls(
            dict(plain["about"]),
            tuple(Figure(**figure) for figure in plain["figures"]),
            tuple(
                Table(table["title"], tuple(table["head"]), tuple(map(tuple, table["lines"])), table["note"])
                for table in plain["tables"]
            ),
        )
