"""How the time of a row grows with rows, columns and samples."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from xcid.explainer import Explainer
from xcid.generators import Balanced
from xcid.records import Array
from xcid_lab.bench.record import Figure
from xcid_lab.bench.timing import Contestant, Extent, race, ratio
from xcid_lab.markdown import Table
from xcid_lab.subjects import Timed, cloud_of, linear

Point: TypeAlias = tuple[float, float, float]
"""Milliseconds a row: all of them, those outside the model, and those of the first call."""
GROUP = "growth of the time of a row"
N_BACKGROUND, N_COLUMNS = 500, 8
N_SAMPLES = 3_000  # where the number of columns grows
PER_M = 20  # samples drawn for each of the m of a kind, about
FLAT, EXPONENT = 1.1, 1.1
MOST_ROWS = 100
MOST_CELLS = 2**25  # of samples of the rows that are explained at a time


class Sweep(NamedTuple):
    """What grows while all else stays."""

    what: str
    fixed: str
    title: str
    symbol: str
    shape: Callable[[int], tuple[int, int]]  # columns and samples at a size


SWEEPS = {
    "columns": Sweep(
        "columns d", f"{N_SAMPLES:,} perturbations", "number of columns", "d", lambda size: (size, N_SAMPLES)
    ),
    "samples": Sweep(
        "perturbations n", f"d = {N_COLUMNS}", "number of perturbations", "n", lambda size: (N_COLUMNS, size)
    ),
    "m": Sweep(
        "m of the paper's setting",
        f"d = {N_COLUMNS}",
        "m, the paper's setting",
        "m",
        lambda size: (N_COLUMNS, PER_M * size),
    ),
}


def growth(extent: Extent) -> Iterator[Figure | Table]:
    """With a model that costs next to nothing."""
    yield from _over_rows(extent.growing_rows)
    for key, sweep in SWEEPS.items():
        sizes = getattr(extent, f"growing_{key}")
        points = [_point(key, *sweep.shape(size), extent.turn) for size in sizes]
        what = f"exponent in {sweep.what}, {sizes[0]:,} to {sizes[-1]:,} ({sweep.fixed})"
        found = exponent(sizes, [outside for _, outside, _ in points])
        yield Figure(f"growth/{key}", GROUP, what, found, "", "lower", EXPONENT, "time outside the model")
        lines = tuple((f"{size:,}", *point) for size, point in zip(sizes, points, strict=True))
        head = (sweep.symbol, "ms a row", "outside the model", "ms, first row")
        yield Table(f"time of a row by {sweep.title}", head, lines, "The first row also pays for what all rows share.")


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of a straight line through the logarithms.

    Examples
    --------
    >>> round(exponent([10, 100, 1000], [1.0, 4.0, 16.0]), 3)
    0.602
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _over_rows(sizes: Sequence[int]) -> Iterator[Figure | Table]:
    rows, least, most = cloud_of(max(sizes), N_COLUMNS), sizes[0], sizes[-1]
    explainer = Explainer(linear(N_COLUMNS), cloud_of(N_BACKGROUND, N_COLUMNS, seed=1))
    explainer(rows[:least])
    found = race([_first_rows(explainer, rows, size, max(1, 10 * least // size)) for size in sizes], 2)
    few, many = found[str(least)], found[str(most)]
    what = f"time of a row: {most:,} rows over {least:,}"
    detail = f"{1e3 * many.seconds:.3g} ms against {1e3 * few.seconds:.3g} ms"
    yield Figure("growth/rows", GROUP, what, ratio(many, few), "x", "lower", FLAT, detail)
    lines = tuple((f"{size:,}", 1e3 * found[str(size)].seconds) for size in sizes)
    yield Table("time of a row by number of rows", ("rows", "ms a row"), lines, f"{N_COLUMNS} columns.")


def _first_rows(explainer: Explainer, rows: Array, size: int, times: int) -> Contestant:
    """Explain the first rows, as often as the fewest need for a fair turn."""

    def call() -> None:
        for _ in range(times):
            explainer(rows[:size])

    return Contestant(str(size), call, size * times, warm=lambda: explainer(rows[:1]))


def _point(key: str, n_columns: int, n_samples: int, turn: float) -> Point:
    """Measure at one size, with as many rows as keep (columns, samples) within bounds."""
    n = int(np.clip(MOST_CELLS // (n_columns * n_samples), 8, MOST_ROWS))
    rows, model = cloud_of(n, n_columns), Timed(linear(n_columns))
    background = cloud_of(N_BACKGROUND, n_columns, seed=1)
    if key == "m":
        explainer = Explainer.paper(model, background, m=n_samples // PER_M)
    else:
        explainer = Explainer(model, background, generator=Balanced(n=n_samples))
    first = race([Contestant("first", lambda: explainer(rows[:1]), warm=lambda: None)], 1)["first"].seconds
    inside = []

    def call() -> None:
        model.seconds = 0.0
        explainer(rows)
        inside.append(model.seconds / n)

    total = race([Contestant("rows", call, n)], 3, turn)["rows"].seconds
    return 1e3 * total, 1e3 * (total - float(np.median(inside))), 1e3 * first
