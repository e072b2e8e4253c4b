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
    """What dice-ml sees of one row: a frame of the features that may change; levels are text."""

    reach: Reach  # of the one row
    features: Integers  # (k,) those of the frame
    frame: Any  # the background, with the row itself behind it
    query: Any  # the row

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
        frame, query = (
            pandas.DataFrame({_name(at): _text(part[:, at]) if space.discrete[at] else part[:, at] for at in features})
            for part in (cells, own[None])
        )
        return DiceTable(reach, features, frame, query)

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
        resolution, numbers = self.reach.space.resolution, self.frame[self.numbers]
        span = numbers.max() - numbers.min()
        steps = {_name(at): resolution[at] for at in self.features}
        return {
            name: round(np.log10(steps[name])) if steps[name] > 0 else max(1, round(DIGITS - np.log10(span[name])))
            for name in self.numbers
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
        same = (samples.astype(np.float32) == self.own.astype(np.float32)) | np.isnan(self.own)
        moved = np.isin(np.arange(len(self.own)), self.features)
        kept = ~moved | (same & ~self.reach.space.discrete)
        return np.where(kept, self.own, self.reach.fitted(samples[None])[0])


def _name(feature: int) -> str:
    """A name that no other begins with: dice-ml finds the levels of a feature by the beginnings of names."""
    return f"<{feature}>"


def _text(codes: Array) -> list[str]:
    return [MISSING if np.isnan(code) else f"{code:.0f}" for code in codes]
