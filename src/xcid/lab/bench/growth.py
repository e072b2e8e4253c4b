"""How the time of a row grows with rows, columns and samples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from xcid.explainer import Explainer
from xcid.generators import Balanced
from xcid.lab.bench.extent import Extent
from xcid.lab.bench.record import Figure, Part, Table
from xcid.lab.bench.subjects import Linear, Timed, cloud_of
from xcid.lab.bench.timing import Contestant, Timing, race, ratio
from xcid.records import Array

GROUP = "growth of the time of a row"
N_BACKGROUND, N_COLUMNS = 500, 8
N_SAMPLES = 3_000  # where the number of columns grows
FLAT, EXPONENT = 1.1, 1.1
MOST_ROWS = 100
MOST_CELLS = 2**25  # of samples of the rows that are explained at a time


class _Point(NamedTuple):
    """Seconds a row at a size: all of them, those outside the model, and those of the first call."""

    size: int
    total: float
    own: float
    first: float


def growth(extent: Extent) -> Part:
    """With a model that costs next to nothing."""
    flat, by_rows = _over_rows(extent)
    over = (
        _over_columns(extent.growing_columns, extent.turn),
        _over_samples(extent.growing_samples, extent.turn),
        _over_m(extent.growing_m, extent.turn),
    )
    return Part((flat, *(figure for figure, _ in over)), (by_rows, *(table for _, table in over)))


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Slope of a straight line through the logarithms.

    Examples
    --------
    >>> round(exponent([10, 100, 1000], [1.0, 4.0, 16.0]), 3)
    0.602
    """
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def _over_rows(extent: Extent) -> tuple[Figure, Table]:
    sizes, rows = extent.growing_rows, cloud_of(max(extent.growing_rows), N_COLUMNS)
    explainer = Explainer(Linear(N_COLUMNS), cloud_of(N_BACKGROUND, N_COLUMNS, seed=1))
    explainer(rows[: sizes[0]])
    contestants = [_first_rows(explainer, rows, size, sizes[0]) for size in sizes]
    found = race(contestants, 2)
    few, many = (found[str(size)] for size in (sizes[0], sizes[-1]))
    figure = Figure(
        "growth/rows",
        GROUP,
        f"time of a row: {sizes[-1]:,} rows over {sizes[0]:,}",
        ratio(many, few),
        better="lower",
        target=FLAT,
        detail=f"{1e3 * many.seconds:.3g} ms against {1e3 * few.seconds:.3g} ms",
    )
    lines = tuple((f"{size:,}", 1e3 * _seconds(found, size)) for size in sizes)
    return figure, Table("time of a row by number of rows", ("rows", "ms a row"), lines, f"{N_COLUMNS} columns.")


def _first_rows(explainer: Explainer, rows: Array, size: int, least: int) -> Contestant:
    """Explain the first rows, as often as the fewest need for a fair turn."""
    times = max(1, 10 * least // size)

    def call() -> None:
        for _ in range(times):
            explainer(rows[:size])

    return Contestant(str(size), call, size * times, warm=lambda: explainer(rows[:1]))


def _seconds(found: dict[str, Timing], size: int) -> float:
    return found[str(size)].seconds


def _over_columns(sizes: Sequence[int], turn: float) -> tuple[Figure, Table]:
    def make(model: Timed, size: int) -> Explainer:
        return Explainer(model, cloud_of(N_BACKGROUND, size, seed=1), generator=Balanced(n=N_SAMPLES))

    points = [_point(size, (size, N_SAMPLES), make, turn) for size in sizes]
    what = f"columns d, {sizes[0]} to {sizes[-1]:,} ({N_SAMPLES:,} perturbations)"
    return _figure("growth/columns", what, points), _table("time of a row by number of columns", "d", points)


def _over_samples(sizes: Sequence[int], turn: float) -> tuple[Figure, Table]:
    def make(model: Timed, size: int) -> Explainer:
        return Explainer(model, cloud_of(N_BACKGROUND, N_COLUMNS, seed=1), generator=Balanced(n=size))

    points = [_point(size, (N_COLUMNS, size), make, turn) for size in sizes]
    what = f"perturbations n, {sizes[0]:,} to {sizes[-1]:,} (d = {N_COLUMNS})"
    return _figure("growth/samples", what, points), _table("time of a row by number of perturbations", "n", points)


def _over_m(sizes: Sequence[int], turn: float) -> tuple[Figure, Table]:
    def make(model: Timed, size: int) -> Explainer:
        return Explainer.paper(model, cloud_of(N_BACKGROUND, N_COLUMNS, seed=1), m=size)

    points = [_point(size, (N_COLUMNS, 20 * size), make, turn) for size in sizes]
    what = f"m of the paper's setting, {sizes[0]} to {sizes[-1]:,} (d = {N_COLUMNS})"
    return _figure("growth/m", what, points), _table("time of a row by m, the paper's setting", "m", points)


def _point(size: int, shape: tuple[int, int], make: Callable[[Timed, int], Explainer], turn: float) -> _Point:
    """Measure at one size, with as many rows as keep (columns, samples) within bounds."""
    n_columns, n_samples = shape
    n = int(np.clip(MOST_CELLS // (n_columns * n_samples), 8, MOST_ROWS))
    rows, model = cloud_of(n, n_columns), Timed(Linear(n_columns))
    explainer = make(model, size)
    first = race([Contestant("first", lambda: explainer(rows[:1]), warm=lambda: None)], 1)["first"].seconds
    own = []

    def call() -> None:
        model.seconds = 0.0
        explainer(rows)
        own.append(model.seconds / n)

    total = race([Contestant("rows", call, n)], 3, turn)["rows"].seconds
    return _Point(size, total, total - float(np.median(own)), first)


def _figure(key: str, what: str, points: Sequence[_Point]) -> Figure:
    found = exponent([point.size for point in points], [point.own for point in points])
    detail = "time outside the model"
    return Figure(key, GROUP, f"exponent in {what}", found, "", "lower", EXPONENT, detail)


def _table(title: str, name: str, points: Sequence[_Point]) -> Table:
    lines = tuple((f"{one.size:,}", 1e3 * one.total, 1e3 * one.own, 1e3 * one.first) for one in points)
    note = "The first row also pays for what all rows share."
    return Table(title, (name, "ms a row", "outside the model", "ms, first row"), lines, note)
