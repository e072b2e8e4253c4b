"""How much is timed, and how: contestants take turns in one process, so that a slow machine slows all of them down."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

LEAST = 0.05  # seconds of a turn: shorter calls are repeated
ONE_THREAD = dict.fromkeys(  # read by the libraries of linear algebra when they are loaded
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)
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
    whole_rows: int = 50_000  # of the table that whole runs begin with
    whole_reported: int = 2_000
    whole_rounds: int = 2
    whole_before: str = "b685700"  # the commit that whole runs are compared with
    sized_rows: tuple[int, ...] = (1, 10, 100, 1_000, 10_000, 100_000)  # in processes of their own
    sized_columns: tuple[int, ...] = (8, 16, 20, 32, 64, 100, 300, 1_000, 3_000)
    sized_reference: tuple[int, ...] = (100, 1_000, 10_000, 100_000, 1_000_000)
    sized_trees: tuple[int, ...] = (100, 300, 1_000, 5_000)
    sized_classes: tuple[int, ...] = (2, 5, 10, 30, 100)
    tree_tables: tuple[str, ...] = ("diabetes", "heart", "30")  # that trees are read on
    tree_models: tuple[str, ...] = ("forest", "extra trees", "boosting", "histogram boosting")
    tree_rows: int = 256  # that are explained by reading at a time
    tree_peer_rows: int = 64  # that others explain at a time by reading

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
    whole_rows=5_000,
    whole_reported=100,
    whole_rounds=1,
    sized_rows=(1, 100, 10_000),
    sized_columns=(8, 20, 300),
    sized_reference=(100, 10_000),
    sized_trees=(100, 300),
    sized_classes=(2, 10),
    tree_tables=("diabetes",),
    tree_models=("forest",),
)
FULL = Extent(  # wide tables, large m and a million streamed rows: the better part of an hour
    name="full",
    rows=1_000,
    stack_sizes=(50, 500, 2_000),
    tables=("diabetes", "heart", "30", "100", "1000"),
    growing_samples=(1_000, 2_000, 4_000, 8_000, 16_000),
    streamed_rows=(100_000, 1_000_000),
    tree_tables=("diabetes", "heart", "30", "57", "200"),
)
EXTENTS = {extent.name: extent for extent in (QUICK, Extent(), FULL)}


class Contestant(NamedTuple):
    """Something to be timed."""

    name: str
    call: Callable[[], Any]
    units: float = 1.0  # rows (or whatever is counted) that one call does
    warm: Callable[[], Any] | None = None  # a shorter call that fills all that is kept; by default the call itself


class Timing(NamedTuple):
    """Seconds a unit, one for each round: on the clock, and of the processor."""

    wall: tuple[float, ...]
    cpu: tuple[float, ...]

    @property
    def seconds(self) -> float:
        """Median of the processor's."""
        return float(np.median(self.cpu))

    @property
    def elapsed(self) -> float:
        """Median of the clock's."""
        return float(np.median(self.wall))


def race(contestants: Sequence[Contestant], rounds: int, least: float = LEAST) -> dict[str, Timing]:
    """Warm all contestants up, then let them take turns."""
    repeats = [_repeats(each, least) for each in contestants]
    times: dict[str, list[tuple[float, float]]] = {each.name: [] for each in contestants}
    for _ in range(rounds):
        for each, count in zip(contestants, repeats, strict=True):
            times[each.name].append(_turn(each, count))
    return {name: Timing(*zip(*found, strict=True)) for name, found in times.items()}


def _repeats(contestant: Contestant, least: float) -> int:
    """How often a call has to be repeated for a turn of at least so many seconds."""
    (contestant.warm or contestant.call)()
    if contestant.warm is not None:
        return 1
    wall, _ = _turn(contestant, 1)
    return max(1, math.ceil(least / max(wall * contestant.units, 1e-9)))


def _turn(contestant: Contestant, count: int) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    for _ in range(count):
        contestant.call()
    total = count * contestant.units
    return (time.perf_counter() - wall) / total, (time.process_time() - cpu) / total


def ratio(slow: Timing, fast: Timing) -> float:
    """How many times faster, in processor time: the median over rounds."""
    return float(np.median(np.array(slow.cpu) / np.array(fast.cpu)))


def wall_ratio(slow: Timing, fast: Timing) -> float:
    """How many times faster by the clock, for what runs on several cores: the median over rounds."""
    return float(np.median(np.array(slow.wall) / np.array(fast.wall)))


def is_limited() -> bool:
    """Whether this process was started with one thread for linear algebra."""
    return all(os.environ.get(name) == value for name, value in ONE_THREAD.items())
