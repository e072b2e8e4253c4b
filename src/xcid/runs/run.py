"""A run from the first chunk to the file."""

from __future__ import annotations

import os
import time
import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from xcid.errors import InvalidFile, InvalidParameter
from xcid.files.formats import FORMATS
from xcid.files.rows import Rows
from xcid.files.writers import replacing
from xcid.runs import fragments
from xcid.runs.folder import Folder
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
        if self.rows.positions.step < 0:
            raise InvalidParameter("a run reads its file from front to back: give rows in rising order")

    @property
    def n_chunks(self) -> int:
        """Number of chunks."""
        return self.rows.count(self.chunk_rows)


def run(job: Job, task: Task, folder: Folder, out: Path, progress: Progress) -> Counter[str]:
    """Explain what is not yet explained in a folder that this run adopted, write the file, and count how rows ended."""
    path, total, statuses = job.rows.source.path, len(job.rows), Counter[str]()
    before = _signature(path)
    ready = set()
    for fragment in fragments.finished(folder.chunks, job.n_chunks):
        ready.add(fragment.number)
        statuses.update(fragment.statuses)
    progress(statuses.total(), total)
    folder.log(f"run of {total} rows in {job.n_chunks} chunks: {len(ready)} are finished, {job.workers} workers")
    wanted = [number for number in range(job.n_chunks) if number not in ready]
    chunks = job.rows.chunks(job.chunk_rows, wanted)
    for fragment in explained(chunks, task, min(job.workers, len(wanted)), folder.log) if wanted else ():
        folder.log(f"chunk {fragment.number} is finished")
        statuses.update(fragment.statuses)
        progress(statuses.total(), total)
    if _signature(path) != before:
        raise InvalidFile(f"{path} changed while it was read: start again in another folder")
    fragments.sweep(folder.chunks)  # of workers that were killed
    started, token = time.monotonic(), f"{zlib.crc32(os.fsencode(folder.path.resolve())):08x}"
    with replacing(out, token) as temporary, temporary.open("wb") as file:  # the next run overwrites what a kill leaves
        FORMATS[task.format].join(file, fragments.contents(folder.chunks, range(job.n_chunks)))
    folder.log(f"the result of {total} rows is written in {time.monotonic() - started:.1f} s")
    return statuses


def _signature(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns
