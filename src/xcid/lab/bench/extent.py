"""How much is run."""

from __future__ import annotations

from dataclasses import dataclass

MOST_CELLS = 20_000  # of the rows that are explained at a time


@dataclass(frozen=True, slots=True)
class Extent:
    """Rows, rounds and sizes of all measurements."""

    name: str = "default"
    rounds: int = 3  # turns that the contestants of a race take
    long_rounds: int = 2  # the same where a turn takes many seconds
    rows: int = 200  # that xcid explains at a time beside its peers
    peer_rows: int = 2  # that a peer explains at a time
    stack_rows: int = 5  # that the paper's stack explains at a time
    stack_tables: tuple[str, ...] = ("diabetes", "heart")
    stack_sizes: tuple[int, ...] = (50,)  # samples of each kind, m
    tables: tuple[str, ...] = ("diabetes", "heart")  # or the number of columns of a table that is made up
    models: tuple[str, ...] = ("logistic", "forest", "boosting", "histogram boosting", "network")
    density_items: int = 100  # features of rows whose densities are estimated by scipy
    turn: float = 0.3  # seconds of a turn where growth is measured, at least
    growing_rows: tuple[int, ...] = (1_000, 10_000, 100_000)  # sizes that growth is measured over
    growing_columns: tuple[int, ...] = (10, 30, 100, 300, 1_000)
    growing_samples: tuple[int, ...] = (1_000, 2_000, 4_000, 8_000)
    growing_m: tuple[int, ...] = (50, 100, 200, 400, 800)
    streamed_rows: tuple[int, ...] = (20_000, 100_000)
    worker_rows: int = 2_000  # that two workers share

    def rows_of(self, n_columns: int) -> int:
        """Rows that xcid explains at a time; fewer of a wide table."""
        return max(1, min(self.rows, MOST_CELLS // n_columns))


QUICK = Extent(  # half a minute, and ratios that swing
    name="quick",
    rounds=2,
    long_rounds=1,
    rows=100,
    peer_rows=1,
    stack_rows=1,
    tables=("diabetes",),
    models=("logistic", "forest"),
    density_items=12,
    turn=0.1,
    growing_rows=(500, 5_000),
    growing_columns=(10, 100),
    growing_samples=(1_000, 4_000),
    growing_m=(50, 400),
    streamed_rows=(2_000, 10_000),
    worker_rows=512,
)
FULL = Extent(  # wide tables, large m and a million streamed rows: the better part of an hour
    name="full",
    rows=1_000,
    stack_sizes=(50, 500, 2_000),
    tables=("diabetes", "heart", "30", "100", "1000"),
    growing_samples=(1_000, 2_000, 4_000, 8_000, 16_000),
    streamed_rows=(100_000, 1_000_000),
)
EXTENTS = {extent.name: extent for extent in (QUICK, Extent(), FULL)}
