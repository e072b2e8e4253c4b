"""Rules that leave nothing together: found on reference rows and on mixtures of them, and named in pairs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from typing import Any

import numpy as np

from xcid._kernels.random import MIXTURES, below, run_key
from xcid.errors import InvalidParameter
from xcid.records import Array
from xcid.table.rules import Rules

N_MIXTURES = 2_000
FEWEST = 5  # mixtures that obey a relation: fewer say nothing about it beside another rule


def refuse_contradictions(constraints: Any, rules: Rules, reference: Array) -> None:
    """Raise where two rules cannot hold together, with the names of both."""
    for first, second, why in _list_clashes(constraints, rules, reference):
        _refuse(first, second, why)
    if rules.relations:
        _refuse_relations(constraints, rules, reference)


def _list_clashes(constraints: Any, rules: Rules, reference: Array) -> Iterator[tuple[str, str, str]]:
    """Pairs of rules about single columns that clash, and why."""
    for name in constraints.derived:
        if name in constraints.frozen:
            yield f"frozen has {name!r}", f"derived[{name!r}]", "a column that follows from others cannot stay as it is"
    grouped = {name: group for group, members in constraints.groups.items() for name in members}
    for what in ("derived", "transitions", "steps"):
        for name in getattr(constraints, what):
            if name in grouped:
                why = "a group changes to values that the reference data have"
                yield f"groups[{grouped[name]!r}] has {name!r}", f"{what}[{name!r}]", why
    names = [column.name for column in rules.columns]
    for name, step in constraints.steps.items():
        at, is_ranged = names.index(name), name in constraints.ranges
        if rules.columns[at].kind == "integer" and not float(step).is_integer():
            yield f"steps[{name!r}] = {step}", f"the kind of {name!r}", "it has whole numbers only"
        column = reference[:, at]
        low, high = constraints.ranges[name] if is_ranged else (np.nanmin(column), np.nanmax(column))
        if np.floor(high / step + 1e-9) < np.ceil(low / step - 1e-9):
            what = f"ranges[{name!r}] = ({low:g}, {high:g})" if is_ranged else f"the values of {name!r}"
            yield f"steps[{name!r}] = {step:g}", what, f"no multiple of {step:g} lies there"
    for at, moves in rules.transitions.items():
        name, levels = names[at], list(rules.columns[at].levels)
        code, other = np.arange(len(levels)), {}
        if name in constraints.levels:
            known = [levels.index(level) for level in constraints.levels[name]]
            other[f"levels[{name!r}]"] = np.isin(code, known)[None]
        if name in constraints.monotone:
            way = constraints.monotone[name]
            other[f"monotone[{name!r}] = {way!r}"] = code > code[:, None] if way == "rises" else code < code[:, None]
        moves = moves & (code != code[:, None])
        for what, allowed in other.items():
            if moves.any() and not (moves & allowed).any():
                yield f"transitions[{name!r}]", what, "together they allow no change at all"


def _refuse_relations(constraints: Any, rules: Rules, reference: Array) -> None:
    mixed, names = _mixtures(reference), [f"the relation {name}" for name, _ in rules.relations]
    met = [rules.holds(function, mixed, name) for name, (_, function) in zip(names, rules.relations, strict=True)]
    for name, flags in zip(names, met, strict=True):
        if not flags.any():
            raise InvalidParameter(
                f"{name} holds in no row of the reference data, nor in any mixture of their values: drop it"
            )
    telling = [at for at, flags in enumerate(met) if flags.sum() >= FEWEST]
    for first, second in combinations(telling, 2):
        if not (met[first] & met[second]).any():
            why = "no row of the reference data and no mixture of their values obeys both"
            _refuse(names[first], names[second], why)
    for limit, fit in _limits(constraints, rules).items():
        fitted = fit(mixed)
        for at in telling:
            if not rules.holds(rules.relations[at][1], fitted, names[at]).any():
                _refuse(names[at], limit, "no mixture of the reference data's values obeys both")


def _limits(constraints: Any, rules: Rules) -> dict[str, Callable[[Array], Array]]:
    """Ranges, levels and steps by name, each with a function that makes rows obey it."""
    limits = {}
    for at, column in enumerate(rules.columns):
        name = column.name
        if name in constraints.ranges:
            low, high = constraints.ranges[name]
            finite = bool(np.isfinite([low, high]).all())
            fit = _fill(at, np.linspace(low, high, N_MIXTURES)) if finite else _clip(at, low, high)
            limits[f"ranges[{name!r}] = ({low:g}, {high:g})"] = fit
        if name in constraints.levels:
            codes = [float(column.levels.index(level)) for level in constraints.levels[name]]
            limits[f"levels[{name!r}]"] = _fill(at, np.array(codes))
        if rules.steps[at]:
            limits[f"steps[{name!r}] = {rules.steps[at]:g}"] = _round(at, rules.steps[at])
    return limits


def _fill(at: int, values: Array) -> Callable[[Array], Array]:
    return lambda rows: _with(rows, at, np.resize(values, len(rows)))


def _clip(at: int, low: float, high: float) -> Callable[[Array], Array]:
    return lambda rows: _with(rows, at, np.clip(rows[:, at], low, high))


def _round(at: int, step: float) -> Callable[[Array], Array]:
    return lambda rows: _with(rows, at, np.rint(rows[:, at] / step) * step)


def _with(rows: Array, at: int, values: Array) -> Array:
    changed = rows.copy()
    changed[:, at] = values
    return changed


def _mixtures(reference: Array) -> Array:
    """Rows of the reference data, and as many rows again whose cells come from rows of their own."""
    counters = np.arange(N_MIXTURES * reference.shape[1], dtype=np.uint64).reshape(N_MIXTURES, -1)
    which = below(MIXTURES.bits(run_key(0), counters)[0], len(reference))
    return np.concatenate([reference, reference[which, np.arange(reference.shape[1])]])


def _refuse(first: str, second: str, why: str) -> None:
    raise InvalidParameter(f"{first} and {second} contradict each other: {why}; drop one of them")
