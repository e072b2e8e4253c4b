"""What an action does to one feature: moves it by so much, brings it up or down to a value, sets it to a level."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from xcid._numbers import DIGITS_OF_A_CELL, format_number
from xcid.records import Array, Flags
from xcid.subject import Subject
from xcid.table import FeatureSpace
from xcid.whatif.record import word_cell
from xcid.whatif.search_space import SearchSpace, choose_frequent

MOVES = (0.5, 1.0, 2.0)  # mean absolute deviations of a number
LEVELS_MOVED = (1, 2)
ROUNDED = 0.1  # mean absolute deviations that the ends of these are rounded to
RAISED_TO, LOWERED_TO = (0.5, 0.75, 0.9), (0.5, 0.25, 0.1)  # quantiles of the reference data
MOST_LEVELS = 12  # of a feature that are propose_parts, the most frequent ones
SLACK = 0.01  # of a move, and at most half a step: what rounding may add to it


@dataclass(frozen=True, slots=True)
class Move:
    """Raise or lower a number by an amount, or levels in order by so many."""

    at: int
    by: float

    def change_cells(self, own: Array) -> Array:
        """So much more, or less."""
        return own + self.by

    def words(self, subject: Subject) -> str:
        """Such as "raise savings by 500", "lower rating by 1 level"."""
        column, size = subject.features.space.columns[self.at], abs(self.by)
        units = {"D": "day", "s": "second"}
        unit = "level" if column.levels else units.get(column.unit, "")
        many = f" {unit}{'' if size == 1 else 's'}" if unit else ""
        return f"{_choose_verb(self.by)} {column.name} by {format_number(size, DIGITS_OF_A_CELL)}{many}"


@dataclass(frozen=True, slots=True)
class Bring:
    """Raise or lower a number to a value where it is not there yet; ``sign`` is 1 or -1."""

    at: int
    to: float
    sign: int

    def change_cells(self, own: Array) -> Array:
        """The value, or what is beyond it already."""
        return np.where(self.sign * (self.to - own) > 0, self.to, own)

    def words(self, subject: Subject) -> str:
        """Such as "raise savings to 5000"."""
        return f"{_choose_verb(self.sign)} {subject.features.names[self.at]} to {word_value(subject, self.at, self.to)}"


@dataclass(frozen=True, slots=True)
class Choose:
    """Give a feature a level, or a group of columns a joint value."""

    at: int
    to: float

    def change_cells(self, own: Array) -> Array:
        """That level."""
        return np.full(own.shape, self.to)

    def words(self, subject: Subject) -> str:
        """Such as "set housing to own"."""
        return f"set {subject.features.names[self.at]} to {word_value(subject, self.at, self.to)}"


Part: TypeAlias = Move | Bring | Choose  # a change of one feature that is the same for all rows


def propose_parts(search_space: SearchSpace) -> Iterator[Part]:
    """Every part that is tried."""
    space = search_space.subject.features.space
    for at in np.flatnonzero(~search_space.fixed).tolist():
        yield from _propose_levels(space, at) if space.discrete[at] else _propose_numbers(search_space, at)


def apply_part(search_space: SearchSpace, part: Part, own: Array) -> Array:
    """(n,) what a part makes of its feature in (n, f) rows; NaN where the constraints forbid that."""
    present = own[:, part.at]
    want = part.change_cells(present)
    if search_space.subject.features.space.discrete[part.at]:
        return np.where(_is_choice(search_space, part.at, own, want), want, np.nan)
    low, high = search_space.limits(own, part.at)
    is_known = ~np.isnan(present)
    new = search_space.fit_values(np.where(is_known, want, low), part.at, low, high)
    slack = np.minimum(SLACK * np.abs(want - present), search_space.step[part.at] / 2)
    close = np.abs(new - want) <= slack + 1e-9 * search_space.step[part.at]
    return np.where(is_known & (want == present), present, np.where(close & (new >= low) & (new <= high), new, np.nan))


def word_value(subject: Subject, at: int, code: float) -> str:
    """A value of a feature in words; those of a group in turn."""
    columns, known = subject.features.columns[at], subject.space.columns
    if len(columns) == 1:
        return word_cell(known[columns[0]], code)
    cells = sorted(zip(columns, subject.features.values[at][int(code)].tolist(), strict=True))
    return ", ".join(f"{known[column].name} {word_cell(known[column], cell)}" for column, cell in cells)


def _is_choice(search_space: SearchSpace, at: int, own: Array, want: Array) -> Flags:
    """(n,) whether rows may have these levels."""
    levels, there = search_space.choices(own, at, None)
    place = np.clip(np.searchsorted(levels[0], want), 0, levels.shape[1] - 1)
    line = np.arange(len(own))
    return there[line, place] & (levels[line, place] == want)


def _propose_levels(space: FeatureSpace, at: int) -> Iterator[Part]:
    pool = space.distinct.values[: space.distinct.sizes[at], at]
    if space.columns[at].kind == "ordinal":
        for count in LEVELS_MOVED:
            yield from (Move(at, float(count)), Move(at, -float(count)))
    for level in choose_frequent(pool, space.background[:, at], MOST_LEVELS).tolist():
        yield Choose(at, level)


def _propose_numbers(search_space: SearchSpace, at: int) -> Iterator[Part]:
    space, step = search_space.subject.features.space, search_space.step[at]
    moves = {max(step, round(_round_nicely(share * space.scales[at]) / step) * step) for share in MOVES}
    for by in sorted(moves):
        yield from (Move(at, by), Move(at, -by))
    low, high = search_space.lower[at : at + 1], search_space.upper[at : at + 1]
    unit = max(step, round(_round_nicely(ROUNDED * space.scales[at]) / step) * step)
    for sign, shares in ((1, RAISED_TO), (-1, LOWERED_TO)):
        ends = np.rint(np.nanquantile(space.background[:, at], shares) / unit) * unit
        for to in dict.fromkeys(search_space.fit_values(ends, at, low, high).tolist()):
            yield Bring(at, to, sign)


def _round_nicely(number: float) -> float:
    """The nearest of 1, 2, 5, 10, 20, ...

    Examples
    --------
    >>> _round_nicely(1240.0), _round_nicely(0.04), _round_nicely(7.5)
    (1000.0, 0.05, 10.0)
    """
    power = 10.0 ** np.floor(np.log10(number))
    return float(min((1 * power, 2 * power, 5 * power, 10 * power), key=lambda nice: abs(np.log(nice / number))))


def _choose_verb(sign: float) -> str:
    return "raise" if sign > 0 else "lower"
