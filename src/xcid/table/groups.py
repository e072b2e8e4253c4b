"""Columns that change together become one feature; a generator never sees that it is more than one column."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xcid.errors import InvalidParameter
from xcid.records import Array, Perturbations, Plan, Texts
from xcid.table.columns import Column
from xcid.table.constraints import Constraints
from xcid.table.features import FeatureSpace, Pools, scales

OWN = -1.0  # the code of a row whose joint value the reference data do not have


@dataclass(frozen=True, slots=True, eq=False)
class Features:
    """What is perturbed and scored: single columns, and groups of columns.

    To a generator a group is one category whose levels are the joint values that the reference data have. So whatever
    generator is used, the columns of a group change together and to a combination that exists.

    ``columns`` are those of each feature, ``space`` is what a generator sees, that of the table itself where there are
    no groups, and ``values`` are (L, k) joint values of each group, by code; empty for single columns.
    """

    columns: tuple[tuple[int, ...], ...]
    space: FeatureSpace
    values: tuple[Array, ...]

    @classmethod
    def of(cls, table: FeatureSpace, constraints: Constraints) -> Features:
        """Fold the groups of a table; each stands where its first column stood."""
        if not constraints.groups:
            return cls(tuple((at,) for at in range(len(table.columns))), table, ())
        names = list(table.names)
        members = {name: tuple(names.index(one) for one in group) for name, group in constraints.groups.items()}
        named = {min(group): (name, _rank_columns(group, table)) for name, group in members.items()}
        inside = {at for group in members.values() for at in group}
        features = [named.get(at, (names[at], (at,))) for at in range(len(names)) if at in named or at not in inside]
        columns = tuple(group for _, group in features)
        values = tuple(_joint_values(table.rows[:, group]) if len(group) > 1 else np.empty((0, 0)) for group in columns)
        folded = cls(columns, table, values)
        rows, allowed = folded.fold(table.rows), constraints.allowed(table.columns, table.rows)
        first = np.array([group[0] for group in columns])
        is_group = np.array([len(group) > 1 for group in columns])
        allowed = np.column_stack([allowed[:, group].all(axis=1) for group in columns])
        space = replace(
            table,
            columns=tuple(
                Column(name, "categorical", tuple(range(len(levels)))) if len(group) > 1 else table.columns[group[0]]
                for (name, group), levels in zip(features, values, strict=True)
            ),
            rows=rows,
            background=rows[table.copied],
            lower=np.where(is_group, 0.0, table.lower[first]),
            upper=np.where(is_group, [len(levels) - 1.0 for levels in values], table.upper[first]),
            resolution=np.where(is_group, 1.0, table.resolution[first]),
            rounding=np.where(is_group, 0.0, table.rounding[first]),
            missing=np.where(is_group, 0.0, table.missing[first]),
            frozen=np.array([table.frozen[list(group)].any() for group in columns]),
            direction=table.direction[first],
            pools=Pools.of(rows[table.copied], allowed[table.copied]),
            distinct=Pools.of(rows, allowed).distinct(),
            scales=scales(rows[table.copied]),
            rank=np.argsort(np.argsort([table.rank[list(group)].min() for group in columns])),
            decode=lambda codes: table.decode(folded.unfold(codes, np.full((len(codes), len(names)), np.nan))),
            encode_groups=lambda rows, what: folded.fold(table.encode(rows, what)),
        )
        return replace(folded, space=space)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features."""
        return self.space.names

    def fold(self, rows: Array) -> Array:
        """Turn (n, d) rows of the table into (n, f) rows of features."""
        if not self.values:
            return rows
        return np.column_stack(
            [
                _codes(rows[:, group], values) if len(group) > 1 else rows[:, group[0]]
                for group, values in zip(self.columns, self.values, strict=True)
            ]
        )

    def unfold(self, samples: Array, own: Array, owner: Any = ...) -> Array:
        """Turn (..., f) samples of features into (..., d) rows of the table; they are perturbed ``own[owner]`` rows."""
        if not self.values:
            return samples
        rows = np.array(np.broadcast_to(own[owner], (*samples.shape[:-1], own.shape[-1])))
        for at, (group, values) in enumerate(zip(self.columns, self.values, strict=True)):
            code = samples[..., at]
            if len(group) == 1:
                rows[..., group[0]] = code
            else:
                known = values[np.where(code == OWN, 0, code).astype(np.int64)]
                rows[..., group] = np.where((code == OWN)[..., None], rows[..., group], known)
        return rows

    def unfold_cloud(self, cloud: Perturbations, rows: Array, table: FeatureSpace) -> Perturbations:
        """Turn a cloud of features into one of the table's columns."""
        if not self.values:
            return cloud
        given = None if cloud.given is None else self.unfold(cloud.given, rows[:, None, :])
        plans = tuple(self.unfold_plan(one, table) for one in cloud.plans if isinstance(one, Plan))
        return replace(cloud, origin=rows, given=given, discrete=table.discrete, features=self.columns, plans=plans)

    def unfold_plan(self, plan: Plan, table: FeatureSpace) -> Plan:
        """Turn a plan of features into one of the table's columns, once."""
        return plan.once("unfolded", lambda one: self._unfold_plan(one, table)) if self.values else plan

    def _unfold_plan(self, plan: Plan, table: FeatureSpace) -> Plan:
        nothing = np.full((1, len(table.names)), np.nan)
        values, alone, rest = (self.unfold(part, nothing) for part in (plan.values, plan.alone, plan.rest))
        known = table.rows
        return replace(plan, values=values, alone=alone, rest=rest, background=known, features=self.columns)

    def status(self, folded: Array) -> Texts:
        """(n, f) "ok", "frozen", or "constant" where no other value is allowed, for (n, f) rows of features."""
        space, pool = self.space, self.space.distinct
        _, common = pool.between(space.lower[None], space.upper[None])
        open_ = (common[0] < 2) | (space.direction != 0)  # those that may have nothing to change to
        changes = np.ones((1, folded.shape[1]), dtype=bool)
        if open_.any():
            low, high = space.bounds(folded)
            _, count = pool.between(low, high)
            _, own = pool.between(np.fmax(low, folded), np.fmin(high, folded))
            own = np.where(np.isnan(folded), 0, own)
            missing = (pool.n_missing > 0) & (space.direction == 0) & ~np.isnan(folded)
            changes = ~open_ | (count - own + missing > 0)
        return np.broadcast_to(np.where(space.frozen, "frozen", np.where(changes, "ok", "constant")), folded.shape)


def _rank_columns(group: tuple[int, ...], table: FeatureSpace) -> tuple[int, ...]:
    """Columns of a group in the order that does not depend on the table's; checks that they can change together."""
    at, names = list(group), [table.names[i] for i in group]
    if table.frozen[at].any() and not table.frozen[at].all():
        raise InvalidParameter(f"some of the grouped columns {names} are frozen: freeze all or none")
    if table.direction[at].any():
        raise InvalidParameter(
            f"one of the grouped columns {names} is monotone: a group changes to joint values of the reference data, "
            "which know no direction; take that column out of the group"
        )
    return tuple(sorted(group, key=lambda i: int(table.rank[i])))


def _joint_values(cells: Array) -> Array:
    """Distinct rows in ascending order; missing cells come last."""
    distinct = np.unique(np.where(np.isnan(cells), np.inf, cells), axis=0)
    return np.where(np.isinf(distinct), np.nan, distinct)


def _codes(cells: Array, values: Array) -> Array:
    """Position of each row of cells among the joint values."""
    both = np.concatenate([values, cells])
    _, which = np.unique(np.where(np.isnan(both), np.inf, both), axis=0, return_inverse=True)
    code = np.full(which.max() + 1, OWN)
    code[which[: len(values)]] = np.arange(len(values))
    return code[which[len(values) :]]
