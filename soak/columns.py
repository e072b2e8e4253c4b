"""Columns of text files: dates in any writing, cells of several kinds, whole numbers of many digits, late codes.

``python soak/columns.py --count 3000``: each try writes a column whose meaning is known, and reads it as reference data
and as rows to explain. It holds where every cell is what was meant, the same under every library of data frames, or
where an error or a note names the column. The exit status is 1 where a cell is something else and nothing is said.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from verdict import verdict

from xcid.errors import XcidError, XcidWarning
from xcid.io import tables
from xcid.io.readers import Background, of_dates
from xcid.io.rows import Rows
from xcid.io.sources import Roles

WRITINGS = ("%Y-%m-%d", "%Y-%m-%d %H:%M", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%d-%m-%Y", "%m-%d-%Y")
CELLS = (
    "0",
    "1",
    "2",
    "-3",
    "1.5",
    "1e3",
    "007",
    "True",
    "False",
    "true",
    "FALSE",
    "yes",
    "no",
    "a b",
    "",
    "NA",
    "nan",
)
ROWS = 12
BLOCK = 262_144  # rows by which pandas decides, unless it is told to look at all


def written(folder: Path, name: str, cells: Sequence[str]) -> Path:
    """A file with a column of such cells, one of numbers and a target."""
    path = folder / name
    path.write_text("".join(["c,x,y\n", *(f"{cell},{at}.5,{at % 2}\n" for at, cell in enumerate(cells))]))
    return path


def read(background: Background, path: Path | None) -> nw.Series[Any]:
    """The column as rows to explain have it."""
    source = background.opened(path)
    frame = next(Rows(source, background.layout, range(source.n_rows)).chunks(source.n_rows)).frame
    return nw.from_native(frame, eager_only=True).get_column("c")


def _choose(library: Any) -> None:
    tables.library = lambda: library


def dates(draw: random.Random, folder: Path) -> str:
    """Two files with days in two writings: each day is what was meant, or something is said.

    Between the same marks the reference data decide, so that rows with these have the same order.
    """
    _choose(draw.choice(tables.LIBRARIES))
    known, other = draw.choice(WRITINGS), draw.choice(WRITINGS)
    if known[2] == other[2] and known != other:
        other = known
    days = [_days(draw, draw.choice([12, 28]), size) for size in (ROWS, draw.randint(1, 3))]
    first, second = (
        written(folder, name, [day.strftime(one) for day in some])
        for name, one, some in zip(("reference.csv", "rows.csv"), (known, other), days, strict=True)
    )
    background = Background.to_train(first, Roles("y", dates=("c",) if draw.random() < 0.5 else ()))
    if background.layout.columns["c"].kind != "date":
        return "" if any("'c'" in note for note in background.notes) else f"{known}: text, and nothing is said"
    said = (*background.notes, *of_dates(background.opened(second), background.layout))
    for path, due in ((None, days[0]), (second, days[1])):
        found = read(background, path).to_numpy().astype("datetime64[us]").tolist()
        if found != due and not any("dates of column 'c' are read" in note for note in said):
            return f"{known} and {other}: {found[0]} for {due[0]}"
    return ""


def _days(draw: random.Random, latest: int, size: int) -> list[datetime]:
    """Days of any month up to some day of it."""
    at = lambda: (draw.randint(1990, 2030), draw.randint(1, 12), draw.randint(1, latest))  # noqa: E731
    return [datetime(*at()) for _ in range(size)]


def kinds(draw: random.Random, folder: Path) -> str:
    """Cells of few kinds: the same under every library."""
    some = draw.sample(CELLS, draw.randint(1, 3))
    path = written(folder, "kinds.csv", [*some, *draw.choices(some, k=ROWS)])
    found = {}
    for library in tables.LIBRARIES:
        _choose(library)
        try:
            found[library] = [_plain(cell) for cell in read(Background.read(path, Roles("y")), None).to_list()]
        except XcidError as error:
            found[library] = type(error).__name__
    return "" if len(set(map(repr, found.values()))) == 1 else f"{some}: {found}"


def _plain(cell: Any) -> Any:
    """A cell without the type that a library gives it; truths are not numbers."""
    if cell is None or cell != cell:
        return None
    return bool(cell) if isinstance(cell, bool | np.bool_) else cell if isinstance(cell, str) else float(cell)


def whole(draw: random.Random, folder: Path) -> str:
    """Whole numbers of some digits, with missing cells or not: all are what they are, or something is said."""
    _choose(draw.choice(tables.LIBRARIES))
    numbers = [draw.randrange(10 ** draw.randint(1, 18)) * draw.choice([1, -1]) for _ in range(ROWS)]
    cells = ["" if draw.random() < 0.1 else str(number) for number in numbers]
    background = Background.read(written(folder, "whole.csv", cells), Roles("y"))
    due = [int(cell) for cell in cells if cell]
    found = [int(cell) for cell in read(background, None).to_list() if cell is not None and cell == cell]
    return "" if found == due else f"{cells}: {found}"


def late(draw: random.Random, folder: Path) -> str:
    """Codes of a long file that turn from digits to text late: all are the text that was written."""
    _choose(draw.choice(tables.LIBRARIES))
    size = draw.randint(BLOCK, 2 * BLOCK)
    cells = [f"{at % 1000:03}" for at in range(size)]
    for at in draw.sample(range(draw.choice((0, BLOCK)), size), draw.choice((1, 5))):
        cells[at] = draw.choice(("A12", "x", "1e", "-", "٣x"))
    path = written(folder, "late.csv", cells)
    try:
        found = read(Background.read(path, Roles("y")), None).to_list()
    except XcidError as error:
        return f"{size:,} rows: {error}"
    wrong = [at for at, cell in enumerate(cells) if found[at] != cell]
    return f"{size:,} rows, row {wrong[0]}: {found[wrong[0]]!r} for {cells[wrong[0]]!r}" if wrong else ""


FAMILIES: tuple[Callable[[random.Random, Path], str], ...] = (dates, kinds, whole)
LONG, SHARE = late, 0.004  # files that take long, and their share


def attempt(draw: random.Random, folder: Path) -> str:
    """What is wrong with the next column; nothing where an error or a warning names it."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            if draw.random() < SHARE:
                return LONG(draw, folder)  # a note excuses nothing
            fault = draw.choice(FAMILIES)(draw, folder)
        except XcidError as error:
            return "" if "'c'" in str(error) else f"unnamed: {error}"
    is_said = any(issubclass(one.category, XcidWarning) and "'c'" in str(one.message) for one in heard)
    return "" if is_said else fault


def main(arguments: Sequence[str] | None = None) -> int:
    """Try so many columns."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    usual = tables.library
    try:
        with tempfile.TemporaryDirectory() as folder:
            draws = (random.Random(f"{options.seed} {at}") for at in range(options.count))
            faults = [fault for draw in draws if (fault := attempt(draw, Path(folder)))]
    finally:
        tables.library = usual
    return verdict("columns", options.count, faults)


if __name__ == "__main__":
    sys.exit(main())
