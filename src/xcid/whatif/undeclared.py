"""What nobody declared of columns: one-hot codes, which change together, and what people cannot change.

0/1 columns of which each reference row has exactly one 1 are one-hot codes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from xcid.records import Array, Flags, Integers
from xcid.subject import Subject
from xcid.table import Features

FEWEST_ROWS = 20  # among fewer reference rows, columns may be each other's opposite by chance
UNCHANGEABLE = {"age", "sex", "gender", "race", "ethnicity", "ethnic", "nationality", "religion", "caste"}
UNCHANGEABLE |= {"birth", "born", "birthday", "birthdate", "marital", "date"}


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
        groups[_name_block(names, {*space.names, *groups})] = names
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


def _name_block(names: list[str], taken: set[str]) -> str:
    """What a block is called: by the stem of its columns, or by all of them."""
    stems = {_stem(name) for name in names}
    joined = " or ".join(names)
    return next(name for name in (*(stems if len(stems) == 1 else ()), joined, f"{joined} ") if name not in taken)


def note_unchangeable(subject: Subject, moved: Flags, what: str) -> Iterator[str]:
    """Say which features people may not be able to change, where (m, f) lines or actions change them."""
    counts = count_unchangeable(subject, moved)
    if counts:
        places = [subject.features.names.index(name) for name in counts]
        frozen = [subject.space.names[column] for at in places for column in sorted(subject.features.columns[at])]
        advice = f"give the explainer constraints=xcid.Constraints(frozen={frozen})"
        yield f"{word_unchangeable(counts, len(moved), what)}, {advice}"


def count_unchangeable(subject: Subject, moved: Flags) -> dict[str, int]:
    """In how many of (m, f) lines or actions each feature changes that people may not be able to change."""
    found = np.flatnonzero(find_suspects(subject) & moved.any(axis=0)).tolist()
    return {subject.features.names[at]: int(moved[:, at].sum()) for at in found}


def word_unchangeable(counts: Mapping[str, int], n: int, what: str) -> str:
    """How often features change that people may not be able to change.

    Examples
    --------
    >>> word_unchangeable({"age": 2, "sex": 1}, 9, "ways")
    'age changes in 2 and sex in 1 of 9 ways: if people cannot change them'
    """
    (first, often), *others = counts.items()
    parts = [f"{first} changes in {often:,}", *(f"{name} in {count:,}" for name, count in others)]
    listed = parts[0] if not others else f"{', '.join(parts[:-1])} and {parts[-1]}"
    return f"{listed} of {n:,} {what}: if people cannot change {'them' if others else 'it'}"


def find_suspects(subject: Subject) -> Flags:
    """(f,) features that people cannot change, by their names or because they are dates, and that no rule is about."""
    is_date = np.array([bool(column.unit) for column in subject.features.space.columns])
    return (find_unchangeable(subject.features.names) | is_date) & ~_find_ruled(subject)


def _find_ruled(subject: Subject) -> Flags:
    """(f,) features that some rule is about: whoever gave it knows whether they change."""
    rules, direction = subject.rules, subject.features.space.direction
    about_columns = rules.ranged | (rules.steps > 0)
    about_columns[list(rules.transitions)] = True
    named = [name in rules.weights for name in subject.features.names]
    return (direction != 0) | named | [about_columns[list(group)].any() for group in subject.features.columns]


def find_unchangeable(names: Sequence[str]) -> Flags:
    """(f,) features whose names say that people cannot change them.

    Examples
    --------
    >>> find_unchangeable(["Age", "personSex", "wage", "Glucose", "date_of_birth"]).tolist()
    [True, True, False, False, True]
    """
    words = [re.sub(r"([a-z])([A-Z])", r"\1 \2", name).lower() for name in names]
    return np.array([bool(UNCHANGEABLE & set(re.split(r"[^a-z]+", word))) for word in words])
