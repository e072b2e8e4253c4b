"""What happens in a worker: a chunk comes in, a finished chunk is left in the folder, a word goes back."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from multiprocessing import parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from xcid.errors import InvalidData, XcidError
from xcid.explainer import Explainer
from xcid.frames import to_columns
from xcid.records import Explanation
from xcid.runs import fragments
from xcid.runs.chunks import Chunk
from xcid.runs.formats import FORMATS
from xcid.runs.places import blamed


@dataclass(frozen=True, slots=True)
class Task:
    """What is done with each chunk; it travels to the workers.

    Attributes
    ----------
    make : callable
        Makes the explainer, from files.
    seed : int
    format : str
        Extension of the result.
    folder : Path
        For finished chunks.
    table : str
        Name of the table, for messages.
    cores : int
        That a worker's libraries may use.
    """

    make: Callable[[], Explainer]
    seed: int
    format: str
    folder: Path
    table: str
    cores: int


class Ready(NamedTuple):
    """A worker waits for its first chunk."""


class Done(NamedTuple):
    """A chunk is finished."""

    fragment: fragments.Fragment


class Failed(NamedTuple):
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
            explainer = task.make()
        except Exception as error:
            connection.send(_failed(error))
            return
        connection.send(Ready())
        with _few_cores(task.cores):
            while (chunk := connection.recv()) is not None:
                connection.send(_answer(explainer, task, chunk))


def explain(explainer: Explainer, chunk: Chunk, ask: Callable[[Any], Explanation], table: str) -> Explanation:
    """Explain a chunk; a row that cannot be is named by its place in the file.

    Parameters
    ----------
    explainer : Explainer
    chunk : Chunk
    ask : callable
        Lets the explainer explain a frame.
    table : str
        Name of the file.
    """
    try:
        explanation = ask(chunk.frame)
    except InvalidData as error:
        raise blamed(explainer.space, chunk, table) or error from error
    return replace(explanation, index=np.array(chunk.positions))


def _answer(explainer: Explainer, task: Task, chunk: Chunk) -> Done | Failed:
    try:
        explanation = explain(explainer, chunk, partial(explainer, seed=task.seed), task.table)
        statuses = Counter(explanation.status.tolist())
        fragment = fragments.Fragment(chunk.number, len(chunk.positions), statuses)
        fragments.write(task.folder, fragment, FORMATS[task.format].pack(to_columns(explanation)))
    except Exception as error:
        return _failed(error)
    return Done(fragment)


def _failed(error: Exception) -> Failed:
    expected = isinstance(error, XcidError | MemoryError)
    return Failed(type(error).__name__, str(error) if expected else f"{type(error).__name__}: {error}")


def _end_with_the_parent() -> None:
    """Leave no worker behind when the first process is killed."""
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _few_cores(cores: int) -> contextlib.AbstractContextManager[Any]:
    """One core for matrix products, so that sums have one order; a share of the cores for the model's own threads."""
    try:
        from threadpoolctl import threadpool_limits
    except ImportError:
        return contextlib.nullcontext()
    limits: contextlib.AbstractContextManager[Any] = threadpool_limits({"blas": 1, "openmp": cores})
    return limits
