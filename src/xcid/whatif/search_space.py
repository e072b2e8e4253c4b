"""What the features of a row may plausibly become, and how far that is; codes for what is missing are no values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from xcid._kernels.arrays import same, thinned
from xcid.cid.generators.reach import MOST_DONORS, Metric
from xcid.errors import InvalidParameter
from xcid.records import Array, Flags, Integers
from xcid.subject import Subject
from xcid.table import FeatureSpace, RowView
from xcid.table.rules import on_steps

MOST_VALUES = 24  # of a number that takes no others, and that are all tried one by one
N_QUANTILES = 64  # that are tried of numbers with more
N_NEAR, LIKE = 20, 1 / 3  # so many of the nearest reference rows have a code where a row is like those that do
MOST_LEVELS = 64
FAR = 1.5  # mean absolute deviations of the others between a value and the next: it stands apart
SPIKE = 5  # times as frequent as any of the next values: the lowest or highest value is a code, not a number
COMMON = 0.05  # of the reference rows have a value that stands apart, or it is never propose_parts
FINEST = 100  # steps in a mean absolute deviation of a number without decimals of its own


@dataclass(frozen=True, slots=True, eq=False)
class SearchSpace:
    """A subject as a search for counterfactuals sees it, in (.., f) rows of features.

    ``lower`` and ``upper`` (f,) are the ends of the plausible values of a number, without values that stand ``apart``;
    ``step`` and ``decimals`` (f,) are the lattice that its new values lie on. ``usual`` (f,) is what a missing cell
    would most likely be: the median of the plausible values, or the most frequent level.
    """

    subject: Subject
    metric: Metric
    weights: Array  # (f,) of the features in distances; 0 for derived ones
    fixed: Flags  # (f,) features that never change by themselves: frozen ones and derived ones
    ordered: Flags  # (f,) levels in order: each one further costs 1 more
    lower: Array
    upper: Array
    step: Array
    decimals: Array
    usual: Array
    few: tuple[Array | None, ...]  # the plausible values of numbers that have few
    apart: tuple[tuple[int, float], ...]  # features with a common value that stands apart
    donors: Array  # (N, f) reference rows
    donor_outputs: Array  # (N, k)

    @staticmethod
    def of(subject: Subject) -> SearchSpace:
        """Learn from the reference data what is plausible."""
        space, rules = subject.features.space, subject.rules
        names, columns = list(subject.features.names), subject.features.columns
        derived = np.array([all(rules.is_derived[list(group)]) for group in columns])
        fixed = space.frozen | derived
        single = np.array([group[0] if len(group) == 1 else -1 for group in columns])
        lower, upper, apart = space.lower.copy(), space.upper.copy(), []
        for at in np.flatnonzero(~space.discrete & ~fixed):
            if rules.ranged[single[at]]:
                continue  # the user has said what is plausible
            low, high, codes = find_bulk(space.background[:, at])
            lower[at], upper[at] = max(low, lower[at]), min(high, upper[at])
            step = rules.steps[single[at]]
            apart += [(int(at), code) for code in codes if not step or on_steps(np.array(code), step)]
        step, decimals = find_lattice(subject, single)
        pools = [space.distinct.values[:size, at] for at, size in enumerate(space.distinct.sizes)]
        pools = [pool[(pool >= low) & (pool <= high)] for pool, low, high in zip(pools, lower, upper, strict=True)]
        is_few = np.array([0 < len(pool) <= MOST_VALUES for pool in pools]) & ~space.discrete
        is_few &= ~np.array([at >= 0 and bool(rules.steps[at]) for at in single])
        ordered = np.array([column.kind == "ordinal" for column in space.columns])
        is_few |= ordered
        metric = Metric.of(space)
        chosen = thinned(len(space.background), MOST_DONORS)
        search_space = SearchSpace(
            subject,
            replace(metric, scale=np.where(ordered, 1.0, metric.scale), discrete=metric.discrete & ~ordered),
            np.array([rules.weights.get(name, 1.0) for name in names]) * ~derived,
            fixed,
            ordered,
            lower,
            upper,
            step,
            decimals,
            np.full(len(names), np.nan),
            tuple(pool if few else None for pool, few in zip(pools, is_few, strict=True)),
            tuple(apart),
            space.background[chosen],
            subject.outputs[chosen],
        )
        return replace(search_space, usual=np.array([search_space._find_usual(at) for at in range(len(names))]))

    def _find_usual(self, at: int) -> float:
        """The median of the plausible values of a number, on its lattice; the most frequent level of the others."""
        space, low, high = self.subject.features.space, self.lower[at : at + 1], self.upper[at : at + 1]
        cells = space.background[:, at]
        known = cells[(cells >= low) & (cells <= high)]
        if not known.size:
            return float("nan")
        if not space.discrete[at]:
            return float(self.fit_values(np.median(known, keepdims=True), at, low, high)[0])
        levels, counts = np.unique(known, return_counts=True)
        return float(levels[counts.argmax()])

    def gaps(self, rows: Array, own: Array, at: Any = ...) -> Array:
        """(..., f) weighted distances feature by feature, or of the features ``at``; derived features have none.

        A missing cell that is filled is 1 away from the usual value, and from others as much farther as they are.
        """
        discrete, scale = self.metric.discrete[at], self.metric.scale[at]
        missing = np.isnan(rows), np.isnan(own)
        start = np.where(missing[1] & ~missing[0], self.usual[at], own)
        apart = np.where(discrete, rows != start, np.abs(rows - start) / scale)
        return np.where(missing[0], ~missing[1], apart + missing[1]) * self.weights[at]

    def distance(self, rows: Array, own: Array, table: Array, own_table: Array) -> Array:
        """(N,) how far (N, f) rows are from their (N, f) own, or what that costs."""
        cost = self.subject.rules.cost
        if cost is None or not len(rows):
            return self.gaps(rows, own).sum(axis=-1)
        columns = self.subject.space.columns
        found = np.asarray(cost(RowView(columns, own_table), RowView(columns, table)), dtype=np.float64)
        if found.shape != (len(rows),) or not np.all(found >= 0):
            raise InvalidParameter(
                f"costs gave shape {found.shape} for {len(rows)} rows: it must give each of them a number from 0 up"
            )
        return found

    def fit_values(self, values: Array, at: int, low: Array, high: Array) -> Array:
        """Bring numbers of a feature onto its lattice and between limits; they lie outside where there is no such.

        A feature of few values takes no others.
        """
        few = self.few[at]
        if few is not None:
            first, last = np.searchsorted(few, low, side="left"), np.searchsorted(few, high, side="right") - 1
            middles = (few[1:] + few[:-1]) / 2
            return few[np.clip(np.clip(np.searchsorted(middles, values), first, last), 0, len(few) - 1)]
        step, scale = self.step[at], 10.0 ** self.decimals[at]
        multiple = np.clip(np.rint(values / step), np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9))
        made = multiple * step
        return np.rint(made * scale) / scale if self.decimals[at] <= 15 else made

    def limits(self, own: Array, at: int) -> tuple[Array, Array]:
        """(n,) lowest and highest new value of a feature of (n, f) rows."""
        direction, present = self.subject.features.space.direction[at], own[:, at]
        low, high = np.full(len(own), self.lower[at]), np.full(len(own), self.upper[at])
        if direction > 0:
            low = np.fmax(low, present)
        if direction < 0:
            high = np.fmin(high, present)
        return low, high

    def choices(self, own: Array, at: int, like: Flags | None) -> tuple[Array, Flags]:
        """(n, g) values of a feature to try for (n, f) rows, and which of them a row may become.

        ``like`` (n, a) says which rows are like those with each value that stands apart.
        """
        space, present = self.subject.features.space, own[:, at, None]
        pool = space.distinct.values[: space.distinct.sizes[at], at]
        low, high = self.limits(own, at)
        if space.discrete[at]:
            values = choose_frequent(pool, space.background[:, at], MOST_LEVELS)[None]
            there = self.may_become(present, values, at) & (values >= low[:, None]) & (values <= high[:, None])
            return np.broadcast_to(values, there.shape), there & ~same(values, present)
        pool = pool[(pool >= self.lower[at]) & (pool <= self.upper[at])]
        if not pool.size:
            return present, np.zeros(present.shape, dtype=bool)
        if pool.size > MOST_VALUES:
            pool = np.quantile(pool, np.linspace(0, 1, N_QUANTILES))
        values = self.fit_values(np.broadcast_to(pool, (len(own), pool.size)), at, low[:, None], high[:, None])
        there = (values >= low[:, None]) & (values <= high[:, None])
        there[:, 1:] &= values[:, 1:] != values[:, :-1]
        is_missing = np.isnan(own[:, at])
        if is_missing.any():  # one fills a missing cell with the usual value before any other
            is_new = is_missing & ~(there & (values == self.usual[at])).any(axis=1)
            values = np.column_stack([values, np.full(len(own), self.usual[at])])
            there = np.column_stack([there, is_new])
        for place, (feature, code) in enumerate(self.apart):
            if feature == at and like is not None:
                allowed = like[:, place] & (space.direction[at] * (code - own[:, at]) >= 0)
                values = np.column_stack([values, np.full(len(own), code)])
                there = np.column_stack([there, allowed])
        return values, there & ~same(values, present)

    def may_become(self, present: Array, levels: Array, at: int) -> Flags:
        """Which (broadcast) present levels of a feature may become which others; no cell of a group goes missing."""
        group, moves = self.subject.features.columns[at], self.subject.rules.transitions
        start, end = (np.nan_to_num(cells).astype(np.int64) for cells in (present, levels))
        if len(group) > 1:
            lacks = np.isnan(self.subject.features.values[at])
            lost = lacks[end] & ~(lacks[start] & (start >= 0)[..., None])  # below 0: a joint value of the row's own
            return np.asarray(~lost.any(axis=-1))
        if group[0] not in moves:
            return np.ones(np.broadcast_shapes(present.shape, levels.shape), dtype=bool)
        allowed = moves[group[0]]
        is_unknown = np.isnan(present) | (start >= len(allowed))  # a level that the reference data do not have
        return allowed[np.minimum(start, len(allowed) - 1), end] | is_unknown

    def like(self, own: Array) -> Flags | None:
        """(n, a) whether rows are like the reference rows that have each value that stands apart.

        They are where a third of the 20 nearest reference rows have it, by all other features.
        """
        if not self.apart:
            return None
        gaps = [self.metric.gap(own[:, at, None], self.donors[:, at], at) for at in range(own.shape[1])]
        total, found = np.sum(gaps, axis=0), []
        for at, code in self.apart:
            nearest = np.argsort(total - gaps[at], axis=1, kind="stable")[:, :N_NEAR]
            found.append((self.donors[nearest, at] == code).mean(axis=1) >= LIKE)
        return np.column_stack(found)


def choose_frequent(levels: Array, background: Array, most: int) -> Array:
    """The most frequent of (k,) levels, where there are more than so many."""
    if len(levels) <= most:
        return levels
    counts = np.array([(background == level).sum() for level in levels])
    return np.sort(levels[np.argsort(-counts, kind="stable")[:most]])


def find_bulk(cells: Array) -> tuple[float, float, list[float]]:
    """The ends of the values of a number without those that stand apart, and of these the common ones.

    A value stands apart where it is the lowest or the highest, and either far from the next value (1.5 mean absolute
    deviations of the rest) or far more frequent than its neighbours (5 times): a 0 that stands for a missing blood
    pressure, or 999 for an unknown number of days.
    """
    values, counts = np.unique(cells[~np.isnan(cells)], return_counts=True)
    codes = []
    for end in (0, -1):
        if len(values) < 5:
            break
        rest = np.delete(np.arange(len(values)), end)
        inner = np.repeat(values[rest], counts[rest])
        spread = np.abs(inner - np.median(inner)).mean()
        beside = rest[:10] if end == 0 else rest[-10:]
        gap = abs(values[end] - values[rest][end])
        share = counts[end] / counts.sum()
        if gap > FAR * spread or (share >= COMMON and counts[end] > SPIKE * counts[beside].max()):
            codes += [float(values[end])] * bool(share >= COMMON)
            values, counts = values[rest], counts[rest]
    return float(values[0]), float(values[-1]), codes


def find_lattice(subject: Subject, single: Integers) -> tuple[Array, Array]:
    """(f,) step of new values and decimals to write them with: as declared, as in the data, or a part of the spread."""
    space = subject.features.space
    declared = np.where(single >= 0, subject.rules.steps[single], 0.0)
    natural = np.where(space.resolution > 0, find_divisors(space) / np.maximum(space.resolution, 1.0), 0.0)
    fine = 10.0 ** np.floor(np.log10(np.maximum(space.scales / FINEST, 1e-300)))
    step = np.where(declared > 0, declared, np.where(natural > 0, natural, fine))
    fine_digits = np.where(natural > 0, np.log10(np.maximum(space.resolution, 1.0)), np.ceil(-np.log10(step) - 1e-9))
    digits = np.where(declared > 0, 6 - np.floor(np.log10(step)), fine_digits)
    return step, np.maximum(digits, 0.0)


def find_divisors(space: FeatureSpace) -> Array:
    """(f,) the largest number of units that all values of each number are multiples of: 500 where loans are written so.

    A value that stands for something missing does not count.
    """
    found = np.ones(len(space.columns))
    for at in np.flatnonzero(~space.discrete & (space.resolution > 0)).tolist():
        values = np.unique(space.background[:, at])
        values = values[~np.isnan(values)]
        if len(values) > MOST_VALUES:
            low, high, _ = find_bulk(space.background[:, at])
            units = np.rint(values[(values >= low) & (values <= high)] * space.resolution[at]).astype(np.int64)
            found[at] = max(1, int(np.gcd.reduce(units)))
    return found
