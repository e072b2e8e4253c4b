"""Contestants take turns, in one process: what slows the machine down slows all of them down."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

LEAST = 0.05  # seconds of a turn: shorter calls are repeated
ONE_THREAD = dict.fromkeys(  # read by the libraries of linear algebra when they are loaded
    ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS"), "1"
)


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
