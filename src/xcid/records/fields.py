"""Fields that say what they hold: selecting, joining, turning, padding, averaging and saving follow from that.

A field that has a value for each row begins with the axis ``ROW``; any other is shared by all rows. Fields that say
``of="values"`` are parts of one estimate: a number, its interval, its p-value, how noisy it is. What refits and other
reference rows told of an estimate says ``source=True``, and where it is known ``every=`` output. So a new field of a
record is declared once, and nothing else has to hear of it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeAlias, TypeVar

import numpy as np

ROW, FEATURE, COLUMN, OUTPUT, SAMPLE, REFIT = "row", "feature", "column", "output", "sample", "refit"
KEY = "xcid"  # of what is declared, in the metadata of a dataclass field
COPY = object()  # an unknown row holds what the row has that it is padded from

VALUE, LOWER, UPPER, P, NOISE = "value", "lower", "upper", "p", "noise"  # parts of an estimate
COMPUTATION, REFERENCE, TRAINING = "computation", "reference", "training"  # its standard deviations, by what differs
AGAIN = "again"  # its values by other models
MIRRORED = {LOWER: UPPER, UPPER: LOWER}  # the part that each is with the other sign
SIGNED = (VALUE, LOWER, UPPER, AGAIN)

R = TypeVar("R")
Combine: TypeAlias = Callable[..., Any]


class Estimate(NamedTuple):
    """Numbers, the limits (95%) of their intervals, and p-values against 0; arrays of one shape."""

    value: Any
    lower: Any
    upper: Any
    p: Any


class Declared(NamedTuple):
    """What a field of a record holds.

    ``runs`` and ``rows`` say how repeated runs of a row, and many rows, become one (``numpy.mean``, ``numpy.sum``,
    :func:`first`); an average lacks what does not say.
    """

    name: str
    axes: tuple[str, ...]  # of its array; none for what all rows share
    dtype: Any  # of its cells; None where they may have any type
    unknown: Any  # what a row of which nothing is known holds
    line: str  # its column in a table with a line for each row and feature; "" where it has none
    runs: Combine | None
    rows: Combine | None
    of: str  # the estimate that it is part of, by the field of its value; "" for what has neither sign nor limits
    part: str
    wide: bool  # whether a table with one line for each row has it: NAME, or for each feature NAME_FEATURE
    absent: Any  # what it holds of a feature that a row does not have
    source: bool  # whether it was told by refits, by other reference rows or of them, and about these values alone
    every: str  # the field that has it about every output; "" where none has
    is_needed: bool  # whether no record may lack it

    @property
    def is_per_row(self) -> bool:
        """Whether each row has a value of its own."""
        return self.axes[:1] == (ROW,)

    @property
    def column(self) -> str:
        """Its column in tables."""
        return self.line or self.name


def first(parts: Any, axis: int = 0, **more: Any) -> Any:
    """What the first run or row holds."""
    return parts[0] if isinstance(parts, list) else parts[:1]


def same_or(other: str) -> Combine:
    """What all rows hold, or ``other`` where they do not hold the same."""
    return lambda cells, axis=0, **more: np.where((cells == cells[:1]).all(axis, keepdims=True), cells[:1], other)


def per(
    *axes: str,
    dtype: Any = np.float64,
    unknown: Any = COPY,
    line: str = "",
    runs: Combine | None = None,
    rows: Combine | None = None,
    of: str = "",
    part: str = VALUE,
    wide: bool = False,
    absent: Any = 0.0,
    source: bool = False,
    every: str = "",
    **default: Any,
) -> Any:
    """Declare a field of a dataclass; with ``default=None`` it may be left out."""
    known = axes, dtype, unknown, line, runs, rows, of, part, wide, 1.0 if part == P else absent, source, every
    return dataclasses.field(metadata={KEY: known}, **default)


def per_source(*axes: str, **declared: Any) -> Any:
    """Declare what refits, or other reference rows, told of each feature."""
    return per(ROW, FEATURE, *axes, unknown=np.nan, source=True, default=None, **declared)


def list_fields(record: Any) -> tuple[Declared, ...]:
    """Every declared field of a record or of its class."""
    return _list_fields(record if isinstance(record, type) else type(record))


@functools.cache
def _list_fields(kind: type) -> tuple[Declared, ...]:
    known = [each for each in dataclasses.fields(kind) if KEY in each.metadata]
    return tuple(Declared(*(each.name, *each.metadata[KEY], each.default is dataclasses.MISSING)) for each in known)


def per_row(record: Any) -> dict[str, Any]:
    """What a record holds for each row, by name, without what it lacks."""
    parts = {each.name: getattr(record, each.name) for each in list_fields(record) if each.is_per_row}
    return {name: part for name, part in parts.items() if part is not None}


def parts_of(record: Any, name: str) -> dict[str, str]:
    """The fields of a record, or of its class, that an estimate is made of: their names by what they are."""
    return {each.part: each.name for each in list_fields(record) if each.of == name}


def estimate(record: Any, name: str) -> Estimate | None:
    """The estimate whose value a field holds; None where a record lacks a part of it."""
    names = parts_of(record, name)
    parts = [getattr(record, names[part]) if part in names else None for part in Estimate._fields]
    return None if any(part is None for part in parts) else Estimate(*parts)


def name_parts(kind: Any, name: str, found: Estimate) -> dict[str, Any]:
    """The parts of an estimate by the names that a record has for them."""
    names = parts_of(kind, name)
    return {names[part]: cells for part, cells in found._asdict().items()}


def turn(record: R, name: str, sign: Any) -> R:
    """The same record with the signs of an estimate turned, by (n,) 1 and -1: lower limits become upper ones."""
    changes: dict[str, Any] = {}
    for each in list_fields(record):
        if each.of == name and each.part in SIGNED:
            mirrored = parts_of(record, name)[MIRRORED[each.part]] if each.part in MIRRORED else each.name
            own, other = getattr(record, each.name), getattr(record, mirrored)
            by_row = np.reshape(sign, (-1, *(1 for _ in each.axes[1:])))
            changes[each.name] = None if own is None else by_row * np.where(by_row < 0, other, own)
    return _change_record(record, changes)


def without_sources(record: R) -> R | None:
    """The same record without what is known of its sources of doubt; None where nothing is."""
    known = [each.name for each in list_fields(record) if each.source and getattr(record, each.name) is not None]
    return _change_record(record, dict.fromkeys(known)) if known else None


def pick_output(record: R, column: Any) -> R | None:
    """The same record with what is known about every output taken from those at (n,) places; None where some is not."""
    changes: dict[str, Any] = {}
    for each in list_fields(record):
        own, every = (getattr(record, name) if name else None for name in (each.name if each.every else "", each.every))
        if (own is None) != (every is None):
            return None
        if every is not None:
            changes[each.name] = every[np.arange(len(column)), :, column]
    return _change_record(record, changes)


def select(record: R, rows: Any) -> R:
    """Some rows of a record."""
    return _change_record(record, {name: part[rows] for name, part in per_row(record).items()})


def join(records: Sequence[R], places: Sequence[Any] | None = None) -> R:
    """The rows of records, one after the other or at the (n,) places of each; what one lacks, the result lacks."""
    return _combine_records(records, lambda each, parts: joined(parts, places))


def over_runs(records: Sequence[R]) -> R:
    """Repeated runs of the same rows as one record."""
    return _combine_records(records, lambda each, parts: each.runs and each.runs(parts, axis=0))


def over_rows(record: R) -> R:
    """All rows of a record as one."""
    return _combine_records([record], lambda each, parts: each.rows and each.rows(parts[0], axis=0, keepdims=True))


def unknown(like: R, n_rows: int, **known: Any) -> R:
    """A record of rows of which nothing but ``known`` is known, shaped like another."""
    blank = select(like, np.zeros(n_rows, dtype=np.int64))
    changes = {
        each.name: np.full_like(getattr(blank, each.name), each.unknown)
        for each in list_fields(like)
        if each.unknown is not COPY and getattr(like, each.name) is not None
    }
    return _change_record(blank, changes | known)


def _combine_records(records: Sequence[R], combine: Callable[[Declared, list[Any]], Any]) -> R:
    """The first record with every field that is per row combined from all of them, unless one of them lacks it."""
    changes: dict[str, Any] = {}
    for each in list_fields(records[0]):
        parts = [getattr(record, each.name) for record in records]
        if each.is_per_row:
            changes[each.name] = None if any(part is None for part in parts) else combine(each, parts)
    return _change_record(records[0], changes)


def joined(parts: Sequence[Any], places: Sequence[Any] | None = None) -> Any:
    """The rows of arrays or records, one after the other or at the (n,) places of each."""
    if not isinstance(parts[0], np.ndarray):
        return type(parts[0]).concatenate(parts, places)
    if places is None:
        return np.concatenate(parts)
    whole = np.empty((sum(map(len, parts)), *parts[0].shape[1:]), dtype=np.result_type(*parts))
    for part, place in zip(parts, places, strict=True):
        whole[place] = part
    return whole


def _change_record(record: R, changes: dict[str, Any]) -> R:
    return dataclasses.replace(record, **changes)  # type: ignore[type-var]
