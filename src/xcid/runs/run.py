"""A run from the first chunk to the file."""

from __future__ import annotations

import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from xcid.errors import InvalidFile, InvalidParameter
from xcid.files.atomic import replacing
from xcid.runs import fragments
from xcid.runs.chunks import Chunk, count, cut, rows_of
from xcid.runs.folder import Folder
from xcid.runs.formats import FORMATS
from xcid.runs.places import check
from xcid.runs.readers import ROWS_AT_ONCE, Source
from xcid.runs.worker import Task
from xcid.runs.workers import explained
from xcid.space import FeatureSpace

Told: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """What is to be explained.

    Attributes
    ----------
    source : Source
    positions : range
        Rows of it, rising.
    path : Path
        The file that they are in.
    chunk_rows : int
        Rows of a chunk.
    """

    source: Source
    positions: range
    path: Path
    chunk_rows: int

    def __post_init__(self) -> None:
        if self.positions.step < 0:
            raise InvalidParameter("a run reads its file from front to back: give rows in rising order")

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return count(self.positions, self.chunk_rows)

    def chunks(self, wanted: list[int]) -> Iterator[Chunk]:
        """Some of the chunks, as they are read."""
        frames = self.source.frames(rows_of(wanted[0], self.positions, self.chunk_rows)[0])
        return cut(frames, self.positions, self.chunk_rows, wanted, str(self.path))


def look_through(job: Job, space: FeatureSpace) -> None:
    """Read all rows once and refuse the first that cannot be explained: better now than after hours."""
    numbers = range(count(job.positions, ROWS_AT_ONCE))
    frames = job.source.frames(job.positions[0])
    for chunk in cut(frames, job.positions, ROWS_AT_ONCE, numbers, str(job.path)):
        check(space, chunk, str(job.path))


def run(job: Job, task: Task, folder: Folder, out: Path, workers: int, told: Told) -> Counter[str]:
    """Explain what is not yet explained, and write the file.

    Parameters
    ----------
    job : Job
    task : Task
    folder : Folder
        It belongs to this run (:meth:`xcid.runs.folder.Folder.adopt`).
    out : Path
    workers : int
    told : callable
        Is told how many rows of how many are explained.

    Returns
    -------
    Counter
        How many rows ended how.
    """
    before, total, statuses = _signature(job.path), len(job.positions), Counter[str]()
    ready = set()
    for fragment in fragments.finished(folder.chunks, job.n_chunks):
        ready.add(fragment.number)
        statuses.update(fragment.statuses)
    told(statuses.total(), total)
    folder.log(f"run of {total} rows in {job.n_chunks} chunks: {len(ready)} are finished, {workers} workers")
    for fragment in _made(job, task, folder, workers, ready):
        statuses.update(fragment.statuses)
        told(statuses.total(), total)
    if _signature(job.path) != before:
        raise InvalidFile(f"{job.path} changed while it was read: start again in another folder")
    fragments.sweep(folder.chunks)  # of workers that were killed
    _join(job, task, folder, out)
    return statuses


def _made(job: Job, task: Task, folder: Folder, workers: int, ready: Collection[int]) -> Iterator[fragments.Fragment]:
    """Make the chunks that are not there."""
    wanted = [number for number in range(job.n_chunks) if number not in ready]
    if wanted:
        for fragment in explained(job.chunks(wanted), task, min(workers, len(wanted)), folder.log):
            folder.log(f"chunk {fragment.number} is finished")
            yield fragment


def _join(job: Job, task: Task, folder: Folder, out: Path) -> None:
    """Write the file; one that is killed here leaves a temporary file that the next one writes over."""
    started, token = time.monotonic(), f"{zlib.crc32(os.fsencode(folder.path.resolve())):08x}"
    with replacing(out, token) as temporary:
        FORMATS[task.format].join(temporary, fragments.contents(folder.chunks, range(job.n_chunks)))
    folder.log(f"the result of {len(job.positions)} rows is written in {time.monotonic() - started:.1f} s")


def _signature(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
