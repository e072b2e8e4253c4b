"""Processes that explain chunks; one that dies is replaced, and its chunk is given to another."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from math import inf
from multiprocessing.connection import Connection, wait
from typing import Any

from xcid import errors
from xcid.errors import InvalidParameter, ModelError, TooSlow, ending
from xcid.io.rows import Chunk
from xcid.runs.fragments import Fragment
from xcid.runs.worker import Done, Failed, RowDone, Task, serve

RAISE = "raise the time limit, or see what the model waits for"
GRACE = 60.0  # seconds for a worker with a time limit to start, and to write a chunk
MOST_DEATHS = 3  # of workers with the same chunk, or one after the other as they start
PATIENCE = 5.0  # seconds for a worker to end by itself


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


def explained(chunks: Iterator[Chunk], task: Task, n_workers: int, log: Callable[[str], None]) -> Iterator[Fragment]:
    """Let workers explain chunks, and say which are finished, in whatever order they are.

    The next chunk is asked for only when a worker is free: no more are in memory than there are workers. What is
    logged holds no data.
    """
    check(task)
    workers: list[_Worker] = []
    deaths: Counter[int | None] = Counter()
    try:
        workers.extend(_start(task, log) for _ in range(n_workers))
        while workers:
            for worker in _with_news(workers):
                message = _heard(worker)
                if message is None:
                    workers.remove(worker)
                    workers.append(_replaced(worker, deaths, task, log))
                    continue
                if isinstance(message, Failed):
                    raise _error(message, worker.chunk, log)
                if isinstance(message, RowDone):
                    worker.at += 1
                    worker.wait()
                    continue
                if isinstance(message, Done):
                    yield message.fragment
                worker.is_ready, deaths[None] = True, 0
                if worker.chunk is None or isinstance(message, Done):
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


def check(task: Task) -> None:
    """Refuse what cannot be sent to another process before there is one."""
    try:
        pickle.dumps(task)
    except Exception as error:  # every object fails in its own way
        raise InvalidParameter(f"this cannot be sent to other processes: {type(error).__name__}: {error}") from error


def _start(task: Task, log: Callable[[str], None]) -> _Worker:
    context = multiprocessing.get_context("spawn")  # a fork of a process with threads may wait for ever
    ours, theirs = context.Pipe()
    process = context.Process(target=serve, args=(theirs, task), daemon=True)
    with _deaf_to_interrupts():
        process.start()
    theirs.close()
    log(f"worker {process.pid} started")
    worker = _Worker(process, ours, task.time_limit)
    worker.wait()
    return worker


@contextlib.contextmanager
def _deaf_to_interrupts() -> Iterator[None]:
    """Start a process that Ctrl-C does not reach, even as it starts; here it waits until that is done."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _with_news(workers: list[_Worker]) -> list[_Worker]:
    """Workers that said something, died or took too long, as soon as there are some."""
    left = min(one.deadline for one in workers) - time.monotonic()
    watched = [*(one.connection for one in workers), *(one.process.sentinel for one in workers)]
    ready, now = set(wait(watched, None if left == inf else max(left, 0))), time.monotonic()
    return [one for one in workers if {one.connection, one.process.sentinel} & ready or one.deadline < now]


def _heard(worker: _Worker) -> Any:
    """What a worker said; None where it is dead."""
    try:
        return worker.connection.recv() if worker.connection.poll() else None
    except (EOFError, OSError, pickle.UnpicklingError):
        return None


def _replaced(worker: _Worker, deaths: Counter[int | None], task: Task, log: Callable[[str], None]) -> _Worker:
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
        raise TooSlow(f"the model takes too long to be loaded and to answer for the reference data; {RAISE}")
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


def _error(failed: Failed, chunk: Chunk | None, log: Callable[[str], None]) -> Exception:
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
