"""How time and memory grow: every size in a process of its own, whose peak of memory is its own.

A process makes the model and the reference data, which is not timed, then an explainer and the first row; "a row" is
one of those that are explained when all that they share is there.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from xcid._require import require
from xcid.explainer import Explainer
from xcid.records import Array
from xcid_lab.bench.processes import peak
from xcid_lab.bench.record import Figure
from xcid_lab.bench.timing import ONE_THREAD, Extent
from xcid_lab.markdown import Cell, Table, number
from xcid_lab.subjects import cloud_of, linear

N_COLUMNS, N_REFERENCE, N_TRAINED = 8, 500, 2_000
MOST_SECONDS = 1_400.0  # of all processes
FLAT = 1.1  # exponent up to which growth counts as linear
HEAD = ("ms a row", "s, set-up and first row", "MB")
TITLE = "growth by "  # of the tables


class Job(NamedTuple):
    """What is explained at a size."""

    model: Any
    reference: Array
    rows: Array


class Sweep(NamedTuple):
    """What grows while all else stays."""

    what: str
    fixed: str
    make: Callable[[int], Job]
    is_rows: bool = False  # whether it is the rows of a call that grow
    is_read: bool = False  # whether the model is one that is read from inside


def _rows(size: int) -> Job:
    return Job(linear(N_COLUMNS), cloud_of(N_REFERENCE, N_COLUMNS, seed=1), cloud_of(size + 1, N_COLUMNS))


def _columns(size: int) -> Job:
    n_rows = int(np.clip(20_000 // size, 20, 200))  # of fewer, each bears more of what a call takes for all
    return Job(linear(size), cloud_of(N_REFERENCE, size, seed=1), cloud_of(n_rows + 1, size))


def _reference(size: int) -> Job:
    return Job(linear(20), cloud_of(size, 20, seed=1), cloud_of(101, 20))


def _trees(size: int) -> Job:
    cells = cloud_of(N_TRAINED, N_COLUMNS, seed=1)
    classes = (cells[:, 0] * cells[:, 1] + cells[:, 2] > 0).astype(int)
    made = require("sklearn.ensemble", extra="bench").GradientBoostingClassifier(n_estimators=size, random_state=0)
    return Job(made.fit(cells, classes), cells[:1_000], cloud_of(101, N_COLUMNS))


def _classes(size: int) -> Job:
    cells = cloud_of(N_TRAINED, N_COLUMNS, seed=1)
    place = np.argsort(np.argsort(cells[:, 0] + cells[:, 1] * cells[:, 2]))
    made = require("sklearn.ensemble", extra="bench").RandomForestClassifier(100, random_state=0)
    return Job(made.fit(cells, place * size // len(cells)), cells[:1_000], cloud_of(33, N_COLUMNS))


SWEEPS = {
    "rows": Sweep("rows in a call", f"a function of {N_COLUMNS} columns", _rows, is_rows=True),
    "columns": Sweep("columns", f"a function, {N_REFERENCE} reference rows", _columns),
    "reference": Sweep("reference rows", "a function of 20 columns", _reference),
    "trees": Sweep("trees", f"gradient boosting of {N_COLUMNS} columns, 1,000 reference rows", _trees, is_read=True),
    "classes": Sweep(
        "classes", f"a forest of 100 trees, {N_COLUMNS} columns, 1,000 reference rows", _classes, is_read=True
    ),
}


def sizes(extent: Extent) -> Iterator[Figure | Table]:
    """Measure every size, until the time of the step is spent."""
    began = time.perf_counter()
    for key, sweep in SWEEPS.items():
        asked, lines, called = getattr(extent, f"sized_{key}"), list[tuple[Cell, ...]](), list[str]()
        for size in asked:
            left = MOST_SECONDS - (time.perf_counter() - began)
            *figures, is_read = _of_process(key, size, left)
            lines.append((f"{size:,}", *figures))
            called += [f"{size:,}"] if sweep.is_read and is_read == 0 else []
        note = f"{sweep.fixed[:1].upper()}{sweep.fixed[1:]}, default settings; a process for each line. "
        note += name_stretches(asked, lines, sweep.is_rows)
        note += f" Called, since it cannot be read from inside: the model of {', '.join(called)}." if called else ""
        yield Table(f"{TITLE}{sweep.what}", (sweep.what, *HEAD), tuple(lines), note)


def name_stretches(asked: Sequence[int], lines: Sequence[Sequence[Cell]], is_rows: bool) -> str:
    """Say between which sizes something grows faster than the size; where rows grow, so does a call of them all.

    Examples
    --------
    >>> lines = [("10", 1.0, 2.0, 90.0), ("100", 20.0, 2.0, 95.0)]
    >>> name_stretches([10, 100], lines, is_rows=False)
    'More than linear: ms a row from 10 to 100 (exponent 1.3).'

    A row that takes half as long again among ten times as many is more than linear, too:

    >>> name_stretches([1_000, 10_000], [("1,000", 0.15, 2.0, 90.0), ("10,000", 0.225, 2.0, 90.0)], is_rows=True)
    'More than linear: ms a row, times rows, from 1,000 to 10,000 (exponent 1.2).'
    """
    found = []
    for at, what in enumerate(HEAD, start=1):
        times_rows = is_rows and at == 1
        for (small, large), (before, after) in zip(pairwise(asked), pairwise(lines), strict=True):
            one, other = before[at], after[at]
            if isinstance(one, float) and isinstance(other, float) and one > 0:
                exponent = math.log(other / one) / math.log(large / small) + times_rows
                if exponent > FLAT:
                    said = f"{what}, times rows," if times_rows else what
                    found.append(f"{said} from {small:,} to {large:,} (exponent {number(round(exponent, 1))})")
    return f"More than linear: {'; '.join(found)}." if found else "Nothing grows more than linearly."


def _of_process(key: str, size: int, seconds: float) -> tuple[float | None, ...]:
    """What a process of its own found; nothing where there is no time left for it."""
    code = f"import json; from xcid_lab.bench.sizes import measure; print(json.dumps(measure({key!r}, {size})))"
    command = [sys.executable, "-W", "ignore", "-c", code]
    try:
        done = subprocess.run(
            command,
            env={**os.environ, **ONE_THREAD},
            capture_output=True,
            text=True,
            check=True,
            timeout=max(1, seconds),
        )
    except subprocess.TimeoutExpired:
        return (None, None, None, None)
    return tuple(json.loads(done.stdout))


def measure(key: str, size: int) -> list[float | None]:
    """Milliseconds a row, seconds of set-up and first row, MB of this process at most, 1 if the model was read."""
    job = SWEEPS[key].make(size)
    start = time.process_time()
    explainer = Explainer(job.model, job.reference)
    explainer(job.rows[:1])
    ready = time.process_time()
    explainer(job.rows[1:])
    again = time.process_time()
    explainer(job.rows[1:])
    spent, is_read = time.process_time() - again, explainer.setup.subject.predict.native is not None
    return [1e3 * spent / (len(job.rows) - 1), ready - start, peak(), float(is_read)]
