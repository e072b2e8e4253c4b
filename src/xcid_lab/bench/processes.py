"""Processes of their own: how much memory they take while they explain, and how long they take to get going."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from xcid._require import require
from xcid.explainer import Explainer
from xcid_lab.bench.record import Figure
from xcid_lab.bench.timing import ONE_THREAD, Contestant, Extent, race
from xcid_lab.markdown import Table
from xcid_lab.subjects import cloud_of, linear

N_COLUMNS, PIECE = 20, 2_000
PLAIN = (1, 1_000)  # rows of a call
MOST, SAME = 1_000.0, 1.1
TIMES = 7
COMMANDS = {"import xcid": (("-c", "import xcid"), 0.3), "xcid --help": (("-m", "xcid", "--help"), 0.5)}


def memory(extent: Extent) -> Iterator[Figure | Table]:
    """Explain rows by one call, and stream few and many of them."""
    few, many = extent.streamed_rows[0], extent.streamed_rows[-1]
    if peak() is None:
        what, reason = f"peak, {many:,} rows in a stream", "this system does not tell the peak"
        yield Figure("memory/peak", "memory", what, None, "MB", "lower", MOST, reason)
        return
    peaks = {f"explainer(X) of {rows:,} rows, evidence kept": _peak_of(f"explain({rows})") for rows in PLAIN}
    peaks |= {f"explainer.stream of {rows:,} rows": _peak_of(f"stream({rows})") for rows in (few, many)}
    *_, first, last = peaks.values()
    what = f"peak, {many:,} rows of {N_COLUMNS} features in a stream"
    yield Figure("memory/peak", "memory", what, last, "MB", "lower", MOST)
    yield Figure("memory/same", "memory", f"peak of {many:,} rows over {few:,}", last / first, "x", "lower", SAME)
    note = f"{N_COLUMNS} features; Python and NumPy included."
    yield Table("peak memory", ("what", "MB"), tuple(peaks.items()), note)


def _peak_of(job: str) -> float:
    """MB that a new process takes at most."""
    code = f"from xcid_lab.bench.processes import explain, peak, stream; {job}; print(peak())"
    done = subprocess.run(
        [sys.executable, "-c", code], env={**os.environ, **ONE_THREAD}, capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def explain(n_rows: int) -> int:
    """Explain made-up rows by one call."""
    return len(_explainer()(cloud_of(n_rows, N_COLUMNS)))


def stream(n_rows: int) -> int:
    """Explain made-up rows piece by piece, and count what comes out."""
    starts = range(0, n_rows, PIECE)
    pieces = (cloud_of(min(PIECE, n_rows - start), N_COLUMNS, seed=start) for start in starts)
    return sum(len(explanation) for explanation in _explainer().stream(pieces))


def _explainer() -> Explainer:
    return Explainer(linear(N_COLUMNS), cloud_of(500, N_COLUMNS, seed=1))


def peak() -> float | None:
    """MB that this process has taken at most.

    Linux reports it for the present program; what ``getrusage`` reports there includes the parent's, from before the
    program was started.
    """
    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"^VmHWM:\s*(\d+)", status.read_text(), flags=re.MULTILINE)):
        return int(found[1]) * 1024 / 1e6
    if sys.platform == "darwin":
        resource = require("resource", extra="bench")
        return float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss) / 1e6
    return None


def start(extent: Extent) -> Iterator[Figure]:
    """Import the library, and ask the command for help."""
    run = partial(subprocess.run, stdout=subprocess.DEVNULL, check=True)
    contestants = [
        Contestant(what, partial(run, [sys.executable, *arguments]), warm=lambda: None)
        for what, (arguments, _) in COMMANDS.items()
    ]
    found = race(contestants, TIMES)
    for what, (_, target) in COMMANDS.items():
        seconds = found[what].elapsed
        yield Figure(f"start/{what}", "start", what, seconds, "s", "lower", target, "with Python's own start")
