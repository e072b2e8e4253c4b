"""Exact Shapley values against all reference rows, of models that add up: nothing is sampled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from threading import RLock
from typing import Any, NamedTuple, TypeAlias
from weakref import WeakKeyDictionary

import numpy as np

from xcid.native import boosters, models
from xcid.native.ensemble import averaged, averaged_pair, single_logistic, single_several
from xcid.native.library import whole
from xcid.native.models import Alone, Combined, Linear, Link, by_odds, doubled, first, logistic, several
from xcid.native.seen import Room, Seen
from xcid.native.terms import Compiled, Plain, Reference
from xcid.native.trees import Trees
from xcid.records import Array, Integers

LOG_ODDS, MARGINS, PROBABILITY, NUMBER = "log_odds", "margins", "probability", "number"
SCALES: dict[Link, str] = {
    **dict.fromkeys((logistic, single_logistic, by_odds), LOG_ODDS),
    **dict.fromkeys((several, single_several), MARGINS),
    first: NUMBER,
}
MOST_WORK, MOST_PLAIN_WORK = 2**30, 2**22  # leaves by reference rows: some 3 s to prepare, and some .7 s by NumPy
MOST_DEEP = 2**17  # leaves below more than SHALLOW levels: for more there is no room, and sampling is faster
SHALLOW, DEEPEST = 6, 63  # levels whose terms are short tables, and levels that the compiled form goes down
Players: TypeAlias = Sequence[Sequence[int]]


class LinkScale(NamedTuple):
    """How (k,) sums become the (q,) numbers in which a model adds up: by a (k, q) matrix, from a (q,) start."""

    name: str
    matrix: Array
    start: Array


def scale_of(link: Any, n_sums: int) -> LinkScale | None:
    """The scale on which a model adds up; None where there is none, as with outputs that are exponentials of sums."""
    same, zeros = np.eye(n_sums), np.zeros(n_sums)
    if not isinstance(link, partial):
        if link is doubled:
            return LinkScale(LOG_ODDS, 2 * same, zeros)
        if SCALES.get(link) == MARGINS and n_sums == 2:
            return LinkScale(LOG_ODDS, np.array([[-1.0], [1.0]]), np.zeros(1))
        return LinkScale(SCALES[link], same, zeros) if link in SCALES else None
    if link.func is averaged:
        return LinkScale(NUMBER if n_sums == 1 else PROBABILITY, same / link.args[0], zeros)
    if link.func is averaged_pair:
        return LinkScale(PROBABILITY, np.array([[-1.0, 1.0]]) / link.args[0], np.array([1.0, 0.0]))
    if link.func is boosters.steep:
        return LinkScale(LOG_ODDS, link.args[0] * same, zeros)
    found = scale_of(link.args[1], n_sums) if link.func is boosters.scaled else None
    return None if found is None else found._replace(matrix=link.args[0] * found.matrix)


@dataclass(frozen=True, slots=True, eq=False, weakref_slot=True)
class Summand:
    """One model that adds up, and the reference rows that it is explained by.

    What is prepared is made once, when it is first needed, and kept apart from the record, as long as that is in use.
    """

    seen: Seen
    core: Trees | Linear
    background: Array
    shares: Array
    features: tuple[tuple[int, ...], ...]

    def values(self, rows: Array) -> Array:
        """(n, f, k) what features add to the sums of (n, d) rows."""
        found: Array = self._prepared()(self._compared(rows))
        return found

    def pairs(self, rows: Array) -> Array:
        """(n, f, f, k) what two features add together to the sums of (n, d) rows beyond the sum of both."""
        found: Array = self._prepared().pairs(self._compared(rows))
        return found

    @property
    def base(self) -> Array:
        """(k,) the mean sums of the reference rows."""
        found: Array = self._prepared().base
        return found

    def is_feasible(self) -> bool:
        """Whether there is little enough to do."""
        if isinstance(self.core, Linear):
            return True
        leaves = _leaves(self.core)
        work = sum(leaves) * len(self.background)
        if whole() is None or len(leaves) > DEEPEST + 1:
            return work <= MOST_PLAIN_WORK
        return work <= MOST_WORK and sum(leaves[SHALLOW + 1 :]) <= MOST_DEEP

    def with_room(self, room: Room) -> Summand:
        """The same for rows of more levels; what is prepared of the reference rows serves both."""
        found = replace(self, seen=self.seen.with_room(room))
        with _LOCK:
            _MADE[found] = self._prepared()
        return found

    def _compared(self, rows: Array) -> Array:
        cells = self.seen.counted(rows)
        return cells if isinstance(self.core, Linear) else self.core.compared(cells)

    def _prepared(self) -> Any:
        with _LOCK:
            found = _MADE.get(self)
            if found is None:
                found = _MADE[self] = self._prepare()
            return found

    def _prepare(self) -> Any:
        owner, cells, n_players = self.seen.owners(self.features), self._compared(self.background), len(self.features)
        if isinstance(self.core, Linear):
            return Added(self.core.weights, self.core.start, self.shares @ cells, owner, n_players)
        player = np.concatenate([owner, owner[self.core.indicators.source]])
        reference = Reference(cells, self.shares, player, n_players, len(self.core.ensemble.base))
        library, walk = whole(), self.core.walk
        if library is None or len(_leaves(self.core)) > DEEPEST + 1:
            made: Compiled | Plain = Plain(walk, reference)
        else:
            made = Compiled(library, walk, reference)
        made.base += self.core.ensemble.base
        return made


_LOCK = RLock()
_MADE: WeakKeyDictionary[Summand, Any] = WeakKeyDictionary()


class Added:
    """Columns that are added up with (m, k) weights."""

    def __init__(self, weights: Array, start: Array, mean: Array, owner: Integers, n_players: int) -> None:
        self.base = mean @ weights + start
        self._weights, self._mean, self._n_players = weights, mean, n_players
        self._order = np.argsort(owner, kind="stable")
        self._players, self._starts = np.unique(owner[self._order], return_index=True)

    def __call__(self, cells: Array) -> Array:
        """(n, f, k) values of (n, m) cells."""
        found = np.zeros((len(cells), self._n_players, self._weights.shape[1]))
        if len(self._order):
            each = (cells - self._mean)[:, self._order, None] * self._weights[self._order]
            found[:, self._players] = np.add.reduceat(each, self._starts, axis=1)
        return found

    def pairs(self, cells: Array) -> Array:
        """(n, f, f, k) interactions of (n, m) cells: there are none."""
        return np.zeros((len(cells), self._n_players, self._n_players, self._weights.shape[1]))


def _leaves(trees: Trees) -> list[int]:
    """How many leaves lie at each level, from the roots down to the deepest."""
    at, found = trees.walk.roots, list[int]()
    while len(at):
        inner = at[trees.walk.left[at] != at]
        found.append(len(at) - len(inner))
        at = np.concatenate([trees.walk.left[inner], trees.walk.right[inner]])
    return found


@dataclass(frozen=True, slots=True, eq=False)
class Exact:
    """Shapley values of a model that was read, against all reference rows.

    Attributes
    ----------
    scale : str
        What values add up on: "log_odds" of the second of two classes, "margins" of several, "probability" of each
        class, or "number".
    parts : tuple of Summand
        The models whose sums are added up.
    matrices : tuple of (k, q) arrays
        How the sums of each become numbers on the scale.
    start : (q,)
        What is added to them.
    """

    scale: str
    parts: tuple[Summand, ...]
    matrices: tuple[Array, ...]
    start: Array

    @classmethod
    def of(cls, native: Any, background: Array, weights: Array | None, players: Players) -> Exact | None:
        """Look whether a model adds up on a scale, by (R, d) reference rows and the columns of each player.

        None where it does not, or where there is too much to do.
        """
        shares = np.ones(len(background)) if weights is None else np.asarray(weights, dtype=np.float64)
        features = tuple(tuple(map(int, columns)) for columns in players)
        found = _list_summands(native, background, shares / shares.sum(), features)
        if not found or any(one.scale.name != found[0].scale.name for one in found):
            return None
        if not all(one.part.is_feasible() for one in found):
            return None
        start = sum((one.share * one.scale.start for one in found), np.zeros(1))
        matrices = tuple(one.share * one.scale.matrix for one in found)
        return cls(found[0].scale.name, tuple(one.part for one in found), matrices, start)

    def __call__(self, rows: Array) -> tuple[Array, Array]:
        """(n, f, q) values of (n, d) rows, and (q,) base values: with these they add up to the outputs on the scale."""
        pairs = list(zip(self.parts, self.matrices, strict=True))
        values = sum((part.values(rows) @ matrix for part, matrix in pairs), np.zeros(1))
        return values, sum((part.base @ matrix for part, matrix in pairs), self.start)

    def with_room(self, room: Room) -> Exact:
        """The same for rows of more levels."""
        return replace(self, parts=tuple(part.with_room(room) for part in self.parts))

    def pairs(self, rows: Array) -> Array:
        """(n, f, f, q) Shapley interaction indices of (n, d) rows; 0 on the diagonal."""
        pairs = zip(self.parts, self.matrices, strict=True)
        return sum((part.pairs(rows) @ matrix for part, matrix in pairs), np.zeros(1))


class _WeightedSummand(NamedTuple):
    share: float
    part: Summand
    scale: LinkScale


def _list_summands(
    native: Any, background: Array, shares: Array, features: tuple[tuple[int, ...], ...]
) -> list[_WeightedSummand]:
    """The models that one is made of; none where it does not add up."""
    if isinstance(native, Alone) and isinstance(native.core, Trees | Linear):
        core = native.core
        link, n_sums = (
            (core.link, len(core.start)) if isinstance(core, Linear) else (core.ensemble.link, len(core.ensemble.base))
        )
        scale = scale_of(link, n_sums)
        part = Summand(native.seen, core, background, shares, features)
        return [] if scale is None else [_WeightedSummand(1.0, part, scale)]
    combine = native.combine if isinstance(native, Combined) else None
    if not isinstance(combine, partial) or combine.func is not models.averaged:
        return []
    found = list[_WeightedSummand]()
    for weight, model in zip(combine.args[0], native.models, strict=True):
        inner = _list_summands(model, background, shares, features)
        if not inner or inner[0].scale.name not in (PROBABILITY, NUMBER):
            return []
        found += [one._replace(share=one.share * weight / sum(combine.args[0])) for one in inner]
    return found
