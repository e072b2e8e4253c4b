"""Models that must agree as one problem: their trees side by side, with conditions of each on its own sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from xcid.native.ensemble import Ensemble
from xcid.native.models import Alone, Link
from xcid.native.trees import Indicators, Trees, Walk
from xcid.records import Array, Integers
from xcid.whatif.evaluator import Goal
from xcid.whatif.problem import Conditions, find_conditions


class Member(NamedTuple):
    """What a model makes of its sums, which are some of those of all."""

    link: Link
    is_single: bool
    first: int
    last: int


@dataclass(frozen=True, slots=True, eq=False)
class SideBySide:
    """What the splits of several models compare, the columns of one after those of the other."""

    models: tuple[Alone, ...]

    def owners(self, features: Sequence[Sequence[int]]) -> Integers:
        """(m,) the feature that each column is made of."""
        each = [(one.seen.owners(features), one.core.indicators.source) for one in self.models]
        return np.concatenate([part for owner, source in each for part in (owner, owner[source])])

    def counted(self, rows: Array) -> Array:
        """(n, m) the numbers that splits compare."""
        return np.concatenate([one.core.compared(one.seen.counted(rows)) for one in self.models], axis=1)


def put_side_by_side(models: Sequence[Any]) -> Alone | None:
    """Several ensembles as one; None where they are none, or add different numbers of sums."""
    known = tuple(one for one in models if isinstance(one, Alone) and isinstance(one.core, Trees))
    walks = [one.core.walk for one in known]
    if len(known) < len(models) or len({walk.value.shape[1] for walk in walks}) > 1:
        return None
    nodes, sums = (
        np.cumsum([0, *sizes])[:-1]
        for sizes in ([len(walk.feature) for walk in walks], [len(one.core.ensemble.base) for one in known])
    )
    widths = [len(one.seen.source) + len(one.core.indicators.source) for one in known]
    columns = np.cumsum([0, *widths])[:-1]
    walk = Walk(
        np.concatenate([walk.feature + at for walk, at in zip(walks, columns, strict=True)]),
        np.concatenate([walk.threshold for walk in walks]),
        np.concatenate([walk.missing_left for walk in walks]),
        np.concatenate([walk.left + at for walk, at in zip(walks, nodes, strict=True)]),
        np.concatenate([walk.right + at for walk, at in zip(walks, nodes, strict=True)]),
        np.concatenate([walk.value for walk in walks]),
        np.concatenate([walk.roots + at for walk, at in zip(walks, nodes, strict=True)]),
        np.concatenate([walk.slot + at for walk, at in zip(walks, sums, strict=True)]),
    )
    base = np.concatenate([one.core.ensemble.base for one in known])
    ensemble = Ensemble((), base, np.asarray, known[0].core.ensemble.link)
    seen: Any = SideBySide(known)
    return Alone(seen, Trees(ensemble, Indicators(np.zeros(0, dtype=np.int64), {}), walk))


def list_members(native: Alone) -> tuple[Member, ...]:
    """The models that a model is made of."""
    seen, found, first = native.seen, list[Member](), 0
    for one in seen.models if isinstance(seen, SideBySide) else (native,):
        core, is_trees = one.core, isinstance(one.core, Trees)
        part = core.ensemble if is_trees else core
        last = first + (len(part.base) if is_trees else len(part.start))
        found.append(Member(part.link, is_trees and part.sums is np.float32, first, last))
        first = last
    return tuple(found)


def find_joint_conditions(
    goal: Goal, members: Sequence[Member], sums: Array, ends: tuple[Array, Array]
) -> list[Conditions] | None:
    """Ways to reach the goal with all models at once: each as the first of them, the second, and so on."""
    found, own = list[list[Conditions]](), None
    for member in members:
        part = slice(member.first, member.last)
        both = ends[0][part], ends[1][part]
        ways = find_conditions(goal, member.link, sums[part], both, member.is_single, own)
        if ways is None:
            return None
        found.append(ways)
        own = member.link(sums[None, part]) if own is None else own
    if len(members) == 1:
        return found[0]
    if not all(found):
        return []
    if len({len(ways) for ways in found}) > 1:
        return None
    return [_join(members, some, len(sums)) for some in zip(*found, strict=True)]


def _join(members: Sequence[Member], ways: Sequence[Conditions], n_sums: int) -> Conditions:
    """Conditions on the sums of each model as conditions on all sums."""
    weights = np.zeros((sum(len(one.need) for one in ways), n_sums))
    line = 0
    for member, one in zip(members, ways, strict=True):
        weights[line : line + len(one.need), member.first : member.last] = one.weights
        line += len(one.need)
    return Conditions(weights, np.concatenate([one.need for one in ways]), max(one.room for one in ways))
