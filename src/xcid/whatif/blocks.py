"""One-hot codes that nobody declared: 0/1 columns of which each reference row has exactly one 1 change together."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from xcid.records import Array, Flags, Integers
from xcid.subject import Subject
from xcid.table import Features

FEWEST_ROWS = 20  # among fewer reference rows, columns may be each other's opposite by chance


def join_blocks(subject: Subject) -> Subject:
    """The same subject with its one-hot codes as groups; one of which a column is frozen is frozen as a whole."""
    space, rules, constraints = subject.space, subject.rules, subject.constraints
    ruled = rules.is_derived | rules.ranged | (rules.steps > 0) | (space.direction != 0)
    ruled[[*rules.transitions, *(at for at, name in enumerate(space.names) if name in rules.weights)]] = True
    ruled[[at for group in subject.features.columns if len(group) > 1 for at in group]] = True
    blocks = list(find_blocks(space.background, space.names, np.flatnonzero(~ruled)))
    if not blocks:
        return subject
    frozen, groups = space.frozen.copy(), dict(constraints.groups)
    for block in blocks:
        names = [space.names[at] for at in block]
        frozen[block] |= frozen[block].any()
        groups[_name(names, {*space.names, *groups})] = names
    features = Features.of(replace(space, frozen=frozen), replace(constraints, groups=groups))
    return replace(subject, features=features)


def find_blocks(background: Array, names: tuple[str, ...], columns: Integers) -> Iterator[list[int]]:
    """Sets of 0/1 columns that sum to one in every row: neighbours, or columns whose names begin alike."""
    if len(background) < FEWEST_ROWS:
        return
    cells = background[:, columns]
    is_code: Flags = ((cells == 0) | (cells == 1)).all(axis=0)
    is_code &= (cells.max(axis=0, initial=0.0) > 0) & (cells.min(axis=0, initial=1.0) < 1)
    left: dict[int, Array] = {int(at): background[:, at] for at in columns[is_code]}
    run, total = list[int](), np.zeros(len(background))
    for at, cell in list(left.items()):
        if run and (total + cell).max() > 1:
            run, total = [], np.zeros(len(background))
        run, total = [*run, at], total + cell
        if total.min() == 1:
            yield run
            left = {other: rest for other, rest in left.items() if other not in run}
            run, total = [], np.zeros(len(background))
    alike = dict[str, list[int]]()
    for at in left:
        alike.setdefault(_stem(names[at]), []).append(at)
    for block in alike.values():
        if len(block) > 1 and np.all(sum(left[at] for at in block) == 1):
            yield block


def _stem(name: str) -> str:
    """What stands before the last mark: "region" of "region_north".

    Examples
    --------
    >>> _stem("home_region=north"), _stem("north")
    ('home_region', 'north')
    """
    return re.sub(r"[^a-zA-Z0-9]+[a-zA-Z0-9]*$", "", name) or name


def _name(names: list[str], taken: set[str]) -> str:
    """What a block is called: by the stem of its columns, or by all of them."""
    stems = {_stem(name) for name in names}
    joined = " or ".join(names)
    return next(name for name in (*(stems if len(stems) == 1 else ()), joined, f"{joined} ") if name not in taken)
