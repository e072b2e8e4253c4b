"""How long it takes to get going, in processes of their own."""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np

from xcid.lab.bench.extent import Extent
from xcid.lab.bench.record import Figure, Part

GROUP = "start"
TIMES = 7
COMMANDS = {"import xcid": (("-c", "import xcid"), 0.3), "xcid --help": (("-m", "xcid", "--help"), 0.5)}


def start(extent: Extent) -> Part:
    """Import the library, and ask the command for help."""
    times: dict[str, list[float]] = {what: [] for what in COMMANDS}
    for _ in range(TIMES):
        for what, (arguments, _target) in COMMANDS.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, *arguments], stdout=subprocess.DEVNULL, check=True)
            times[what].append(time.perf_counter() - began)
    figures = (
        Figure(
            f"start/{what}", GROUP, what, float(np.median(times[what])), "s", "lower", target, "with Python's own start"
        )
        for what, (_, target) in COMMANDS.items()
    )
    return Part(tuple(figures))
