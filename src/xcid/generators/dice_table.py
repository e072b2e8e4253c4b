"""What dice-ml sees of a row, and how its answers are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from xcid._require import require
from xcid.generators.reach import Reach
from xcid.records import Array, Integers

Method: TypeAlias = Literal["random", "genetic", "kdtree", "gradient"]
DIGITS = 6  # of a number that has no lattice
MISSING = "missing"  # the name of a missing level


@dataclass(frozen=True, slots=True, eq=False)
class DiceTable:
    """What dice-ml sees of one row: a frame of the features that may change; levels are words.

    Attributes
    ----------
    reach : Reach
        Of the one row.
    features : (k,)
        The features of the frame.
    frame, query : DataFrame
        The background, with the row itself behind it, and the row.
    """

    reach: Reach
    features: Integers
    frame: Any
    query: Any

    @staticmethod
    def of(reach: Reach, method: Method) -> DiceTable:
        """Fill a frame with what the row may change to: its own value stands for what is not allowed."""
        pandas, space = require("pandas", extra="dice"), reach.space
        own = reach.rows[0]
        levels = np.where(reach.holds(space.background[None])[0], space.background, own)
        numbers = reach.fitted(np.where(np.isnan(space.background), own, space.background)[None])[0]
        cells = np.where(space.discrete, levels, numbers)
        clipped = np.where(space.discrete, own, reach.fitted(own[None, None])[0, 0])
        cells = np.concatenate([cells, clipped[None]])
        varies = np.array([len(np.unique(column)) > 1 for column in cells.T])
        hidden = np.where(space.discrete, method == "gradient", np.isnan(own))
        order = np.lexsort((space.rank, space.discrete))  # dice-ml mixes up decimals where levels come before numbers
        features = order[((reach.total[0] > 0) & varies & ~hidden)[order]]
        columns = {_name(at): _words(cells[:, at]) if space.discrete[at] else cells[:, at] for at in features}
        query = {_name(at): _words(own[[at]]) if space.discrete[at] else own[[at]] for at in features}
        return DiceTable(reach, features, pandas.DataFrame(columns), pandas.DataFrame(query))

    @property
    def own(self) -> Array:
        """(f,) the row."""
        return self.reach.rows[0]

    @property
    def numbers(self) -> list[str]:
        """Names of the features that are numbers."""
        return [_name(at) for at in self.features if not self.reach.space.discrete[at]]

    @property
    def decimals(self) -> dict[str, int]:
        """Decimals of each number; without them dice-ml fails on some floats."""
        lattice, span = self.reach.space.resolution, self.frame[self.numbers].max() - self.frame[self.numbers].min()
        return {
            _name(at): round(np.log10(lattice[at]))
            if lattice[at] > 0
            else max(1, round(DIGITS - np.log10(span[_name(at)])))
            for at in self.features
            if not self.reach.space.discrete[at]
        }

    def decode(self, frame: Any) -> Array:
        """(c, f) samples: in range, on the lattice, and the row's own value where only single precision differs."""
        samples = np.repeat(self.own[None], len(frame), axis=0)
        for at in self.features:
            cells = frame[_name(at)].to_numpy()
            if self.reach.space.discrete[at]:
                samples[:, at] = [np.nan if cell == MISSING else float(cell) for cell in cells]
            else:
                samples[:, at] = cells.astype(np.float64)
        return self.placed(samples)

    def placed(self, samples: Array) -> Array:
        """Put numbers where they may lie."""
        same = (samples.astype(np.float32) == self.own.astype(np.float32)) | np.isnan(self.own)
        moved = np.isin(np.arange(len(self.own)), self.features)
        kept = ~moved | (same & ~self.reach.space.discrete)
        return np.where(kept, self.own, self.reach.fitted(samples[None])[0])


def _name(feature: int) -> str:
    """A name that no other begins with: dice-ml finds the levels of a feature by the beginnings of names."""
    return f"<{feature}>"


def _words(codes: Array) -> list[str]:
    return [MISSING if np.isnan(code) else f"{code:.0f}" for code in codes]
