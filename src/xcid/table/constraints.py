"""What perturbations and counterfactuals may do to the features."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, Literal

import numpy as np

from xcid._check import as_float, shown, shown_and_meant, sign_of, telling
from xcid.errors import InvalidParameter
from xcid.records import Array, Flags
from xcid.table.columns import Column
from xcid.table.rules import RowView, Rule, Rules

_DIRECTIONS: dict[int, Literal["rises", "falls"]] = {1: "rises", -1: "falls"}
_RULES = ("relations", "transitions", "steps", "costs", "derived")  # which counterfactuals obey, and samples do not
_BY_NAME = ("ranges", "levels", "monotone", "groups", "transitions", "steps", "costs", "derived")


@dataclass(frozen=True, slots=True)
class Constraints:
    """Limits that every perturbation obeys, and rules of the world for counterfactuals.

    The first five hold for scores and counterfactuals alike, the others for counterfactuals alone: perturbations behind
    scores do not know them. A function of rows gets their columns as arrays, ``row.age`` or ``row["age"]``; a text says
    the same as a formula. Rules that leave nothing together are refused when they meet the reference data.

    Parameters
    ----------
    frozen : sequence of str
        Features that never change; they score 0.
    ranges : mapping of str to (low, high)
        Where new values of a number may lie, within the reference data's own range.
    levels : mapping of str to a sequence of levels
        Which levels a feature may change to; it then never goes missing.
    monotone : mapping of str to "rises" or "falls"
        Features whose new values lie only above, or only below, the present one: an age only rises.
    groups : mapping of str to a sequence of str
        Columns that change together, to a combination that the reference data have, and get one score under the group's
        name: the columns of a one-hot code, or any set that belongs together.
    relations : sequence of str or functions
        What must be true of every row: ``"months_employed <= 12 * (age - 16)"``, or the same as
        ``lambda row: row.months_employed <= 12 * (row.age - 16)``. Missing cells break no relation.
    transitions : mapping of str to a sequence or a mapping of levels
        What levels may become: a list goes forward only (a degree is not lost), a dict has for each level those that it
        may become. Levels that are not named are free.
    steps : mapping of str to float
        New values of a number are whole multiples of it.
    costs : mapping of str to float, or a function
        What a change of a feature counts in distances, in place of 1; or ``cost(before, after)`` of rows, which takes
        the place of the distance.
    derived : mapping of str to str or functions
        Columns that follow from others, and are computed anew: ``{"bmi": "weight / height ** 2"}``.

    Examples
    --------
    >>> Constraints(frozen=["sex"], ranges={"bmi": (15, 60)}, monotone={"age": "rises"}).frozen
    ('sex',)
    """

    frozen: Sequence[str] = ()
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    levels: Mapping[str, Sequence[Any]] = field(default_factory=dict)
    monotone: Mapping[str, Literal["rises", "falls"]] = field(default_factory=dict)
    groups: Mapping[str, Sequence[str]] = field(default_factory=dict)
    relations: Sequence[Rule] = ()
    transitions: Mapping[str, Sequence[Any] | Mapping[Any, Sequence[Any]]] = field(default_factory=dict)
    steps: Mapping[str, float] = field(default_factory=dict)
    costs: Mapping[str, float] | Callable[[RowView, RowView], Any] = field(default_factory=dict)
    derived: Mapping[str, Rule] = field(default_factory=dict)

    def __post_init__(self) -> None:
        with telling(InvalidParameter, "these constraints cannot be read"):
            if isinstance(self.frozen, str) or not isinstance(self.frozen, Iterable):
                raise InvalidParameter(f"frozen must be a list of names, not {self.frozen!r}")
            object.__setattr__(self, "frozen", tuple(self.frozen))
            if isinstance(self.relations, str) or not isinstance(self.relations, Iterable):
                raise InvalidParameter(f"relations must be a list of formulas or functions, not {self.relations!r}")
            object.__setattr__(self, "relations", tuple(self.relations))
            for what in _BY_NAME:
                if not isinstance(getattr(self, what), Mapping) and not (what == "costs" and callable(self.costs)):
                    raise InvalidParameter(f"{what} must be a dict from names to limits, not {getattr(self, what)!r}")
            for name, direction in self.monotone.items():
                if not sign_of(direction):
                    raise InvalidParameter(f"monotone[{name!r}] must be 'rises' or 'falls', not {direction!r}")
            words = {name: _DIRECTIONS[sign_of(direction)] for name, direction in self.monotone.items()}
            object.__setattr__(self, "monotone", words)
            for rule in (*self.relations, *self.derived.values()):
                if not isinstance(rule, str) and not callable(rule):
                    raise InvalidParameter(f"a rule must be a formula or a function of rows, not {rule!r}")
            _check_groups(self.groups)

    @property
    def record(self) -> dict[str, str]:
        """What was given, in words, for records of settings; empty where nothing was.

        Examples
        --------
        >>> Constraints(frozen=["sex"], steps={"bmi": 0.5}).record
        {'constraints': "frozen=('sex',)", 'rules': "steps={'bmi': 0.5}"}
        """
        said: dict[str, list[str]] = {}
        for name, value in ((one.name, getattr(self, one.name)) for one in fields(self)):
            if callable(value) or len(value):
                said.setdefault("rules" if name in _RULES else "constraints", []).append(f"{name}={value!r}")
        return {kind: ", ".join(parts) for kind, parts in said.items()}

    def allowed(self, columns: tuple[Column, ...], background: Array) -> Flags:
        """(N, d) which cells of the reference data may replace others; checks every name and limit on the way."""
        self._check_names([column.name for column in columns])
        allowed = np.ones(background.shape, dtype=bool)
        for at, column in enumerate(columns):
            cells = background[:, at]
            if column.name in self.ranges:
                low, high = _range(column, self.ranges[column.name])
                allowed[:, at] &= ((cells >= low) & (cells <= high)) | np.isnan(cells)
            if column.name in self.levels:
                allowed[:, at] &= np.isin(cells, _codes(column, self.levels[column.name]))
            if not allowed[:, at].any() or np.isnan(cells[allowed[:, at]]).all():
                raise InvalidParameter(
                    f"no value of {column.name!r} in the reference data is allowed: widen its range or levels"
                )
        return allowed

    def _check_names(self, known: list[str]) -> None:
        whats = ("frozen", "ranges", "levels", "monotone", "transitions", "steps", "derived")
        named = {f"{what} names": getattr(self, what) for what in whats}
        named["costs names"] = () if callable(self.costs) else [name for name in self.costs if name not in self.groups]
        named |= {f"group {group!r} has": members for group, members in self.groups.items()}
        for what, names in named.items():
            unknown = [name for name in names if name not in known]
            if unknown:
                asked = shown_and_meant(unknown, known)
                raise InvalidParameter(f"{what} {asked}, which the table does not have: it has {shown(known)}")
        for group, members in self.groups.items():
            if group in known and group not in members:
                raise InvalidParameter(f"group {group!r} has the name of a column that is not in it: call it otherwise")
        if {*self.frozen, *self.derived} == set(known):
            raise InvalidParameter("all features are frozen: nothing is left to perturb")

    def rules(self, columns: tuple[Column, ...], background: Array) -> Rules:
        """The rules for counterfactuals, bound to a table; refused where two of them contradict each other."""
        if not self.record:
            return Rules(columns, np.zeros(len(columns)), np.zeros(len(columns), dtype=bool))
        from xcid.table.contradictions import refuse_contradictions

        rules = Rules.of(self, columns)
        refuse_contradictions(self, rules, background)
        return rules

    def direction(self, columns: tuple[Column, ...]) -> Array:
        """(d,) 1 for features that only rise, -1 for those that only fall, 0 for the others."""
        for column in columns:
            if column.name in self.monotone and column.kind in ("categorical", "boolean"):
                raise InvalidParameter(f"{column.name!r} is {column.kind}: its levels have no order to rise or fall in")
        return np.array([float(sign_of(self.monotone.get(column.name))) for column in columns])


def _check_groups(groups: Mapping[str, Sequence[str]]) -> None:
    owner: dict[str, str] = {}
    for group, members in groups.items():
        if isinstance(members, str) or not isinstance(members, Iterable) or len(list(members)) < 2:
            raise InvalidParameter(f"group {group!r} must be a list of at least two columns, not {members!r}")
        for name in members:
            if name in owner:
                twice = f"in group {owner[name]!r} and again in group {group!r}"
                raise InvalidParameter(f"{name!r} is {twice}: take one out")
            owner[name] = group


def _range(column: Column, limits: Any) -> tuple[float, float]:
    if column.levels:
        raise InvalidParameter(f"{column.name!r} is made of levels: limit them with levels, not with ranges")
    try:
        low, high = limits
    except (TypeError, ValueError) as error:
        raise InvalidParameter(f"the range of {column.name!r} must be (low, high), not {limits!r}") from error
    if not as_float(low, "low") <= as_float(high, "high"):
        raise InvalidParameter(f"the range of {column.name!r} is empty: {low} does not lie below {high}")
    return low, high


def _codes(column: Column, wanted: Sequence[Any]) -> list[int]:
    if isinstance(wanted, str) or not isinstance(wanted, Iterable):
        raise InvalidParameter(f"the levels of {column.name!r} must be a list, not {wanted!r}")
    unknown = [level for level in wanted if level not in column.levels]
    if unknown or not column.levels:
        raise InvalidParameter(f"{column.name!r} has no levels {unknown or list(wanted)}: it has {list(column.levels)}")
    return [column.levels.index(level) for level in wanted]
