"""Fields that say what they hold: selecting, joining, padding and saving records follow from their declarations.

A field that has a value for each row begins with the axis ``ROW``; a field without axes is shared by all rows. So a
new field of a record is declared once, and nothing else has to hear of it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

ROW, FEATURE, COLUMN, OUTPUT, SAMPLE = "row", "feature", "column", "output", "sample"
KEY = "xcid"  # of what is declared, in the metadata of a dataclass field
COPY = object()  # an unknown row holds what the row has that it is padded from

R = TypeVar("R")


class Declared(NamedTuple):
    """What a field of a record holds.

    Attributes
    ----------
    name : str
    axes : tuple of str
        Of its array; none for what all rows share.
    dtype : type or None
        Of its cells; None where they may have any type.
    unknown : object
        What a row of which nothing is known holds.
    line : str
        The name of its column in a table with a line for each row and feature; "" where it has none.
    is_needed : bool
        Whether no record may lack it.
    """

    name: str
    axes: tuple[str, ...]
    dtype: Any
    unknown: Any
    line: str
    is_needed: bool

    @property
    def is_per_row(self) -> bool:
        """Whether each row has a value of its own."""
        return self.axes[:1] == (ROW,)


def per(*axes: str, dtype: Any = np.float64, unknown: Any = COPY, line: str = "", **default: Any) -> Any:
    """Declare a field of a dataclass; with ``default=None`` it may be left out."""
    return dataclasses.field(metadata={KEY: (axes, dtype, unknown, line)}, **default)


def declared(record: Any) -> Iterator[Declared]:
    """Every declared field of a record or of its class."""
    for each in dataclasses.fields(record):
        if KEY in each.metadata:
            axes, dtype, unknown, line = each.metadata[KEY]
            yield Declared(each.name, axes, dtype, unknown, line, each.default is dataclasses.MISSING)


def per_row(record: Any) -> dict[str, Any]:
    """What a record holds for each row, by name, without what it lacks."""
    parts = {each.name: getattr(record, each.name) for each in declared(record) if each.is_per_row}
    return {name: part for name, part in parts.items() if part is not None}


def select(record: R, rows: Any) -> R:
    """Some rows of a record."""
    changes: dict[str, Any] = {name: part[rows] for name, part in per_row(record).items()}
    return dataclasses.replace(record, **changes)  # type: ignore[type-var]


def join(records: Sequence[R]) -> R:
    """The rows of records one after the other; what one of them lacks, the result lacks."""
    changes: dict[str, Any] = {}
    for each in declared(records[0]):
        parts = [getattr(record, each.name) for record in records]
        if each.is_per_row:
            changes[each.name] = None if any(part is None for part in parts) else _joined(parts)
    return dataclasses.replace(records[0], **changes)  # type: ignore[type-var]


def _joined(parts: list[Any]) -> Any:
    return np.concatenate(parts) if isinstance(parts[0], np.ndarray) else type(parts[0]).concatenate(parts)


def unknown(like: R, n_rows: int, **known: Any) -> R:
    """A record of rows of which nothing but ``known`` is known, shaped like another."""
    changes: dict[str, Any] = dict(known)
    for each in declared(like):
        part = getattr(like, each.name)
        if part is None or not each.is_per_row or each.name in known:
            continue
        rows = part[np.zeros(n_rows, dtype=np.int64)]
        changes[each.name] = rows if each.unknown is COPY else np.full_like(rows, each.unknown)
    return dataclasses.replace(like, **changes)  # type: ignore[type-var]
