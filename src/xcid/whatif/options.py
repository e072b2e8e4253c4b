"""What the features of rows may become, what that costs, and what a model that was read sees of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from xcid._kernels.arrays import thinned
from xcid.native.models import Alone
from xcid.native.trees import Trees
from xcid.records import Array, Flags, Integers
from xcid.whatif.evaluator import Evaluator
from xcid.whatif.search_space import SearchSpace

MOST_VALUES, MOST_LINEAR = 2**12, 2**16  # of a number that are options one by one, and where what they add is a line
SOME = 33  # values by which a line is recognised


class Options(NamedTuple):
    """What a feature may become: (K,) values, what (K, m) columns of the model become, and which those are."""

    at: int
    values: Array
    cells: Array
    columns: Integers


@dataclass(frozen=True, slots=True, eq=False)
class View:
    """A model and the features of a block of rows: from values to what the model computes with."""

    evaluator: Evaluator
    native: Alone
    owner: Integers  # (m,) the feature that each of the model's columns is made of
    own: Array  # (n, m) cells of the rows
    like: Flags | None  # (n, a) rows that are like those with each value that stands apart

    @staticmethod
    def of(evaluator: Evaluator, native: Alone) -> View:
        """Look at the rows of a block."""
        owner = native.seen.owners(evaluator.search_space.subject.features.columns)
        like = evaluator.search_space.like(evaluator.own)
        return View(evaluator, native, owner, native.seen.counted(evaluator.table), like)

    def options(self, at: int, values: Array) -> Options:
        """What the model sees of values of a feature; a line through some where that is what it sees of them."""
        columns = np.flatnonzero(self.owner == at)
        if not len(values):
            return Options(at, values, np.zeros((0, len(columns))), columns)
        some = values[thinned(len(values), SOME)] if len(values) > SOME else values
        cells = self._evaluated(at, some)[:, columns]
        if len(some) < len(values):
            with np.errstate(all="ignore"):  # ends without a line between them give none
                slope = (cells[-1] - cells[0]) / (some[-1] - some[0])
                start = cells[0] - slope * some[0]
            if np.allclose(cells, start + slope * some[:, None], rtol=1e-12, atol=1e-12):
                return Options(at, values, start + slope * values[:, None], columns)
            cells = self._evaluated(at, values)[:, columns]
        return Options(at, values, cells, columns)

    def _evaluated(self, at: int, values: Array) -> Array:
        """(K, m) cells of the first row with other values of a feature."""
        evaluator = self.evaluator
        rows = np.repeat(evaluator.own[:1], len(values), axis=0)
        rows[:, at] = values
        first = np.zeros(len(values), dtype=np.int64)
        subject = evaluator.search_space.subject
        return self.native.seen.counted(subject.features.unfold(rows, evaluator.table, first))

    def costs(self, options: Options, rows: slice) -> Array:
        """(b, K) what options cost the rows of a part of the block; infinity for those that they may not become."""
        evaluator, at = self.evaluator, options.at
        search_space, own = evaluator.search_space, evaluator.own[rows]
        if search_space.fixed[at] or not len(options.values):
            return np.full((len(own), len(options.values)), np.inf)
        cost = search_space.gaps(options.values[None], own[:, at, None], at)
        like = None if self.like is None else self.like[rows]
        return np.where(_allowed(search_space, options, own, like), cost, np.inf)


def is_line(options: Options) -> bool:
    """Whether what the model sees of values lies on a line, but for codes that stand apart at the ends."""
    values, cells = options.values, options.cells
    slope = (cells[-1] - cells[0]) / (values[-1] - values[0])
    return bool(np.allclose(cells, cells[0] + slope * (values - values[0])[:, None], rtol=1e-9, atol=1e-9))


def _allowed(search_space: SearchSpace, options: Options, own: Array, like: Flags | None) -> Flags:
    """(b, K) which options (b, f) rows have."""
    at, values = options.at, options.values[None]
    low, high = (end[:, None] for end in search_space.limits(own, at))
    there = (values >= low) & (values <= high)
    if search_space.subject.features.space.discrete[at]:
        return there & search_space.may_become(own[:, at, None], values, at)
    direction = search_space.subject.features.space.direction[at]
    for place, (feature, code) in enumerate(search_space.apart):
        if feature == at and like is not None:
            fits = like[:, place] & (direction * (code - own[:, at]) >= 0)
            there |= (values == code) & fits[:, None]
    return there


def plausible_values(search_space: SearchSpace, at: int, most: int) -> Array | None:
    """All values that a search may give a feature; None where a number has more than that."""
    space = search_space.subject.features.space
    if search_space.fixed[at]:
        return np.zeros(0)
    if space.discrete[at]:
        return np.asarray(space.distinct.values[: space.distinct.sizes[at], at])
    multiples = _multiples(search_space, at)
    if multiples is None:
        return _with_codes(search_space, at, np.asarray(search_space.few[at]))
    if multiples[1] - multiples[0] > most:
        return None
    return _with_codes(search_space, at, _on_lattice(search_space, at, np.arange(multiples[0], multiples[1] + 1)))


def spread_values(search_space: SearchSpace, at: int, count: int) -> Array:
    """So many of the plausible values of a number with more, both ends among them."""
    ends = _multiples(search_space, at) or (0.0, 0.0)
    multiples = np.unique(np.rint(np.linspace(*ends, count)))
    return _with_codes(search_space, at, _on_lattice(search_space, at, multiples))


def values_beside(view: View, at: int, thresholds: Array, column: int) -> Array | None:
    """Of a number with very many values those on both sides of each threshold of what the model sees of it.

    None where that does not rise with the number. The nearest of a cell is at one of its ends, or the usual.
    """
    search_space = view.evaluator.search_space
    ends = _multiples(search_space, at)
    core = view.native.core
    if ends is None or not isinstance(core, Trees):
        return None

    def seen(multiples: Array) -> Array:
        found = view.options(at, _on_lattice(search_space, at, multiples))
        full = np.repeat(view.own[:1], len(multiples), axis=0)
        full[:, found.columns] = found.cells
        return np.asarray(core.compared(full)[:, column])

    rising = seen(np.linspace(ends[0], ends[1], 257).round())
    if not np.all(np.diff(rising) >= 0):
        return None
    below, above = np.full(len(thresholds), ends[0] - 1.0), np.full(len(thresholds), ends[1] + 1.0)
    guess = np.clip(np.floor(thresholds / search_space.step[at]), ends[0] + 1.0, ends[1] - 2.0)
    for near in (guess - 1, guess + 2):  # right where numbers come before the model as they are
        is_below = seen(near) <= thresholds
        below, above = np.where(is_below, np.fmax(near, below), below), np.where(is_below, above, np.fmin(near, above))
    while np.any(above - below > 1):
        middle = np.clip(np.floor((below + above) / 2), ends[0], ends[1])
        is_below = seen(middle) <= thresholds
        is_open = above - below > 1
        below, above = np.where(is_open & is_below, middle, below), np.where(is_open & ~is_below, middle, above)
    chosen = np.unique(np.clip(np.concatenate([below, above, ends]), *ends))
    values = _on_lattice(search_space, at, chosen)
    return _with_codes(search_space, at, np.append(values, search_space.usual[at]))


def _multiples(search_space: SearchSpace, at: int) -> tuple[float, float] | None:
    """The least and the largest plausible multiple of a step; None for a number with few values."""
    if search_space.few[at] is not None:
        return None
    step = search_space.step[at]
    first = np.ceil(search_space.lower[at] / step - 1e-9)
    return float(first), float(max(first - 1, np.floor(search_space.upper[at] / step + 1e-9)))


def _on_lattice(search_space: SearchSpace, at: int, multiples: Array) -> Array:
    low, high = search_space.lower[at : at + 1], search_space.upper[at : at + 1]
    return search_space.fit_values(np.asarray(multiples, dtype=np.float64) * search_space.step[at], at, low, high)


def _with_codes(search_space: SearchSpace, at: int, values: Array) -> Array:
    """Values that stand apart beside the plausible ones, in order."""
    found: Array = np.unique(np.append(values, [code for feature, code in search_space.apart if feature == at]))
    return found[~np.isnan(found)]
