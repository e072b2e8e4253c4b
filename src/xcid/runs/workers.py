"""Processes that explain chunks; one that dies is replaced, and its chunk is given to another."""

from __future__ import annotations

import contextlib
import multiprocessing
import pickle
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from xcid import errors
from xcid.errors import InvalidParameter, ModelError
from xcid.files.rows import Chunk
from xcid.runs.fragments import Fragment
from xcid.runs.worker import Done, Failed, Task, serve

MOST_DEATHS = 3  # of workers with the same chunk, or one after the other as they start
PATIENCE = 5.0  # seconds for a worker to end by itself


@dataclass(slots=True, eq=False)
class _Worker:
    """A process, the way to it and what it has to do."""

    process: Any
    connection: Connection
    chunk: Chunk | None = None
    is_ready: bool = False


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
                if isinstance(message, Done):
                    yield message.fragment
                worker.is_ready, deaths[None] = True, 0
                worker.chunk = worker.chunk if worker.chunk and not isinstance(message, Done) else next(chunks, None)
                with contextlib.suppress(OSError):  # that it is dead comes out when it is listened to
                    worker.connection.send(worker.chunk)
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
    return _Worker(process, ours)


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
    """Workers that said something or died, as soon as there are some."""
    ready = set(wait([*(one.connection for one in workers), *(one.process.sentinel for one in workers)]))
    return [one for one in workers if one.connection in ready or one.process.sentinel in ready]


def _heard(worker: _Worker) -> Any:
    """What a worker said; None where it is dead."""
    try:
        return worker.connection.recv() if worker.connection.poll() else None
    except (EOFError, OSError, pickle.UnpicklingError):
        return None


def _replaced(worker: _Worker, deaths: Counter[int | None], task: Task, log: Callable[[str], None]) -> _Worker:
    """A new worker with the chunk of one that died, unless too many died of it."""
    worker.process.kill()  # one that closed its connection and lives on is of no use
    worker.process.join()
    worker.connection.close()
    chunk, cause = worker.chunk, _cause(worker.process.exitcode)
    number = chunk.number if chunk is not None and worker.is_ready else None
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
    fresh.chunk = chunk
    return fresh


def _cause(exit_code: int | None) -> str:
    if exit_code is None or exit_code >= 0:
        return f"exit status {exit_code}"
    with contextlib.suppress(ValueError):
        return f"killed by {signal.Signals(-exit_code).name}"
    return f"killed by signal {-exit_code}"


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
