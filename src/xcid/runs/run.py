"""A run from the first chunk to the file: processes explain chunks, and one that dies is replaced by another."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import signal
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, TypeAlias

from xcid import errors
from xcid._faults import refuse_one_side
from xcid._require import ending
from xcid.errors import InvalidParameter, ModelError, TooSlow
from xcid.io.rows import Chunk, Rows
from xcid.io.writers import FORMATS, replacing
from xcid.runs.folder import FileFingerprint, Folder, sweep, verify_unchanged
from xcid.runs.worker import ChunkDone, ChunkFailed, Fragment, RowDone, Task, find_finished, read_contents, serve

RAISE = "raise the time limit, or see what the model waits for"
GRACE = 60.0  # seconds for a worker with a time limit to start, and to write a chunk
MOST_DEATHS = 3  # of workers with the same chunk, or one after the other as they start
PATIENCE = 5.0  # seconds for a worker to end by itself
Progress: TypeAlias = Callable[[int, int], None]
Log: TypeAlias = Callable[[str], None]


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


def run(
    job: Job,
    task: Task,
    data: FileFingerprint,
    folder: Folder,
    out: Path,
    progress: Progress,
    try_out: Callable[[], None] = lambda: None,
) -> tuple[Counter[str], str]:
    """Explain what is not yet explained in a folder that this run adopted, and write the file.

    The task is tried out where something is left to be explained. It counts how rows ended, and says why the first
    that is not explained is not.
    """
    total, statuses, reasons = len(job.rows), Counter[str](), dict[int, str]()
    sides: dict[int, tuple[Counter[str], str]] = {}

    def count(fragment: Fragment) -> None:
        statuses.update(fragment.statuses)
        sides[fragment.number] = fragment.statuses, fragment.one_side
        if fragment.reason:
            reasons[fragment.number] = fragment.reason

    for fragment in find_finished(folder.chunks, task.run, job.n_chunks):
        count(fragment)
    progress(statuses.total(), total)
    folder.log(f"run of {total} rows in {job.n_chunks} chunks: {len(sides)} are finished, {job.workers} workers")
    wanted = [number for number in range(job.n_chunks) if number not in sides]
    if wanted:
        try_out()
    chunks = _verify_chunks(job.rows.chunks(job.chunk_rows, wanted), data)
    for fragment in explain_chunks(chunks, task, min(job.workers, len(wanted)), folder.log) if wanted else ():
        folder.log(f"chunk {fragment.number} is finished")
        count(fragment)
        progress(statuses.total(), total)
    refuse_one_side(sides[number] for number in sorted(sides))
    sweep(folder.chunks)  # of workers that were killed
    started, token = time.monotonic(), f"{zlib.crc32(os.fsencode(folder.path.resolve())):08x}"
    with replacing(out, token) as temporary, temporary.open("wb") as file:  # the next run overwrites what a kill leaves
        FORMATS[task.format].join(file, read_contents(folder.chunks, task.run, range(job.n_chunks)))
    folder.log(f"the result of {total} rows is written in {time.monotonic() - started:.1f} s")
    return statuses, reasons[min(reasons)] if reasons else ""


def _verify_chunks(chunks: Iterator[Chunk], data: FileFingerprint) -> Iterator[Chunk]:
    """Chunks of a file that has not changed: no worker gets rows of another one."""
    while True:
        with verify_unchanged([data]):
            chunk = next(chunks, None)
        if chunk is None:
            return
        yield chunk


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, the way to it and what it has to do."""

    process: Any
    connection: Connection
    seconds: float | None  # that it may take for a row
    chunk: Chunk | None = None
    too_slow: frozenset[int] = frozenset()  # rows of the chunk, by place
    at: int = 0  # the row that it explains
    is_ready: bool = False
    deadline: float = inf  # for its next word

    def wait(self) -> None:
        """Give it time for the next row, for its start, or to end a chunk."""
        if self.seconds is not None:
            explains = self.chunk is not None and self.is_ready and self.at < len(self.chunk.positions)
            self.deadline = time.monotonic() + self.seconds + (0 if explains else GRACE)

    def order(self) -> None:
        """Give it its chunk, or send it home."""
        self.at = 0
        with contextlib.suppress(OSError):  # that it is dead comes out when it is listened to
            self.connection.send(self.chunk and (self.chunk, self.too_slow))


def explain_chunks(chunks: Iterator[Chunk], task: Task, n_workers: int, log: Log) -> Iterator[Fragment]:
    """Let workers explain chunks, and say which are finished, in whatever order they are.

    The next chunk is read only when a worker is free: no more are in memory than there are workers. What is
    logged holds no data.
    """
    _check_task(task)
    workers: list[_Worker] = []
    deaths: Counter[int | None] = Counter()
    try:
        workers.extend(_start(task, log) for _ in range(n_workers))
        while workers:
            for worker in _wait_for_news(workers):
                message = _receive(worker)
                if message is None:
                    workers.remove(worker)
                    workers.append(_replace_worker(worker, deaths, task, log))
                    continue
                if isinstance(message, ChunkFailed):
                    raise _to_error(message, worker.chunk, log)
                if isinstance(message, RowDone):
                    worker.at += 1
                    worker.wait()
                    continue
                if isinstance(message, ChunkDone):
                    yield message.fragment
                worker.is_ready, deaths[None] = True, 0
                if worker.chunk is None or isinstance(message, ChunkDone):
                    worker.chunk, worker.too_slow = next(chunks, None), frozenset()
                worker.order()
                worker.wait()
                if worker.chunk is None:
                    workers.remove(worker)
                    _end(worker)
    finally:
        for worker in workers:
            worker.process.kill()
        for worker in workers:
            worker.process.join()


def _check_task(task: Task) -> None:
    """Refuse what cannot be sent to another process before there is one."""
    try:
        pickle.dumps(task)
    except Exception as error:  # every object fails in its own way
        raise InvalidParameter(f"this cannot be sent to other processes: {type(error).__name__}: {error}") from error


def _start(task: Task, log: Log) -> _Worker:
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may wait for ever
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, task), daemon=True)
    with _block_interrupts():
        process.start()
    theirs.close()
    log(f"worker {process.pid} started")
    worker = _Worker(process, ours, task.time_limit)
    worker.wait()
    return worker


@contextlib.contextmanager
def _block_interrupts() -> Iterator[None]:
    """Start a process that Ctrl-C does not reach, even as it starts; here it waits until that is done."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _wait_for_news(workers: list[_Worker]) -> list[_Worker]:
    """Workers that said something, died or took too long, as soon as there are some."""
    left = min(one.deadline for one in workers) - time.monotonic()
    watched = [*(one.connection for one in workers), *(one.process.sentinel for one in workers)]
    ready, now = set(wait(watched, None if left == inf else max(left, 0))), time.monotonic()
    return [one for one in workers if {one.connection, one.process.sentinel} & ready or one.deadline < now]


def _receive(worker: _Worker) -> Any:
    """What a worker said; None where it is dead."""
    try:
        return worker.connection.recv() if worker.connection.poll() else None
    except (EOFError, OSError, pickle.UnpicklingError):
        return None


def _replace_worker(worker: _Worker, deaths: Counter[int | None], task: Task, log: Log) -> _Worker:
    """A new worker with the chunk of one that died, unless too many died of it."""
    is_late = worker.process.is_alive() and worker.deadline < time.monotonic()
    worker.process.kill()  # one that closed its connection and lives on is of no use
    worker.process.join()
    worker.connection.close()
    chunk, cause = worker.chunk, "it took too long" if is_late else ending(worker.process.exitcode)
    number = chunk.number if chunk is not None and worker.is_ready else None
    if is_late and chunk is not None and number is not None and worker.at < len(chunk.positions):
        log(f"worker {worker.process.pid} took too long for row {chunk.positions[worker.at]} and was ended")
        fresh = _start(task, log)
        fresh.chunk, fresh.too_slow = chunk, worker.too_slow | {worker.at}
        return fresh
    if is_late and number is None:
        raise TooSlow(f"the model takes too long to be loaded and to predict the reference data; {RAISE}")
    deaths[number] += 1
    where = "as it started" if chunk is None or number is None else f"at chunk {number}, {chunk.label}"
    log(f"worker {worker.process.pid} died {where}: {cause}")
    if deaths[number] >= MOST_DEATHS:
        what = "as they started" if chunk is None or number is None else f"while they explained {chunk.label}"
        raise ModelError(
            f"{MOST_DEATHS} workers died {what} ({cause}): see whether there is enough memory, and what the model does "
            "with these rows; what is finished is kept"
        )
    fresh = _start(task, log)
    fresh.chunk, fresh.too_slow = chunk, worker.too_slow
    return fresh


def _to_error(failed: ChunkFailed, chunk: Chunk | None, log: Log) -> Exception:
    """The error of a worker in this process; what it says may hold data, so the log only has its name."""
    log(f"{failed.kind} {'as a worker started' if chunk is None else f'in chunk {chunk.number}, {chunk.label}'}")
    if failed.kind == "MemoryError":
        return MemoryError()
    kind = getattr(errors, failed.kind, None)
    if isinstance(kind, type) and issubclass(kind, errors.XcidError):
        return kind(failed.message)
    return ModelError(f"{'a worker' if chunk is None else chunk.label} failed: {failed.message}")


def _end(worker: _Worker) -> None:
    worker.process.join(PATIENCE)
    worker.process.kill()
    worker.process.join()
    worker.connection.close()
