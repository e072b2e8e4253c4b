"""A run from the first chunk to the file."""

from __future__ import annotations

import os
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from xcid._faults import refuse_one_side
from xcid.errors import InvalidParameter
from xcid.io.rows import Chunk, Rows
from xcid.io.writers import FORMATS, replacing
from xcid.runs import fragments
from xcid.runs.folder import Folder, Seal, unchanged
from xcid.runs.fragments import Fragment
from xcid.runs.worker import Task
from xcid.runs.workers import explained

Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """Rows to explain, in chunks of so many rows each, by so many workers."""

    rows: Rows
    chunk_rows: int
    workers: int

    def __post_init__(self) -> None:
        if not self.rows.are_rising:
            raise InvalidParameter("a run reads its file from front to back: give rows in rising order")

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return self.rows.count(self.chunk_rows)


def run(job: Job, task: Task, data: Seal, folder: Folder, out: Path, progress: Progress) -> tuple[Counter[str], str]:
    """Explain what is not yet explained in a folder that this run adopted, and write the file.

    It counts how rows ended, and says why the first that is not explained is not.
    """
    total, statuses, reasons = len(job.rows), Counter[str](), dict[int, str]()
    sides: dict[int, tuple[Counter[str], str]] = {}
    ready = set()

    def count(fragment: Fragment) -> None:
        statuses.update(fragment.statuses)
        sides[fragment.number] = fragment.statuses, fragment.one_side
        if fragment.reason:
            reasons[fragment.number] = fragment.reason

    for fragment in fragments.finished(folder.chunks, task.run, job.n_chunks):
        ready.add(fragment.number)
        count(fragment)
    progress(statuses.total(), total)
    folder.log(f"run of {total} rows in {job.n_chunks} chunks: {len(ready)} are finished, {job.workers} workers")
    wanted = [number for number in range(job.n_chunks) if number not in ready]
    chunks = _verified(job.rows.chunks(job.chunk_rows, wanted), data)
    for fragment in explained(chunks, task, min(job.workers, len(wanted)), folder.log) if wanted else ():
        folder.log(f"chunk {fragment.number} is finished")
        count(fragment)
        progress(statuses.total(), total)
    refuse_one_side(sides[number] for number in sorted(sides))
    fragments.sweep(folder.chunks)  # of workers that were killed
    started, token = time.monotonic(), f"{zlib.crc32(os.fsencode(folder.path.resolve())):08x}"
    with replacing(out, token) as temporary, temporary.open("wb") as file:  # the next run overwrites what a kill leaves
        FORMATS[task.format].join(file, fragments.contents(folder.chunks, task.run, range(job.n_chunks)))
    folder.log(f"the result of {total} rows is written in {time.monotonic() - started:.1f} s")
    return statuses, reasons[min(reasons)] if reasons else ""


def _verified(chunks: Iterator[Chunk], data: Seal) -> Iterator[Chunk]:
    """Chunks of a file that has not changed: no worker gets rows of another one."""
    while True:
        with unchanged([data]):
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk
