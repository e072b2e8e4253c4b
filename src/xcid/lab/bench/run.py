"""The whole benchmark: one step after the other."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping
from typing import TypeAlias

from xcid.errors import XcidWarning
from xcid.lab import machine
from xcid.lab.bench import contests, density, growth, memory, profile, start, workers
from xcid.lab.bench.extent import Extent
from xcid.lab.bench.peers import check_installed
from xcid.lab.bench.record import Part, Record

Step: TypeAlias = Callable[[Extent], Part]
STEPS: Mapping[str, Step] = {
    "the paper's setting against the paper's stack": contests.against_stack,
    "the recommended setting against other methods": contests.against_peers,
    "where the time goes": profile.profile,
    "densities": density.densities,
    "two workers": workers.workers,
    "growth": growth.growth,
    "memory": memory.memory,
    "start": start.start,
}


def measure(extent: Extent, say: Callable[[str], None], steps: Mapping[str, Step] = STEPS) -> Record:
    """Measure everything; linear algebra has to be limited to one thread when Python starts.

    Parameters
    ----------
    extent : Extent
        ``Extent.quick()``, ``Extent()`` or ``Extent.full()``.
    say : callable
        Gets a line about each step.
    steps : mapping of str to callable
        What is measured, by default everything.

    Examples
    --------
    >>> from xcid.lab.bench import Extent, measure
    >>> record = measure(Extent.quick(), print)  # doctest: +SKIP
    """
    check_installed()
    began, parts = time.perf_counter(), []
    for name, step in steps.items():
        since, spent = time.perf_counter(), time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", XcidWarning)  # a row that lacks flips takes its time all the same
            parts.append(step(extent))
        say(f"{name}: {time.perf_counter() - since:.0f} s, {time.process_time() - spent:.0f} of them at work")
    about = {**machine.about(extent.name), "took": f"{time.perf_counter() - began:.0f} s"}
    figures = tuple(figure for part in parts for figure in part.figures)
    return Record(about, figures, tuple(table for part in parts for table in part.tables))
