"""Most memory that a process of its own takes while it explains."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from xcid._require import require
from xcid.explainer import Explainer
from xcid.lab.bench.extent import Extent
from xcid.lab.bench.record import Figure, Part, Table
from xcid.lab.bench.subjects import Linear, cloud_of
from xcid.lab.bench.timing import ONE_THREAD
from xcid.records import Array

GROUP = "memory"
N_COLUMNS, PIECE = 20, 2_000
PLAIN = (1, 1_000)  # rows of a call
MOST, SAME = 1_000.0, 1.1


def memory(extent: Extent) -> Part:
    """Stream rows through an explainer, few and many of them."""
    plain = [(f"explainer(X) of {rows:,} rows, evidence kept", _in_child("whole", rows)) for rows in PLAIN]
    if plain[0][1] is None:
        return _left_out(extent, "this system does not tell the peak")
    table = Table("peak memory", ("what", "MB"), tuple(plain), f"{N_COLUMNS} features; Python and NumPy included.")
    if not hasattr(Explainer, "stream"):
        return Part(_left_out(extent, "this version cannot stream").figures, (table,))
    few, many = extent.streamed_rows[0], extent.streamed_rows[-1]
    first, last = (float(_in_child("stream", rows) or 0) for rows in (few, many))
    streamed = [(f"explainer.stream of {rows:,} rows", peak) for rows, peak in ((few, first), (many, last))]
    return Part(
        (
            _figure("peak", f"peak, {many:,} rows of {N_COLUMNS} features in a stream", last, "MB", MOST),
            _figure("same", f"peak of {many:,} rows over {few:,}", last / first, "x", SAME),
        ),
        (replace(table, lines=(*plain, *streamed)),),
    )


def _figure(key: str, what: str, value: float | None, unit: str, target: float, detail: str = "") -> Figure:
    return Figure(f"memory/{key}", GROUP, what, value, unit, "lower", target, detail)


def _left_out(extent: Extent, reason: str) -> Part:
    what = f"peak, {extent.streamed_rows[-1]:,} rows in a stream"
    return Part((_figure("peak", what, None, "MB", MOST, reason),))


def _in_child(job: str, n_rows: int) -> float | None:
    """MB that a new process takes at most; None where the system does not say."""
    code = f"from xcid.lab.bench.memory import {job}, peak; {job}({n_rows}); print(peak() or '')"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=True
    )
    return float(done.stdout) if done.stdout.strip() else None


def whole(n_rows: int) -> int:
    """Explain made-up rows by one call."""
    rows = cloud_of(n_rows, N_COLUMNS)
    return len(Explainer(Linear(N_COLUMNS), cloud_of(500, N_COLUMNS, seed=1))(rows))


def stream(n_rows: int) -> int:
    """Explain made-up rows piece by piece, and count what comes out."""
    explainer = Explainer(Linear(N_COLUMNS), cloud_of(500, N_COLUMNS, seed=1))
    return sum(len(explanation) for explanation in explainer.stream(_pieces(n_rows)))


def _pieces(n_rows: int) -> Iterator[Array]:
    for start in range(0, n_rows, PIECE):
        yield cloud_of(min(PIECE, n_rows - start), N_COLUMNS, seed=start)


def peak() -> float | None:
    """MB that this process has taken at most.

    Linux tells it for the present program; what ``getrusage`` tells there includes the parent's, from before the
    program was started.
    """
    status = Path("/proc/self/status")
    if status.exists():
        for line in status.read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024 / 1e6
    if sys.platform == "darwin":
        resource = require("resource", extra="bench")
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1e6
    return None
