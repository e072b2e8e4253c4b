"""What dice-ml sees of a row, and how its answers are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from xcid._data import Array, Flags, Integers
from xcid._require import require
from xcid.generators.steps import Moves

Method: TypeAlias = Literal["random", "genetic", "kdtree", "gradient"]
DIGITS = 6  # of a number that has no lattice
MISSING = "missing"  # the name of a missing level


@dataclass(frozen=True, slots=True, eq=False)
class DiceTable:
    """What dice-ml sees of one row: a frame of the features that may change; levels are words.

    Attributes
    ----------
    moves : Moves
        Of the one row.
    features : (k,)
        The features of the frame.
    frame, query : DataFrame
        The background, with the row itself behind it, and the row.
    """

    moves: Moves
    features: Integers
    frame: Any
    query: Any

    @staticmethod
    def of(moves: Moves, method: Method) -> DiceTable:
        """Fill a frame with what the row may change to: its own value stands for what is not allowed."""
        pandas, space = require("pandas", extra="dice"), moves.space
        own, allowed = moves.rows[0], _allowed(moves)
        cells = np.where(allowed, space.background, own)
        numbers = moves.fitted(np.where(np.isnan(space.background), own, space.background)[None])[0]
        cells = np.where(space.discrete, cells, numbers)
        clipped = np.where(space.discrete, own, moves.fitted(own[None, None])[0, 0])
        cells = np.concatenate([cells, clipped[None]])
        varies = np.array([len(np.unique(column)) > 1 for column in cells.T])
        hidden = np.where(space.discrete, method == "gradient", np.isnan(own))
        order = np.lexsort((space.rank, space.discrete))  # dice-ml mixes up decimals where levels come before numbers
        features = order[((moves.n_values[0] > 0) & varies & ~hidden)[order]]
        columns = {_name(at): _words(cells[:, at]) if space.discrete[at] else cells[:, at] for at in features}
        query = {_name(at): _words(own[[at]]) if space.discrete[at] else own[[at]] for at in features}
        return DiceTable(moves, features, pandas.DataFrame(columns), pandas.DataFrame(query))

    @property
    def own(self) -> Array:
        """(f,) the row."""
        return self.moves.rows[0]

    @property
    def numbers(self) -> list[str]:
        """Names of the features that are numbers."""
        return [_name(at) for at in self.features if not self.moves.space.discrete[at]]

    @property
    def decimals(self) -> dict[str, int]:
        """Decimals of each number; without them dice-ml fails on some floats."""
        lattice, span = self.moves.space.resolution, self.frame[self.numbers].max() - self.frame[self.numbers].min()
        return {
            _name(at): round(np.log10(lattice[at]))
            if lattice[at] > 0
            else max(1, round(DIGITS - np.log10(span[_name(at)])))
            for at in self.features
            if not self.moves.space.discrete[at]
        }

    def decode(self, frame: Any) -> Array:
        """(c, f) samples: in range, on the lattice, and the row's own value where only single precision differs."""
        samples = np.repeat(self.own[None], len(frame), axis=0)
        for at in self.features:
            cells = frame[_name(at)].to_numpy()
            if self.moves.space.discrete[at]:
                samples[:, at] = [np.nan if cell == MISSING else float(cell) for cell in cells]
            else:
                samples[:, at] = cells.astype(np.float64)
        return self.placed(samples)

    def placed(self, samples: Array) -> Array:
        """Put numbers where they may lie."""
        same = (samples.astype(np.float32) == self.own.astype(np.float32)) | np.isnan(self.own)
        moved = np.isin(np.arange(len(self.own)), self.features)
        kept = ~moved | (same & ~self.moves.space.discrete)
        return np.where(kept, self.own, self.moves.fitted(samples[None])[0])


def _allowed(moves: Moves) -> Flags:
    """(N, f) cells of the background that the row may take."""
    space, cells = moves.space, moves.space.background
    missing = (space.pools.n_missing > 0) & (space.direction == 0)
    allowed = np.zeros(cells.shape, dtype=bool)
    for at, size in enumerate(space.pools.sizes):
        inside = (cells[:, at] >= moves.low[0, at]) & (cells[:, at] <= moves.high[0, at])
        allowed[:, at] = inside & np.isin(cells[:, at], space.pools.values[:size, at])
    return allowed | (np.isnan(cells) & missing)


def _name(feature: int) -> str:
    """A name that no other begins with: dice-ml finds the levels of a feature by the beginnings of names."""
    return f"<{feature}>"


def _words(codes: Array) -> list[str]:
    return [MISSING if np.isnan(code) else f"{code:.0f}" for code in codes]
