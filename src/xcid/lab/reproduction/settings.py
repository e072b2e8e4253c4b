"""How much is run."""

from __future__ import annotations

from dataclasses import dataclass

from xcid.errors import InvalidParameter


@dataclass(frozen=True, slots=True)
class Settings:
    """Rows and repeats of the experiments; the paper's by default.

    Parameters
    ----------
    rows : int or None
        Rows of each test set, from the first on; None for all of them.
    repeats : int
        Runs of the methods that draw counterfactuals; their scores are averaged.
    first_row_repeats : int
        Runs of the first test entry, whose distribution Figure 2 shows.
    dice_genetic_rows : int
        Rows for dice-ml's own genetic method, which takes seconds a row; 0 leaves it out.
    m : int
        Counterfactuals of each kind.
    k : int
        Features of a top set.
    """

    rows: int | None = None
    repeats: int = 10
    first_row_repeats: int = 100
    dice_genetic_rows: int = 20
    m: int = 50
    k: int = 4

    def __post_init__(self) -> None:
        least = {"rows": 2, "repeats": 1, "first_row_repeats": 2, "dice_genetic_rows": 0, "m": 2, "k": 1}
        for name, bound in least.items():
            value = getattr(self, name)
            if value is not None and value < bound:
                raise InvalidParameter(f"{name} must be at least {bound}, not {value}")
        if self.dice_genetic_rows == 1:
            raise InvalidParameter("dice_genetic_rows must be 0 or at least 2: one row has no interval")

    @classmethod
    def full(cls) -> Settings:
        """The whole test sets and the paper's repeats; some twenty minutes, most of it in dice-ml."""
        return cls()

    @classmethod
    def quick(cls) -> Settings:
        """A few rows and repeats: all pages in about a minute, with wide intervals."""
        return cls(rows=12, repeats=2, first_row_repeats=10, dice_genetic_rows=2)
