"""Speed: xcid and its peers side by side in one process, as ratios.

>>> from xcid_lab.bench import EXTENTS, measure
>>> record = measure(EXTENTS["quick"], print)  # doctest: +SKIP
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from xcid.errors import XcidWarning
from xcid_lab.bench import contests, density, growth, processes, profile, sizes, trees, whole
from xcid_lab.bench.peers import check_installed
from xcid_lab.bench.record import Figure, Record
from xcid_lab.bench.timing import EXTENTS, Extent
from xcid_lab.markdown import Table
from xcid_lab.output import describe_versions, now

__all__ = ["EXTENTS", "STEPS", "Extent", "measure"]

MEASURED_WITH = (
    "numpy",
    "scipy",
    "scikit-learn",
    "pandas",
    "shap",
    "lime",
    "dice-ml",
    "xgboost",
    "lightgbm",
    "woodelf-explainer",
)
Step: TypeAlias = Callable[[Extent], Iterable[Figure | Table]]
STEPS: Mapping[str, Step] = {
    "the paper's setting against the paper's stack": contests.against_stack,
    "the recommended setting against other methods": contests.against_peers,
    "trees read from inside": trees.trees,
    "where the time goes": profile.profile,
    "densities": density.densities,
    "two workers": contests.workers,
    "growth": growth.growth,
    "sizes, each in a process of its own": sizes.sizes,
    "whole runs of the command": whole.whole,
    "memory": processes.memory,
    "start": processes.start,
}


def measure(extent: Extent, say: Callable[[str], None], steps: Mapping[str, Step] = STEPS) -> Record:
    """Measure everything; linear algebra has to be limited to one thread when Python starts.

    Parameters
    ----------
    extent : Extent
        One of ``EXTENTS``, or your own.
    say : callable
        Gets a line about each step.
    steps : mapping of str to callable
        What is measured, by default everything.
    """
    check_installed()
    began = time.perf_counter()
    found: list[Figure | Table] = []
    for name, step in steps.items():
        since, spent = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", XcidWarning)  # a row that lacks flips takes its time, too
            found += step(extent)
        say(f"{name}: {time.perf_counter() - since:.0f} s, {time.process_time() - spent:.0f} of them at work")
    about = {**_about(extent.name), "took": f"{time.perf_counter() - began:.0f} s"}
    figures = tuple(one for one in found if isinstance(one, Figure))
    return Record(about, figures, tuple(one for one in found if isinstance(one, Table)))


def _about(extent: str) -> dict[str, str]:
    """Date, extent, machine, versions and, in a checkout, the commit."""
    return {
        "date": now(),
        "extent": extent,
        "machine": f"{os.cpu_count()} cores, {_processor()}, {platform.system()} {platform.machine()}",
        "versions": describe_versions(MEASURED_WITH, "not installed"),
        "commit": _commit(),
    }


def _processor() -> str:
    """Name of the processor, as the system gives it."""
    known = Path("/proc/cpuinfo")
    text = known.read_text(encoding="utf-8", errors="replace") if known.exists() else ""
    name = re.search(r"^model name.*?:(.*)$", text, flags=re.MULTILINE)
    return name[1].strip() if name else platform.processor() or "unknown processor"


def _commit() -> str:
    """The commit that the package's files are at; empty where they are not in a checkout."""
    command = ["git", "-C", os.fspath(Path(__file__).parent), "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
