"""What is run, and how much of it."""

from __future__ import annotations

from dataclasses import dataclass

from xcid._check import as_int
from xcid.errors import InvalidParameter

SUBJECTS = {"diabetes": "logistic", "heart": "forest"}
MODEL_SEED = 42
LEAST = {"rows": 2, "repeats": 1, "first_row_repeats": 2, "dice_genetic_rows": 0, "m": 2, "k": 1}


@dataclass(frozen=True, slots=True)
class Settings:
    """Rows and repeats of the experiments; the paper's by default."""

    rows: int | None = None  # of each test set, from the first on; None for all of them
    repeats: int = 10  # runs of the methods that draw counterfactuals; their scores are averaged
    first_row_repeats: int = 100  # runs of the first test entry, whose distribution Figure 2 shows
    dice_genetic_rows: int = 20  # for dice-ml's own genetic method, which takes seconds a row; 0 leaves it out
    m: int = 50  # counterfactuals of each kind
    k: int = 4  # features of a top set

    def __post_init__(self) -> None:
        for name, bound in LEAST.items():
            if getattr(self, name) is not None:
                as_int(getattr(self, name), name, at_least=bound)
        if self.dice_genetic_rows == 1:
            raise InvalidParameter("dice_genetic_rows must be 0 or at least 2: one row has no interval")

    @classmethod
    def full(cls) -> Settings:
        """All test rows and the paper's repeats; some twenty minutes, most of it in dice-ml."""
        return cls()

    @classmethod
    def quick(cls) -> Settings:
        """A few rows and repeats: all pages in about a minute, with wide intervals."""
        return cls(rows=12, repeats=2, first_row_repeats=10, dice_genetic_rows=2)
