"""What a page can send and sends, checked value by value: nothing that comes from outside gets further unread."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, NoReturn

import numpy as np

from xcid._check import name_class
from xcid.errors import InvalidData, InvalidParameter
from xcid.explainer import Explainer
from xcid.outcomes import Interval, Outcome, Threshold, ToClass
from xcid.outcomes.classes import are_probabilities, class_names
from xcid.records import Array
from xcid.setup import usual_outcome
from xcid.table import Column, Constraints, FeatureSpace

WAYS = ("rise", "fall")  # in which a number may be forbidden to change
NEEDED = {"flip": (), "move": (), "class": ("target",), "threshold": ("target", "level"), "interval": ("half_width",)}


def questions(explainer: Explainer) -> list[dict[str, Any]]:
    """The kinds of questions, the usual one first, each with what it needs and a sensible value for that.

    ``targets`` says that a class has to be named, out of the first so many.
    """
    outputs, names = explainer.subject.outputs, explainer.subject.output_names
    if explainer.subject.is_regression:
        width = Interval().bind(names, outputs).half_width or 1.0
        interval = {"kind": "interval", "half_width": _round_short(width)}
        return [{"kind": "move"}, interval, {"kind": "threshold", "level": _find_middle(outputs[:, 0])}]
    targets = len(class_names(names))
    found: list[dict[str, Any]] = [{"kind": "flip"}, {"kind": "class", "targets": targets}]
    if targets == len(names):  # the model gives more than labels
        level = 0.5 if are_probabilities(outputs) else _find_middle(outputs[:, -1])
        found.append({"kind": "threshold", "targets": targets, "target": targets - 1, "level": level})
    return found


def targets(explainer: Explainer) -> list[tuple[str, Any]]:
    """What a search can want, in words and as :meth:`xcid.Explainer.counterfactuals` takes it; the question first."""
    usual: list[tuple[str, Any]] = [("what the question asks", None)]
    if explainer.subject.is_regression:
        return [*usual, ("higher by a tenth", "raise"), ("lower by a tenth", "lower")]
    names = class_names(explainer.subject.output_names)
    return [*usual, *((name_class(name), name) for name in names)] if len(names) > 2 else usual


def read_outcome(explainer: Explainer, fields: Fields) -> Outcome:
    """The outcome that a page asks for; says what is wrong where there is no such thing."""
    known = [question["kind"] for question in questions(explainer)]
    kind = fields.get("kind")
    if kind not in known:
        raise InvalidParameter(f"the question must be one of {known}, not {kind!r:.40}")
    fields.only("kind", *NEEDED[kind])
    subject, names = explainer.subject, class_names(explainer.subject.output_names)
    if kind in ("flip", "move"):
        return usual_question(explainer)
    if kind == "interval":
        return Interval(fields.number("half_width"))
    target = names[fields.position("target", len(names))]
    if kind == "threshold":
        return Threshold(fields.number("level"), target)
    is_soft = explainer.made.given.outcome is None and are_probabilities(subject.outputs)
    return ToClass(target, soft=is_soft)


def usual_question(explainer: Explainer) -> Outcome:
    """The question of a page where none is chosen: that of the explainer, which has hard sets by the paper's method."""
    return explainer.made.given.outcome or usual_outcome(explainer.subject)


def _find_middle(outputs: Array) -> float:
    return _round_short(float(outputs.min() + outputs.max()) / 2)


def _round_short(number: float) -> float:
    """A number to start from, in three digits."""
    return float(f"{number:.3g}")


class Ban(NamedTuple):
    """A change that is forbidden: of a column, to "rise" or to "fall", or to the level at a place."""

    column: int
    change: str | int


class Pins(NamedTuple):
    """What may not change: columns that stay as they are, and single changes."""

    frozen: tuple[int, ...] = ()
    forbidden: tuple[Ban, ...] = ()

    def constraints(self, columns: Sequence[Column]) -> Constraints:
        """The same for an explainer; a column that no change is left for is frozen."""
        frozen, monotone, levels = set(self.frozen), dict[str, Any](), dict[str, Any]()
        for at, column in enumerate(columns):
            bans = {ban.change for ban in self.forbidden if ban.column == at}
            left = [level for place, level in enumerate(column.levels) if place not in bans]
            if bans == set(WAYS) or (column.levels and not left):
                frozen.add(at)
            if bans and at not in frozen:
                if column.levels:
                    levels[column.name] = left
                else:
                    monotone[column.name] = "falls" if "rise" in bans else "rises"
        return Constraints(frozen=[columns[at].name for at in sorted(frozen)], monotone=monotone, levels=levels)


class Request(NamedTuple):
    """A question about a row, which is a table of the reference data's own kind."""

    cells: Array  # (d,) as numbers
    own: Array  # (d,) the row before it was edited
    table: Any
    pins: Pins
    outcome: Outcome  # what counts as a flip
    target: Any  # what a search wants
    feature: int  # the one whose evidence is looked at


class Case(NamedTuple):
    """A question about a row, with the place of the row among those that can be picked."""

    row: int
    request: Request


def read(explainer: Explainer, body: bytes) -> Request:
    """Read a request in JSON; errors say what is wrong with it.

    Features, levels and classes are called by their places in lists, so that no name is ever looked up.
    """
    return read_request(explainer, Fields("the request", parse(body)))


def read_case(explainer: Explainer, fields: Fields, n_rows: int) -> Case:
    """Read a request with the number of its row."""
    fields.only("row", "asked")
    return Case(fields.position("row", n_rows), read_request(explainer, Fields("the request", fields.get("asked"))))


def read_request(explainer: Explainer, fields: Fields) -> Request:
    """Check the fields of a request."""
    fields.only("cells", "own", "frozen", "forbidden", "question", "target", "feature")
    space, wanted = explainer.space, targets(explainer)
    cells = _read_cells(space, fields, "cells")
    return Request(
        cells[0],
        _read_cells(space, fields, "own")[0],
        _decode_row(space, cells),
        Pins(fields.positions("frozen", len(space.names)), _read_bans(space, fields.get("forbidden"))),
        read_outcome(explainer, Fields("the question", fields.get("question"))),
        wanted[fields.position("target", len(wanted))][1],
        fields.position("feature", len(space.names)),
    )


def parse(body: bytes) -> Any:
    """Read JSON; numbers that JSON does not have are refused."""
    try:
        return json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError) as error:
        raise InvalidParameter("the request is not JSON") from error


def _refuse_constant(text: str) -> NoReturn:
    raise ValueError(f"{text} is not JSON")


def _read_bans(space: FeatureSpace, found: Any) -> tuple[Ban, ...]:
    """Changes that a search may not make: [feature, "rise"], [feature, "fall"] or [feature, place of a level]."""
    if not isinstance(found, list):
        raise InvalidParameter("'forbidden' of the request must be a list")
    bans = set()
    for one in found:
        if not isinstance(one, list) or len(one) != 2:
            raise InvalidParameter("what is forbidden must be a list of a feature and a change")
        at = read_place(one[0], len(space.columns), "a feature of 'forbidden'")
        levels, what = space.columns[at].levels, f"what is forbidden of {space.columns[at].name!r}"
        if not levels and one[1] not in WAYS:
            raise InvalidParameter(f"{what} must be one of {list(WAYS)}, not {one[1]!r:.40}")
        bans.add(Ban(at, read_place(one[1], len(levels), what) if levels else one[1]))
    return tuple(sorted(bans, key=str))


def _read_cells(space: FeatureSpace, fields: Fields, name: str) -> Array:
    """(1, d) numbers, positions of levels, NaN for what is missing."""
    found = fields.get(name)
    if not isinstance(found, list) or len(found) != len(space.columns):
        raise InvalidParameter(f"{name!r} of the request must be a list of {len(space.columns)} values")
    row = np.full((1, len(found)), np.nan)
    for at, (column, cell) in enumerate(zip(space.columns, found, strict=True)):
        if cell is None:
            if not space.missing[at]:
                raise InvalidData(
                    f"{column.name!r} cannot be missing: no cell of the reference data is, in this column"
                )
        elif column.levels:
            row[0, at] = read_place(cell, len(column.levels), f"the level of {column.name!r}")
        else:
            row[0, at] = read_finite(cell, f"the value of {column.name!r}")
    return row


def _decode_row(space: FeatureSpace, row: Array) -> Any:
    """The row as the model sees it; a value that its column cannot hold would become another one on the way."""
    try:
        with np.errstate(all="ignore"):
            table = space.decode(row)
            back = space.values(table)
    except Exception as error:  # every library of data frames refuses in its own way
        raise InvalidData(f"the types of the table cannot hold these values: {error}") from error
    changed = np.flatnonzero(~np.isclose(back[0], row[0], rtol=1e-6, atol=0, equal_nan=True))
    if changed.size:
        at = int(changed[0])
        kind = "smaller" if row[0, at].is_integer() else "whole"
        raise InvalidData(f"{space.names[at]!r} cannot be {row[0, at]:g}: its column holds {kind} numbers")
    return table


class Fields:
    """An object from JSON, and what it is called in messages."""

    def __init__(self, what: str, found: Any) -> None:
        if not isinstance(found, dict):
            raise InvalidParameter(f"{what} must be an object with names and values, not {found!r:.40}")
        self.what, self.found = what, found

    def only(self, *names: str) -> None:
        """Refuse all other fields, and ask for these."""
        if set(self.found) != set(names):
            raise InvalidParameter(f"{self.what} must have {list(names)}, not {sorted(map(str, self.found))!r:.200}")

    def get(self, name: str) -> Any:
        """A field as it is."""
        if name not in self.found:
            raise InvalidParameter(f"{self.what} has no {name!r}")
        return self.found[name]

    def number(self, name: str) -> float:
        """A field that is a finite number."""
        return read_finite(self.get(name), f"{name!r} of {self.what}")

    def position(self, name: str, size: int) -> int:
        """A field that is a place in a list."""
        return read_place(self.get(name), size, f"{name!r} of {self.what}")

    def text(self, name: str, most: int) -> str:
        """A field that is a short text."""
        found = self.get(name)
        if not isinstance(found, str) or len(found) > most:
            raise InvalidParameter(f"{name!r} of {self.what} must be a text of at most {most} letters")
        return found

    def positions(self, name: str, size: int) -> tuple[int, ...]:
        """A field that is a list of places in another list, none twice; in order."""
        found, what = self.get(name), f"{name!r} of {self.what}"
        if not isinstance(found, list) or len(found) > size:
            raise InvalidParameter(f"{what} must be a list of at most {size} places")
        places = {read_place(value, size, what) for value in found}
        if len(places) != len(found):
            raise InvalidParameter(f"{what} has a place twice")
        return tuple(sorted(places))


def read_finite(value: Any, what: str) -> float:
    """A finite number; True is none, and an integer may be too large for one."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if is_number and abs(value) <= sys.float_info.max:
        return float(value)
    raise InvalidParameter(f"{what} must be a finite number, not {'empty' if value is None else f'{value!r:.40}'}")


def read_place(value: Any, size: int, what: str) -> int:
    """A place in a list of some size."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < size:
        raise InvalidParameter(f"{what} must be a whole number from 0 to {size - 1}, not {value!r:.40}")
    return value
