"""The benchmark: one step after the other."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from xcid.errors import XcidWarning
from xcid.lab import machine
from xcid.lab.bench import contests, density, growth, processes, profile
from xcid.lab.bench.extent import Extent
from xcid.lab.bench.peers import check_installed
from xcid.lab.bench.record import Figure, Record
from xcid.lab.markdown import Table

Step: TypeAlias = Callable[[Extent], Iterable[Figure | Table]]
STEPS: Mapping[str, Step] = {
    "the paper's setting against the paper's stack": contests.against_stack,
    "the recommended setting against other methods": contests.against_peers,
    "where the time goes": profile.profile,
    "densities": density.densities,
    "two workers": contests.workers,
    "growth": growth.growth,
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

    Examples
    --------
    >>> from xcid.lab.bench import EXTENTS, measure
    >>> record = measure(EXTENTS["quick"], print)  # doctest: +SKIP
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
    about = {**machine.about(extent.name), "took": f"{time.perf_counter() - began:.0f} s"}
    figures = tuple(one for one in found if isinstance(one, Figure))
    return Record(about, figures, tuple(one for one in found if isinstance(one, Table)))
