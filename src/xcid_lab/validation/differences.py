"""What differs between two validations: what went in, and what came out."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from xcid_lab.validation.records import Check, Validation

SAME = 1e-6  # relative: what another machine may add up in another order
ROUNDING = 1e-6  # gaps below this are rounding, and nobody's finding


class Difference(NamedTuple):
    """One thing that is another: an input, a version, a figure or a verdict."""

    what: str
    before: str
    now: str
    is_serious: bool  # versions and effort are not: they may explain a figure

    def __str__(self) -> str:
        return f"{self.what}: {self.before or 'nothing'} then, {self.now or 'nothing'} now"


def find_differences(before: Validation, now: Validation) -> list[Difference]:
    """Compare two validations: first what went in, then what came out."""
    return [*_inputs(before, now), *_results(before, now)]


def _inputs(before: Validation, now: Validation) -> Iterator[Difference]:
    yield from _mappings(_files(before), _files(now), "file of the ")
    old, new = dict(before.settings), dict(now.settings)
    versions = old.pop("versions", ""), new.pop("versions", "")
    if versions[0] != versions[1]:
        yield Difference("versions", *versions, is_serious=False)
    yield from _mappings(old, new, "")
    if before.effort != now.effort or before.seed != now.seed:
        yield Difference(
            "effort", f"{before.effort}, seed {before.seed}", f"{now.effort}, seed {now.seed}", is_serious=False
        )


def _files(one: Validation) -> dict[str, str]:
    known: Mapping[str, Any] = (one.inputs or {}).get("files") or {}
    return {str(what): f"sha256 {file.get('sha256')}" for what, file in known.items()}


def _mappings(old: Mapping[str, str], new: Mapping[str, str], what: str) -> Iterator[Difference]:
    for name in dict.fromkeys([*old, *new]):
        if old.get(name) != new.get(name):
            yield Difference(f"{what}{name}", old.get(name, ""), new.get(name, ""), True)


def _results(before: Validation, now: Validation) -> Iterator[Difference]:
    old, new = ({check.name: check for check in one.checks} for one in (before, now))
    for name in dict.fromkeys([*old, *new]):
        one, other = old.get(name), new.get(name)
        if one is None or other is None:
            yield Difference(name, "" if one is None else one.verdict, "" if other is None else other.verdict, True)
        elif one.verdict != other.verdict or not _is_same(one, other):
            is_same = one.verdict == other.verdict
            first, second = (
                check.shown if is_same else f"{check.verdict} {check.shown}".rstrip() for check in (one, other)
            )
            yield Difference(name, first, second, True)
    was, is_now = ({one.row: "; ".join(one.reasons) for one in found.cautions} for found in (before, now))
    yield from _mappings(was, is_now, "row ")


def _is_same(one: Check, other: Check) -> bool:
    pairs = ((one.figure, other.figure), (one.low, other.low), (one.high, other.high))
    return all(
        a is b or (a is not None and b is not None and math.isclose(a, b, rel_tol=SAME, abs_tol=ROUNDING))
        for a, b in pairs
    )
