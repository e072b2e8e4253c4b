"""What happens in a worker: a chunk comes in, a finished one is left in the folder, and its record goes back."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import NamedTuple

from xcid import _faults as faults
from xcid.engines.threads import one_core_each
from xcid.errors import XcidError
from xcid.explainer import Explainer
from xcid.explanation import Explanation
from xcid.frames import to_columns
from xcid.io.rows import Chunk
from xcid.io.writers import FORMATS, Columns
from xcid.pipeline import Blocks, explain_block
from xcid.records import Array, Failure
from xcid.runs.folder import FileFingerprint, Fragment, verify_unchanged, write_fragment


class Task(NamedTuple):
    """What is done with each chunk; it travels to the workers."""

    make: Callable[[], Explainer]  # from files
    seed: int
    format: str  # extension of the result
    folder: Path  # for finished chunks
    cores: int  # that a worker's libraries may use
    run: str  # what its chunks are marked with
    inputs: tuple[FileFingerprint, ...]  # what the explainer is made from
    time_limit: float | None = None  # seconds that a row may take
    columns: Callable[[Explanation], Columns] = to_columns  # what is kept of an explanation


class Ready(NamedTuple):
    """A worker waits for its first chunk."""


class RowDone(NamedTuple):
    """A worker whose rows have a time limit is at the next one."""


class ChunkDone(NamedTuple):
    """A chunk is finished."""

    fragment: Fragment


class ChunkFailed(NamedTuple):
    """A chunk cannot be explained: the name of the error's class and what it says."""

    kind: str
    message: str


def serve(connection: Connection, task: Task) -> None:
    """Explain chunks until there are no more, or nobody is left who wants them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it reaches every process of a terminal: the first one decides
    threading.Thread(target=_end_with_the_parent, daemon=True).start()
    warnings.simplefilter("ignore")  # the first process has said it
    with contextlib.suppress(EOFError, OSError):
        try:
            explainer = make_explainer(task)
            if task.time_limit is not None:  # what is done once for all rows is not the first one's time
                explain_block(explainer.setup, explainer.space.background[:1], task.seed)
        except Exception as error:
            connection.send(_to_failed(error))
            return
        connection.send(Ready())
        with one_core_each(model_cores=task.cores):
            while (order := connection.recv()) is not None:
                chunk, slow = order
                connection.send(explain_chunk(explainer, task, chunk, slow, lambda: connection.send(RowDone())))


def make_explainer(task: Task) -> Explainer:
    """The explainer of a task, from the files that the run began with."""
    with verify_unchanged(task.inputs):
        return task.make()


def explain_chunk(
    explainer: Explainer,
    task: Task,
    chunk: Chunk,
    too_slow: frozenset[int] = frozenset(),
    row_done: Callable[[], None] = lambda: None,
) -> ChunkDone | ChunkFailed:
    """Explain a chunk, but for those of its rows that took too long, and keep it."""

    def one_by_one(explain: Callable[[Array], Blocks], rows: Sequence[Array]) -> Iterator[Blocks]:
        for at, row in enumerate(rows):
            yield [faults.Failed(row, faults.too_slow(task.time_limit))] if at in too_slow else explain(row)
            row_done()

    one_side, failures = list[str](), list[Failure]()
    explainer = explainer.replace(one_sided=one_side.append, failed=failures.append)  # other chunks may have flips
    try:
        with faults.quietly():
            if task.time_limit is None:
                explanation = explainer(chunk.frame, seed=task.seed)
            else:  # one row at a time, so that it is known which takes too long, and none depends on others that do
                explanation = explainer.replace(memory=1)(chunk.frame, seed=task.seed, apply=one_by_one)
        explanation = replace(explanation, index=chunk.names)
        fragment = Fragment(
            chunk.number,
            len(explanation),
            Counter(explanation.status.tolist()),
            f"row {chunk.names[failures[0].place]}: {failures[0].reason}" if failures else "",
            "".join(one_side),
        )
        write_fragment(task.folder, task.run, fragment, FORMATS[task.format].pack(task.columns(explanation)))
    except Exception as error:
        return _to_failed(error)
    return ChunkDone(fragment)


def _to_failed(error: Exception) -> ChunkFailed:
    expected = isinstance(error, XcidError | MemoryError)
    return ChunkFailed(type(error).__name__, str(error) if expected else f"{type(error).__name__}: {error}")


def _end_with_the_parent() -> None:
    """Leave no worker behind when the first process is killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)
